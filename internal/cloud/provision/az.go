package provision

import (
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

	"nearfar/internal/base/files"
	"nearfar/internal/cloud/preflight"
	"nearfar/internal/declare/experiment"
)

const (
	azName   = "az"
	makeFile = "up.sh"
	dropFile = "down.sh"
	// hostsName is the file in the project's folder into which up.sh writes the hosts. It exists from before the first
	// start of up.sh until down.sh has ended without an error: so it also says that something can exist.
	hostsName = "hosts.json"
)

// scripts are the scripts of a folder, for one project. They have no state that nearfar could read.
type scripts struct {
	project *Project
	shell   string
}

// findShell finds the shell that runs scripts.
func (p *Project) findShell() (*scripts, error) {
	path, err := exec.LookPath("sh")
	if err != nil {
		return nil, errors.New("sh is not installed: it runs " + makeFile + " and " + dropFile)
	}
	return &scripts{p, path}, nil
}

// program has no version: the scripts decide what they run.
func (*scripts) program() (name, version string) { return azName, "" }

func (*scripts) prepare(context.Context) error { return nil }

func (s *scripts) file(name string) string { return filepath.Join(s.project.module, name) }

// plan checks that there are both scripts. It cannot say what they would do.
func (s *scripts) plan(_ context.Context, variables []experiment.ModuleVariable) (Plan, error) {
	for _, name := range []string{makeFile, dropFile} {
		if info, err := os.Stat(s.file(name)); err != nil || !info.Mode().IsRegular() {
			return Plan{}, fmt.Errorf("%s is no script: write %s, which makes the machines, and %s, which deletes them",
				s.file(name), makeFile, dropFile)
		}
	}
	plan := Plan{Script: s.file(makeFile)}
	for _, v := range variables {
		plan.Variables = append(plan.Variables, v.Name)
	}
	plan.Wants = preflight.OfVariables(func(name string) string {
		for _, v := range variables {
			if v.Name == name {
				return v.Value
			}
		}
		return ""
	}, len(s.project.hosts), os.Getenv)
	return plan, nil
}

// create runs up.sh.
func (s *scripts) create(ctx context.Context, variables []experiment.ModuleVariable) error {
	// Synced before the script starts: without the file, nothing would be known to exist.
	if err := emptyFile(s.project.own(hostsName)); err != nil {
		return err
	}
	return s.run(ctx, makeFile, variables)
}

// remove runs down.sh.
func (s *scripts) remove(ctx context.Context, variables []experiment.ModuleVariable) error {
	if err := s.run(ctx, dropFile, variables); err != nil {
		return err
	}
	return removeFile(s.project.own(hostsName))
}

// run runs a script. Its lines on standard error are shown. What it writes to standard output is only searched for
// codes of the provider: az writes there what it has made.
func (s *scripts) run(ctx context.Context, name string, variables []experiment.ModuleVariable) error {
	p := s.project
	p.options.Note("sh " + name)
	seen := &said{}
	err := p.run(ctx, command{
		name: name, path: s.shell, args: []string{s.file(name)}, env: p.environment(variables), changes: true,
		out:      func(line []byte) { seen.search(line, "") },
		problems: func(line []byte) { p.options.Note(seen.line(line, "")) },
	})
	if err == nil || ctx.Err() != nil {
		return err
	}
	return seen.failure(name, err)
}

// environment is the user's own, with the variables of the file under their own names, and nearfar's. They are in the
// environment and never in arguments, which all users of the machine can read.
func (p *Project) environment(variables []experiment.ModuleVariable) []string {
	own := []experiment.ModuleVariable{
		{Name: "NEARFAR_OWNER", Value: p.options.Owner}, {Name: "NEARFAR_RUN", Value: p.name},
		{Name: "NEARFAR_EXPIRES", Value: p.until().UTC().Format(time.RFC3339)},
		{Name: "NEARFAR_HOSTS", Value: p.own(hostsName)},
	}
	env := os.Environ()
	for _, v := range append(own, variables...) {
		env = append(env, v.Name+"="+v.Value) // the last value of a name holds
	}
	return env
}

// hosts reads what up.sh wrote.
func (s *scripts) hosts(context.Context) (json.RawMessage, string, error) {
	name := "the hosts that " + s.file(makeFile) + " wrote into $NEARFAR_HOSTS"
	text, err := readBounded(s.project.own(hostsName))
	return text, name, err
}

// resources says whether there can be anything.
func (s *scripts) resources(context.Context) (found Remaining, err error) {
	_, err = os.Stat(s.project.own(hostsName))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return found, nil
	case err != nil:
		return found, err
	}
	return Remaining{[]string{"what " + s.file(makeFile) + " has made, or part of it"}, true}, nil
}

func (*scripts) gone() string { return dropFile + " has ended without an error" }

// said is what a program without a format for machines has said.
type said struct {
	// last are its last lines.
	last []string
	// refused are lines with a code for lack of capacity or quota, at most maxDiagnostics.
	refused []diagnostic
}

// maxLast is how many of its last lines say why a program failed.
const maxLast = 10

// line takes a line of standard error, and gives it as it is shown. about is the resource that it is about; it can be
// empty.
func (s *said) line(line []byte, about string) string {
	text := s.search(line, about)
	if strings.TrimSpace(text) != "" {
		if s.last = append(s.last, text); len(s.last) > maxLast {
			s.last = s.last[1:]
		}
	}
	return text
}

// search looks for codes in a line.
func (s *said) search(line []byte, about string) string {
	text := short(strings.TrimRight(string(line), "\r"))
	d := diagnostic{Summary: text, Address: about}
	if _, ok := refusal([]diagnostic{d}); ok && len(s.refused) < maxDiagnostics {
		s.refused = append(s.refused, d)
	}
	return text
}

// failure makes the error of a program that failed.
func (s *said) failure(command string, err error) error {
	return failure(command, err, s.refused, append(s.last, err.Error()))
}

// removeFile removes a file, if it is there.
func removeFile(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// emptyFile makes an empty file that only the user can read, or empties it.
func emptyFile(path string) (err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// readBounded reads a file that another program wrote.
func readBounded(path string) ([]byte, error) {
	return files.ReadRegular(path, maxRecord)
}
