// Package tofutest gives tests the real OpenTofu and a cloud that is a folder. scripts/opentofu.sh builds both before.
package tofutest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nearfar/internal/kits/moduleroot"
)

// A Cloud is a folder in which the provider of the tests makes machines. Its source is nearfar.test/tests/stand, its
// resource stand_machine; see the folder schema.
type Cloud struct {
	t testing.TB
	// Folder is the cloud.
	Folder string
	// config is the configuration of OpenTofu that has the provider.
	config string
	// programs is the folder with OpenTofu.
	programs string
}

// NewCloud makes a cloud without machines. It fails the test if OpenTofu or the provider is not built.
func NewCloud(t testing.TB) *Cloud {
	t.Helper()
	programs, provider, err := built()
	if err != nil {
		t.Fatalf("%v; scripts/opentofu.sh builds it", err)
	}
	c := &Cloud{t: t, Folder: t.TempDir(), programs: programs}
	c.config = filepath.Join(c.Folder, "tofu.rc")
	if err := os.Mkdir(filepath.Join(c.Folder, "machines"), 0o700); err != nil {
		t.Fatal(err)
	}
	c.write("tofu.rc", fmt.Sprintf("provider_installation {\n  filesystem_mirror { path = %q }\n}\n", provider))
	return c
}

// built finds the folders of OpenTofu and of the providers that scripts/opentofu.sh has made.
func built() (programs, provider string, err error) {
	programs, err = folder("opentofu", "opentofu/go.mod", "opentofu/go.sum")
	if err == nil {
		provider, err = folder("tofuschema", "schema/go.mod", "schema/go.sum", "schema/cloud.go", "schema/described.go",
			"schema/main.go", "schema/refusals.go", "schema/schema.go", "schema/stand.go")
	}
	return programs, provider, err
}

// folder finds a folder that scripts/opentofu.sh has made from files of this package's folder.
func folder(name string, files ...string) (string, error) {
	var paths []string
	for _, file := range files {
		paths = append(paths, "internal/kits/tofutest/"+file)
	}
	return moduleroot.Built(name, paths...)
}

// Env is the environment with which OpenTofu is found and finds the provider, as NAME=VALUE. All of a user's own
// configuration is left out.
func (c *Cloud) Env() []string {
	return []string{
		"PATH=" + c.programs + string(os.PathListSeparator) + os.Getenv("PATH"), "TF_CLI_CONFIG_FILE=" + c.config,
		"CHECKPOINT_DISABLE=1",
	}
}

// Machines lists the names of the machines that are there.
func (c *Cloud) Machines() (names []string) {
	c.t.Helper()
	files, err := filepath.Glob(filepath.Join(c.Folder, "machines", "*.json"))
	if err != nil {
		c.t.Fatal(err)
	}
	for _, file := range files {
		names = append(names, c.Machine(file).Name)
	}
	return names
}

// Machine is a machine of the cloud.
type Machine struct {
	Name string            `json:"name"`
	Size string            `json:"size"`
	Zone string            `json:"zone"`
	Tags map[string]string `json:"tags"`
}

// Machine reads the file of a machine.
func (c *Cloud) Machine(file string) (m Machine) {
	c.t.Helper()
	data, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return m // it was deleted meanwhile
	}
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	if err != nil {
		c.t.Fatal(err)
	}
	return m
}

// A Refusal makes the creation of a machine fail with a message. An empty size or zone stands for any.
type Refusal struct {
	Size    string `json:"size"`
	Zone    string `json:"zone"`
	Message string `json:"message"`
}

// Refuse says which machines are refused from now on.
func (c *Cloud) Refuse(refusals ...Refusal) { c.writeJSON("refusals.json", refusals) }

// Hosts says how machines are reached: attributes ssh and address, by name.
func (c *Cloud) Hosts(hosts map[string]map[string]string) { c.writeJSON("hosts.json", hosts) }

// Steps lists what the provider has done, in order: "plan a", "create a", "created a", "delete a", "deleted a".
func (c *Cloud) Steps() []string {
	c.t.Helper()
	data, err := os.ReadFile(filepath.Join(c.Folder, "steps"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		c.t.Fatal(err)
	}
	return strings.Split(string(data), "\n")[:strings.Count(string(data), "\n")]
}

// Hold makes the provider wait at the step with this number, which counts from 1 for all steps from now on.
func (c *Cloud) Hold(step int) {
	c.t.Helper()
	if err := os.RemoveAll(filepath.Join(c.Folder, "steps")); err != nil {
		c.t.Fatal(err)
	}
	c.write("hold", fmt.Sprint(step))
}

// Release lets the provider continue.
func (c *Cloud) Release() {
	c.t.Helper()
	if err := os.Remove(filepath.Join(c.Folder, "hold")); err != nil {
		c.t.Fatal(err)
	}
}

func (c *Cloud) writeJSON(name string, value any) {
	c.t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		c.t.Fatal(err)
	}
	c.write(name, string(data))
}

// write writes a file of the cloud whole: the provider reads it at any time.
func (c *Cloud) write(name, text string) {
	c.t.Helper()
	path := filepath.Join(c.Folder, name)
	err := os.WriteFile(path+".new", []byte(text), 0o600)
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		c.t.Fatal(err)
	}
}
