package provision

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"nearfar/internal/cloud/preflight"
	"nearfar/internal/declare/experiment"
)

const (
	cdkName = "cdk"
	// assemblyPlan is the folder in the project's folder with the templates that were planned, and assembly the folder
	// with those that were last deployed. They can have values of variables.
	assemblyPlan = "cdk.plan"
	assembly     = "cdk.out"
	// outputsName is the file in the project's folder with the outputs of the stacks.
	outputsName = "outputs.json"
)

// app is an app of the AWS CDK, for one project. CloudFormation has its state.
type app struct {
	project *Project
	// path is where cdk is.
	path, version string
}

// findCdk finds cdk: the app's own, else the first that is installed.
func (p *Project) findCdk(ctx context.Context) (*app, error) {
	for _, name := range []string{filepath.Join(p.module, "node_modules", ".bin", cdkName), cdkName} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		a := &app{project: p, path: path}
		out, err := a.output(ctx, nil, "--version")
		if err != nil {
			return nil, err
		}
		a.version, _, _ = strings.Cut(strings.TrimSpace(string(out)), " ") // "2.1148.1 (build fcf5e34)"
		a.version = short(a.version)
		return a, nil
	}
	return nil, fmt.Errorf("cdk is not installed: run npm ci in %s, or install the AWS CDK", p.module)
}

func (a *app) program() (name, version string) { return cdkName, a.version }

func (*app) prepare(context.Context) error { return nil }

// environment has the variables for the app. --context would show them in arguments, and cdk itself sets
// CDK_CONTEXT_JSON.
func (a *app) environment(variables []experiment.ModuleVariable) []string {
	return append(a.project.environment(variables), "CDK_DISABLE_VERSION_CHECK=1", "NO_COLOR=1")
}

// flags are for every command: progress on standard error also in a CI, no news, no colours.
func (a *app) flags(assembly string, args ...string) []string {
	args = append(args, "--ci=false", "--no-notices", "--no-color")
	if assembly != "" {
		args = append(args, "--app", assembly)
	}
	return args
}

// output runs a command that changes nothing.
func (a *app) output(ctx context.Context, variables []experiment.ModuleVariable, args ...string) ([]byte, error) {
	return a.project.output(ctx, command{name: cdkName, path: a.path, args: args, env: a.environment(variables)})
}

// stream runs cdk. on gets each line that it writes, if it is not nil; otherwise lines on standard error are shown.
func (a *app) stream(
	ctx context.Context, variables []experiment.ModuleVariable, changes bool, on func(line string), args ...string,
) error {
	p := a.project
	seen := &said{}
	err := p.run(ctx, command{
		name: cdkName, path: a.path, args: args, env: a.environment(variables), changes: changes,
		out: func(line []byte) {
			if text := seen.search(line, stackEvent(line)); on != nil {
				on(text)
			}
		},
		problems: func(line []byte) {
			text := seen.line(line, stackEvent(line))
			switch {
			case on != nil:
				on(text)
			case strings.TrimSpace(text) != "":
				p.options.Note(strings.TrimSpace(text))
			}
		},
	})
	if err == nil || ctx.Err() != nil {
		return err
	}
	return seen.failure(cdkName+" "+args[0], err)
}

// stackEvent is the resource of a line of progress: its type and its name in the stack; empty for other lines. Such a
// line is "stack | 1/4 | 1:02:03 PM | CREATE_FAILED | AWS::EC2::Instance | vm (vmA1B2) reason".
func stackEvent(line []byte) string {
	parts := strings.Split(string(line), " | ")
	if len(parts) < 6 || !strings.Contains(parts[4], "::") {
		return ""
	}
	name, _, _ := strings.Cut(strings.TrimSpace(parts[5]), " ")
	return short(strings.TrimSpace(parts[4]) + " " + name)
}

// plan makes the templates that create then deploys, and compares them with what is deployed.
func (a *app) plan(ctx context.Context, variables []experiment.ModuleVariable) (plan Plan, err error) {
	p := a.project
	if err := a.synthesize(ctx, variables); err != nil {
		return Plan{}, err
	}
	p.options.Note("cdk diff")
	err = a.stream(ctx, variables, false, plan.difference, a.flags(p.own(assemblyPlan), "diff", "--no-change-set")...)
	if err == nil {
		plan.Wants, err = a.wants()
	}
	return plan, err
}

// wants reads what the templates that were planned make.
func (a *app) wants() (all preflight.Wants, err error) {
	region := cmp.Or(os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"))
	templates, err := filepath.Glob(a.project.own(filepath.Join(assemblyPlan, "*.template.json")))
	if err != nil {
		return all, err
	}
	for _, file := range templates {
		text, err := readBounded(file)
		if err != nil {
			return all, err
		}
		one, err := preflight.OfTemplate(text, region)
		if err != nil {
			return all, fmt.Errorf("%s: %w", file, err)
		}
		all.Places = append(all.Places, one.Places...)
		all.Unknown = append(all.Unknown, one.Unknown...)
	}
	return all, nil
}

// synthesize makes the templates.
func (a *app) synthesize(ctx context.Context, variables []experiment.ModuleVariable) error {
	p := a.project
	p.options.Note("cdk synth")
	if err := os.RemoveAll(p.own(assemblyPlan)); err != nil {
		return err
	}
	return a.stream(ctx, variables, false, nil, a.flags("", "synth", "--quiet", "--output", p.own(assemblyPlan))...)
}

// difference reads a line of cdk diff about a resource: "[+] AWS::EC2::VPC net/vpc netvpcA1B2". Lines about parameters
// and outputs have no type, and lines about properties are further in.
func (p *Plan) difference(line string) {
	mark, rest, _ := strings.Cut(line, " ")
	kind, name, found := strings.Cut(rest, " ")
	does, known := map[string]struct {
		action string
		count  *int
	}{"[+]": {"create", &p.Add}, "[-]": {"delete", &p.Remove}, "[~]": {"update", &p.Change}}[mark]
	if !found || !known || !strings.Contains(kind, "::") {
		return
	}
	*does.count++
	if len(p.Changes) < maxChanges {
		p.Changes = append(p.Changes, Change{Resource: kind + " " + strings.TrimSpace(name), Action: does.action})
	}
}

// create deploys the templates that were planned. CloudFormation rolls back what it cannot make.
func (a *app) create(ctx context.Context, variables []experiment.ModuleVariable) error {
	p := a.project
	if err := a.know(ctx); err != nil {
		return err
	}
	if err := os.RemoveAll(p.own(assembly)); err != nil {
		return err
	}
	if err := os.Rename(p.own(assemblyPlan), p.own(assembly)); err != nil {
		return err
	}
	if err := emptyFile(p.own(outputsName)); err != nil {
		return err
	}
	p.options.Note("cdk deploy")
	return a.stream(ctx, variables, true, nil, a.flags(p.own(assembly), "deploy", "--all", "--require-approval", "never",
		"--progress", "events", "--outputs-file", p.own(outputsName),
		"--tags", "nearfar_owner="+p.options.Owner, "--tags", "nearfar_run="+p.name,
		"--tags", "nearfar_expires="+p.until().UTC().Format(time.RFC3339))...)
}

// inProgress is how long is waited for a stack that cannot be deleted because CloudFormation still works on it.
const inProgress = 2 * time.Second

// remove deletes the stacks that were last deployed.
func (a *app) remove(ctx context.Context, variables []experiment.ModuleVariable) error {
	p := a.project
	folder := assembly
	if _, err := os.Stat(p.own(assembly)); errors.Is(err, fs.ErrNotExist) {
		if err := a.synthesize(ctx, variables); err != nil {
			return err
		}
		folder = assemblyPlan
	}
	for {
		p.options.Note("cdk destroy")
		err := a.stream(ctx, variables, true, nil, a.flags(p.own(folder), "destroy", "--all", "--force")...)
		if err == nil {
			return a.trust(ctx, p.own(folder))
		}
		// After an interrupted update, CloudFormation continues, and refuses to delete until it has finished.
		if !strings.Contains(err.Error(), "cannot be deleted while in status") {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(inProgress):
		}
	}
}

// hosts reads the outputs "hosts" of all stacks. Their values are JSON texts, since CloudFormation knows no others.
func (a *app) hosts(context.Context) (json.RawMessage, string, error) {
	name := "the output hosts of the stacks of " + a.project.module
	text, err := readBounded(a.project.own(outputsName))
	if err != nil || len(text) == 0 {
		return nil, name, err
	}
	var stacks map[string]map[string]string
	if err := json.Unmarshal(text, &stacks); err != nil {
		return nil, name, fmt.Errorf("%s: %w", name, err)
	}
	all := map[string]json.RawMessage{}
	for stack, outputs := range stacks {
		value, ok := outputs["hosts"]
		if !ok {
			continue
		}
		if err := json.Unmarshal([]byte(value), &all); err != nil {
			return nil, name, fmt.Errorf("output hosts of stack %s is no mapping of hosts in JSON: write, for example, "+
				`JSON.stringify({"vm-a": {ssh: vm.attrPublicIp}})`, stack)
		}
	}
	if len(all) == 0 {
		return nil, name, nil
	}
	text, err = json.Marshal(all)
	return text, name, err
}

// gone says what was found after all was deleted.
func (*app) gone() string {
	if _, err := exec.LookPath("aws"); err == nil {
		return "CloudFormation has none of its stacks"
	}
	return "cdk has deleted its stacks"
}
