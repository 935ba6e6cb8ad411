package provision

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"nearfar/internal/base/files"
	"nearfar/internal/declare/experiment"
)

// programNames are the programs that can make machines, in the order in which they are looked for.
func programNames() []string { return []string{"tofu", "terraform"} }

// tool is OpenTofu or Terraform, for one project.
type tool struct {
	project *Project
	// name is tofu or terraform, path where it is.
	name, path, version string
}

// findTool finds the program: the one that made the machines, else the first that is installed.
func (p *Project) findTool(ctx context.Context) (*tool, error) {
	names := programNames()
	if p.record != nil && slices.Contains(programNames(), p.record.Tool) {
		names = []string{p.record.Tool}
	}
	for _, name := range names {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		t := &tool{project: p, name: name, path: path}
		out, err := t.output(ctx, nil, "version", "-json")
		if err != nil {
			return nil, err
		}
		var v struct {
			Version string `json:"terraform_version"`
		}
		if json.Unmarshal(out, &v) != nil || v.Version == "" {
			return nil, fmt.Errorf("%s version -json: it does not say its version", path)
		}
		t.version = v.Version
		return t, nil
	}
	return nil, fmt.Errorf("%s is not installed: install OpenTofu (https://opentofu.org) or Terraform",
		strings.Join(names, " or "))
}

// program is the name and the version of the program.
func (t *tool) program() (name, version string) { return t.name, t.version }

// gone says what was found after all was deleted.
func (t *tool) gone() string { return "the state is empty" }

// prepare prepares the module: its providers and its backend.
func (t *tool) prepare(ctx context.Context) error {
	// nearfar may have been killed while the program was at work.
	variables, _ := t.project.provision.In(t.project.attempt())
	if err := t.mend(ctx, variables); err != nil {
		return err
	}
	t.project.options.Note(t.name + " init")
	return t.stream(ctx, nil, false, &events{}, "init", "-input=false", "-no-color")
}

// environment is the user's own, with the variables of the module. They are in the environment and never in arguments,
// which all users of the machine can read.
func (t *tool) environment(variables []experiment.ModuleVariable) []string {
	p := t.project
	env := slices.DeleteFunc(os.Environ(), func(one string) bool {
		// Other arguments, another workspace or logging at a terminal would change what nearfar reads.
		name, _, _ := strings.Cut(one, "=")
		return strings.HasPrefix(name, "TF_CLI_ARGS") || slices.Contains([]string{"TF_WORKSPACE", "TF_LOG",
			"TF_LOG_CORE", "TF_LOG_PROVIDER"}, name)
	})
	env = append(env, "TF_DATA_DIR="+filepath.Join(p.folder, "data"), "TF_IN_AUTOMATION=1", "TF_INPUT=0")
	for _, v := range variables {
		env = append(env, "TF_VAR_"+v.Name+"="+v.Value)
	}
	return append(env, "TF_VAR_nearfar_owner="+p.options.Owner, "TF_VAR_nearfar_run="+p.name,
		"TF_VAR_nearfar_expires="+p.until().UTC().Format(time.RFC3339))
}

// stream runs the program and reads its events. changes says that it makes or deletes resources. The error has what the
// program said.
func (t *tool) stream(
	ctx context.Context, variables []experiment.ModuleVariable, changes bool, seen *events, args ...string,
) error {
	err := t.project.run(ctx, command{
		name: t.name, path: t.path, args: args, env: t.environment(variables), out: seen.line, changes: changes,
	})
	if err == nil || ctx.Err() != nil {
		return err
	}
	if errors.Is(err, errFlood) && seen.printing != "" {
		err = fmt.Errorf("%w; the last was printed by commands of %s", err, seen.printing)
	}
	return failure(t.name+" "+args[0], err, seen.errors, t.project.said())
}

// said is what the program wrote to standard error, without the frame that it draws there.
func (p *Project) said() (lines []string) {
	f, err := files.OpenRegular(p.own(errFile), math.MaxInt64)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }() // it was only read
	text, _ := io.ReadAll(io.LimitReader(f, 1<<14))
	for line := range strings.Lines(short(string(text))) {
		if line = strings.TrimSpace(strings.Trim(strings.TrimSpace(line), "╷│╵")); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// output runs a command that changes nothing, and returns its output.
func (t *tool) output(ctx context.Context, variables []experiment.ModuleVariable, args ...string) ([]byte, error) {
	return t.project.output(ctx, command{name: t.name, path: t.path, args: args, env: t.environment(variables)})
}

// declaredVariables are the names of the module's input variables, as a plan has them, and the plan as JSON.
func (t *tool) declaredVariables(
	ctx context.Context, plan string, variables []experiment.ModuleVariable,
) (names []string, shownPlan []byte, err error) {
	out, err := t.output(ctx, variables, "show", "-json", plan)
	if err != nil {
		return nil, nil, err
	}
	var shown struct {
		Configuration struct {
			Root struct {
				Variables map[string]struct{} `json:"variables"`
			} `json:"root_module"`
		} `json:"configuration"`
	}
	if err := json.Unmarshal(out, &shown); err != nil {
		return nil, nil, fmt.Errorf("%s show -json: %w", t.name, err)
	}
	_, takesRun := shown.Configuration.Root.Variables[runVariable]
	if err := t.project.planned(out, takesRun); err != nil {
		return nil, nil, fmt.Errorf("%s show -json: %w", t.name, err)
	}
	return slices.Sorted(maps.Keys(shown.Configuration.Root.Variables)), out, nil
}

// hosts gives the module's output hosts; nil if it has none.
func (t *tool) hosts(ctx context.Context) (json.RawMessage, string, error) {
	name := "output hosts of " + t.project.module
	out, err := t.output(ctx, nil, "output", "-json", t.project.stateFlag())
	if err != nil {
		return nil, name, err
	}
	var all map[string]struct {
		Value json.RawMessage `json:"value"`
	}
	if err := json.Unmarshal(out, &all); err != nil {
		return nil, name, fmt.Errorf("%s output -json: %w", t.name, err)
	}
	return all["hosts"].Value, name, nil
}

// resources lists the addresses of all resources in the state, without data sources.
func (t *tool) resources(ctx context.Context) (found Remaining, err error) {
	out, err := t.output(ctx, nil, "state", "list", t.project.stateFlag())
	if err != nil {
		if strings.Contains(err.Error(), "No state file was found") {
			return found, nil
		}
		return found, err
	}
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSpace(line)
		if line != "" && !isData(line) {
			found.Resources = append(found.Resources, short(line))
		}
	}
	return found, nil
}

// isData says whether an address names a data source: data.x.y, or module.m.data.x.y.
func isData(address string) bool {
	parts := withoutModules(address)
	return len(parts) > 1 && parts[0] == "data"
}
