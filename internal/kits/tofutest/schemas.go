package tofutest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"nearfar/internal/kits/moduleroot"
)

// Providers are stand-ins for real providers. They have the resources and arguments of the real ones, so that a module
// with a wrong argument fails, and make resources in a folder. See the folder schema.
type Providers struct {
	t testing.TB
	// Folder is the cloud.
	Folder string
	// schemas is the folder with a folder of schemas for each provider, config the configuration of OpenTofu.
	schemas, config string
	programs        string
}

// NewProviders gives all providers whose schemas are in the folder schema, such as azurerm. A folder there has files in
// the form of `tofu providers schema -json`. The first in the order of names says in "version" which version of the
// provider they are from, and all say in "source" where they come from.
func NewProviders(t testing.TB) *Providers {
	t.Helper()
	programs, provider, err := built()
	if err != nil {
		t.Fatalf("%v; scripts/opentofu.sh builds it", err)
	}
	p := &Providers{t: t, Folder: t.TempDir(), programs: programs}
	if p.schemas, err = schemaFolder(); err != nil {
		t.Fatal(err)
	}
	versions, err := Versions()
	if err != nil {
		t.Fatal(err)
	}
	system := runtime.GOOS + "_" + runtime.GOARCH
	program := filepath.Join(provider, "nearfar.test", "tests", "stand", "1.0.0", system,
		"terraform-provider-stand_v1.0.0")
	mirror := filepath.Join(p.Folder, "mirror")
	for kind, version := range versions {
		name := fmt.Sprintf("registry.opentofu.org/hashicorp/%s/%s/%s/terraform-provider-%[1]s_v%[2]s", kind,
			version, system)
		path := filepath.Join(mirror, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		// The program reads the schemas of the provider whose name it has.
		if err := os.Symlink(program, path); err != nil {
			t.Fatal(err)
		}
	}
	p.config = filepath.Join(p.Folder, "tofu.rc")
	text := fmt.Sprintf("provider_installation {\n  filesystem_mirror { path = %q }\n}\n", mirror)
	if err := os.WriteFile(p.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

// schemaFolder is the folder with a folder of schemas for each stand-in.
func schemaFolder() (string, error) {
	root, err := moduleroot.Find()
	if err != nil {
		return "", err
	}
	return filepath.Abs(filepath.Join(root, "internal", "kits", "tofutest", "schema"))
}

// Versions are the versions of the providers that have a stand-in, by their names, such as azurerm.
func Versions() (map[string]string, error) {
	folder, err := schemaFolder()
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(folder, "*", "*.json"))
	if err != nil {
		return nil, err
	}
	versions := map[string]string{}
	for _, file := range files {
		var read struct{ Version, Source string }
		data, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(data, &read)
		}
		if err == nil && read.Source == "" {
			err = errors.New("it does not say where the schemas come from")
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if kind := filepath.Base(filepath.Dir(file)); versions[kind] == "" {
			versions[kind] = read.Version
		}
	}
	return versions, nil
}

// Env is the environment with which OpenTofu is found and finds the providers, as NAME=VALUE.
func (p *Providers) Env() []string {
	return []string{
		"PATH=" + p.Path(), "TF_CLI_CONFIG_FILE=" + p.config, "CHECKPOINT_DISABLE=1",
		"NEARFAR_TEST_SCHEMAS=" + p.schemas, "NEARFAR_TEST_CLOUD=" + p.Folder,
	}
}

// Path is the PATH of that environment.
func (p *Providers) Path() string {
	return p.programs + string(os.PathListSeparator) + os.Getenv("PATH")
}

// Tofu is the path of OpenTofu.
func (p *Providers) Tofu() string { return filepath.Join(p.programs, "tofu") }

// Values says what the cloud computes, by type and name of the resource and by the path of the value, such as
// {"azurerm_public_ip.a": {"ip_address": "192.0.2.1"}}. Other values are made up.
func (p *Providers) Values(values map[string]map[string]string) {
	p.t.Helper()
	data, err := json.Marshal(values)
	if err == nil {
		err = os.WriteFile(filepath.Join(p.Folder, "values.json"), data, 0o600)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// A FailedCreation makes the creation of resources of a type fail with a message, if an attribute has a value. As at
// Azure, the resource exists all the same.
type FailedCreation struct{ Type, Attribute, Value, Message string }

// FailCreations says which creations fail from now on.
func (p *Providers) FailCreations(failures ...FailedCreation) {
	p.t.Helper()
	data, err := json.Marshal(failures)
	if err == nil {
		err = os.WriteFile(filepath.Join(p.Folder, "refusals.json"), data, 0o600)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// A Resource is what the cloud has.
type Resource struct {
	ID   string `json:"id"`
	Type string `json:"type"`
	// Name is its name, or its tag Name if it has no other.
	Name string `json:"name"`
	// Tags are its tags or labels.
	Tags map[string]string `json:"tags"`
}

// Resources lists the existing resources, by type and name.
func (p *Providers) Resources() []Resource {
	p.t.Helper()
	all, err := ResourcesIn(p.Folder)
	if err != nil {
		p.t.Fatal(err)
	}
	return all
}

// ResourcesIn lists the resources of a cloud, by type and name. folder is Providers.Folder; in the environment of Env
// it is the variable NEARFAR_TEST_CLOUD.
func ResourcesIn(folder string) (all []Resource, err error) {
	files, err := filepath.Glob(filepath.Join(folder, "resources", "*.json"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		var r Resource
		data, err := os.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) {
			continue // it was deleted meanwhile
		}
		if err == nil {
			err = json.Unmarshal(data, &r)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b Resource) int { return strings.Compare(a.Type+" "+a.Name, b.Type+" "+b.Name) })
	return all, nil
}

// RemoveIn removes all resources of a cloud whose types begin with a text: what deletes a whole group does so.
func RemoveIn(folder, kinds string) error {
	all, err := ResourcesIn(folder)
	for _, r := range all {
		if strings.HasPrefix(r.Type, kinds) {
			name := strings.ReplaceAll(strings.Trim(r.ID, "/"), "/", "_") + ".json"
			err = errors.Join(err, os.Remove(filepath.Join(folder, "resources", name)))
		}
	}
	return err
}
