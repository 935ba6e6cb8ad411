//go:build linux

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"nearfar/internal/declare/experiment"
	experimentfile "nearfar/internal/declare/experiment/file"
	"nearfar/internal/kits/tofutest"
	"nearfar/internal/measure/tool"
)

// labVariables are what a user gives to the labs whose machines nearfar makes.
func labVariables() map[string]string {
	return map[string]string{
		"SSH_PUBLIC_KEY": "ssh-ed25519 AAAA me@here", "SSH_FROM": "203.0.113.7/32",
		"WINDOWS_PASSWORD": tokenCanary, "TF_VAR_admin_password": tokenCanary, "GOOGLE_PROJECT": "project",
		"PLAIN": "off", "ACCELERATED": "on", "TOOLS_IMAGE": "registry.example/tools:1",
		"LATTE_SHA256": strings.Repeat("0123456789abcdef", 4), "AGENT_IMAGE": "registry.example/agent:1",
	}
}

// A labStand is a copy of a lab whose machines are made in a stand-in for the cloud.
type labStand struct {
	t         *testing.T
	providers *tofutest.Providers
	// dir is the test's folder, lab the copy in it.
	dir, lab string
	// variables are what a user gives to the lab.
	variables map[string]string
	// programs is a folder with programs that come before those of the system; it can be empty.
	programs string
	// more are variables of the environment, as NAME=VALUE, that take the place of others.
	more []string
}

func newLabStand(t *testing.T, lab string) *labStand {
	t.Helper()
	dir := workspace(t)
	s := &labStand{t: t, providers: tofutest.NewProviders(t), dir: dir, lab: filepath.Join(dir, lab),
		variables: labVariables()}
	if err := os.CopyFS(s.lab, os.DirFS(filepath.Join("..", "..", "labs", lab))); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *labStand) stateHome() string { return filepath.Join(s.dir, "state") }

// env is the environment of nearfar and of OpenTofu.
func (s *labStand) env() []string {
	env := append(append(os.Environ(), s.providers.Env()...), "HOME="+s.dir, "XDG_STATE_HOME="+s.stateHome())
	for name, value := range s.variables {
		env = append(env, name+"="+value)
	}
	if s.programs != "" {
		paths := s.programs + string(os.PathListSeparator) + s.providers.Path()
		env = append(env, listingVariable+"=1", "PATH="+paths, "ARM_SUBSCRIPTION_ID=")
	}
	return append(env, s.more...)
}

// aws is the lab as the tests of modules for AWS see it.
func (s *labStand) aws() *awsLab {
	return &awsLab{t: s.t, providers: s.providers, dir: s.lab, env: s.env()}
}

// must runs nearfar in the test's folder and gives what it printed. The exit code must be as given. The test's log says
// how long it took.
func (s *labStand) must(code int, args ...string) *running {
	s.t.Helper()
	began := time.Now()
	defer func() { s.t.Logf("nearfar %s: exit code %d, %.1f s", args[0], code, time.Since(began).Seconds()) }()
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = s.dir, s.env()
	r := startRunning(s.t, cmd)
	if got := r.wait(); got != code {
		s.t.Fatalf("nearfar %s: exit code %d, want %d\n%s\n%s", strings.Join(args, " "), got, code, r.printed(),
			r.said())
	}
	return r
}

// tofu runs OpenTofu in a folder, and gives all that it printed.
func (s *labStand) tofu(folder string, args ...string) (printed string, err error) {
	s.t.Helper()
	cmd := exec.Command(s.providers.Tofu(), append(args, "-no-color")...)
	cmd.Dir, cmd.Env = folder, s.env()
	out, err := cmd.CombinedOutput()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		s.t.Fatal(err)
	}
	return string(out), err
}

// change replaces a text in all files of the module. At least one must have it.
func (s *labStand) change(old, with string) {
	s.t.Helper()
	found := false
	for _, file := range glob(s.t, filepath.Join(s.lab, "tofu", "*.tf")) {
		text, err := os.ReadFile(file)
		if err != nil {
			s.t.Fatal(err)
		}
		if strings.Contains(string(text), old) {
			found = true
			changed := strings.ReplaceAll(string(text), old, with)
			if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
				s.t.Fatal(err)
			}
		}
	}
	if !found {
		s.t.Fatalf("no file of %s has %q", s.lab, old)
	}
}

// read reads an experiment file of the lab, with the hosts of the module's output if they are given.
func (s *labStand) read(file string, hosts []byte) *experiment.Experiment {
	s.t.Helper()
	data, err := os.ReadFile(filepath.Join(s.lab, file))
	if err != nil {
		s.t.Fatal(err)
	}
	in := experimentfile.Inputs{Variable: func(name string) (string, bool) {
		value, ok := s.variables[name]
		return value, ok
	}}
	if hosts != nil {
		in.HostsName, in.Hosts = "output", hosts
	}
	e, err := experimentfile.ParseWith(file, data, tool.Declared(), in)
	if err != nil {
		s.t.Fatal(err)
	}
	return e
}

// A madeResource is a resource of a state.
type madeResource struct {
	Address, Type string
	Values        map[string]any
}

// A labState is a state of OpenTofu.
type labState struct {
	Outputs   map[string]struct{ Value json.RawMessage }
	Resources []struct {
		Mode, Type, Name string
		Instances        []struct {
			Key        any `json:"index_key"`
			Attributes map[string]any
		}
	}
}

// state reads the state of the machines of an experiment.
func (s *labStand) state(name string) (state labState) {
	s.t.Helper()
	data, err := os.ReadFile(filepath.Join(s.lab, ".nearfar", name, "terraform.tfstate"))
	if err == nil {
		err = json.Unmarshal(data, &state)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return state
}

// made reads the resources and the output hosts of the machines of an experiment. The addresses of the resources are
// those of OpenTofu: azurerm_subnet.this["front"].
func (s *labStand) made(name string) (resources []madeResource, hosts map[string]map[string]any) {
	s.t.Helper()
	state := s.state(name)
	for _, r := range state.Resources {
		for _, i := range r.Instances {
			address := r.Type + "." + r.Name
			if i.Key != nil {
				address += fmt.Sprintf("[%#v]", i.Key)
			}
			if r.Mode == "managed" {
				resources = append(resources, madeResource{address, r.Type, i.Attributes})
			}
		}
	}
	if value := state.Outputs["hosts"].Value; value != nil {
		if err := json.Unmarshal(value, &hosts); err != nil {
			s.t.Fatal(err)
		}
	}
	return resources, hosts
}

// hostsText makes a file of hosts from an output. Like nearfar, it leaves out attributes that are null.
func hostsText(t *testing.T, hosts map[string]map[string]any) []byte {
	t.Helper()
	for _, host := range hosts {
		for key, value := range host {
			if value == nil {
				delete(host, key)
			}
		}
	}
	text, err := json.Marshal(map[string]any{"hosts": hosts})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// untagged lists the paths of all maps in a value that have the name key, such as "tags", and lack one of the three
// tags.
func untagged(key, path string, value any) (paths []string) {
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			at := path + "." + name
			if name != key {
				paths = append(paths, untagged(key, at, value[name])...)
				continue
			}
			tags, _ := value[name].(map[string]any)
			for _, tag := range []string{"nearfar_owner", "nearfar_run", "nearfar_expires"} {
				if text, _ := tags[tag].(string); text == "" {
					paths = append(paths, at+" lacks "+tag)
				}
			}
		}
	case []any:
		for _, item := range value {
			paths = append(paths, untagged(key, path, item)...)
		}
	}
	return paths
}

// nothingLeft checks that no resource, no record and no state is left.
func (s *labStand) nothingLeft() {
	s.t.Helper()
	if left := s.providers.Resources(); len(left) > 0 {
		s.t.Errorf("resources are left: %+v", left)
	}
	files := slices.DeleteFunc(glob(s.t, filepath.Join(s.lab, ".nearfar", "*")), func(f string) bool {
		return filepath.Base(f) == ".gitignore"
	})
	if len(files) > 0 {
		s.t.Errorf("files are left: %q", files)
	}
	if got := s.must(0, "ls").printed(); got != "Nothing is up.\n" {
		s.t.Errorf("ls prints %q", got)
	}
}
