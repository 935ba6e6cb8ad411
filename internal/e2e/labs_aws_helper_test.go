//go:build linux

package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nearfar/internal/kits/tofutest"
)

// An awsLab is a copy of a lab whose module runs with a stand-in for the AWS provider. The arguments are those of the
// real provider. Its cloud is a folder, and makes up what it answers.
type awsLab struct {
	t         *testing.T
	providers *tofutest.Providers
	dir, file string
	env       []string
}

// newAWSLab copies a lab. set has variables for the experiment file, as NAME=VALUE.
func newAWSLab(t *testing.T, name string, set ...string) *awsLab {
	t.Helper()
	l := &awsLab{t: t, providers: tofutest.NewProviders(t), dir: workspace(t)}
	if err := os.CopyFS(filepath.Join(l.dir, name), os.DirFS(filepath.Join("..", "..", "labs", name))); err != nil {
		t.Fatal(err)
	}
	l.dir = filepath.Join(l.dir, name)
	l.file = filepath.Join(l.dir, "experiment.yaml")
	l.env = append(append(append(os.Environ(), l.providers.Env()...), set...), "HOME="+l.dir,
		"XDG_STATE_HOME="+filepath.Join(l.dir, "state"))
	return l
}

// module is the folder of the module.
func (l *awsLab) module() string { return filepath.Join(l.dir, "tofu") }

// nearfar runs the program and gives what it printed. The exit code must be as given.
func (l *awsLab) nearfar(code int, args ...string) string {
	l.t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = l.dir, l.env
	r := startRunning(l.t, cmd)
	if got := r.waitLong(); got != code {
		l.t.Fatalf("nearfar %s: exit code %d, want %d\n%s\n%s", strings.Join(args, " "), got, code, r.printed(),
			r.said())
	}
	return r.printed()
}

// tofu runs OpenTofu in the module, and gives what it wrote and whether it succeeded.
func (l *awsLab) tofu(args ...string) (text string, ok bool) {
	l.t.Helper()
	cmd := exec.CommandContext(l.t.Context(), l.providers.Tofu(), args...)
	cmd.Dir, cmd.Env = l.module(), l.env
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

// mustTofu runs OpenTofu and fails the test if it fails.
func (l *awsLab) mustTofu(args ...string) string {
	l.t.Helper()
	out, ok := l.tofu(args...)
	if !ok {
		l.t.Fatalf("tofu %s:\n%s", strings.Join(args, " "), out)
	}
	return out
}

// A stateResource is a resource of OpenTofu's state.
type stateResource struct {
	Mode, Type, Name string
	Instances        []struct {
		Key        any `json:"index_key"`
		Attributes json.RawMessage
	}
}

// A stateOutput is an output of the module.
type stateOutput struct{ Value any }

// outputs reads the module's outputs from the state, as commands of READMEs do.
func (l *awsLab) outputs() map[string]stateOutput {
	l.t.Helper()
	return readState[struct{ Outputs map[string]stateOutput }](l).Outputs
}

// state reads the resources from the state that nearfar up has left.
func (l *awsLab) state() []stateResource {
	l.t.Helper()
	all := readState[struct{ Resources []stateResource }](l).Resources
	return slices.DeleteFunc(all, func(r stateResource) bool { return r.Mode != "managed" })
}

// readState reads the state into a value.
func readState[T any](l *awsLab) (state T) {
	l.t.Helper()
	files := glob(l.t, filepath.Join(l.dir, ".nearfar", "*", "terraform.tfstate"))
	if len(files) != 1 {
		l.t.Fatalf("the states are %q", files)
	}
	data, err := os.ReadFile(files[0])
	if err == nil {
		err = json.Unmarshal(data, &state)
	}
	if err != nil {
		l.t.Fatal(err)
	}
	return state
}

// instances reads the resources of a type by their keys, "" for one without a key.
func instances[T any](l *awsLab, kind string) map[string]T {
	l.t.Helper()
	found := map[string]T{}
	for _, r := range l.state() {
		if r.Type != kind {
			continue
		}
		for _, i := range r.Instances {
			var one T
			if err := json.Unmarshal(i.Attributes, &one); err != nil {
				l.t.Fatalf("%s.%s: %v", r.Type, r.Name, err)
			}
			key, _ := i.Key.(string)
			found[key] = one
		}
	}
	return found
}

// tagged checks that every resource that can have tags has nearfar's.
func (l *awsLab) tagged(run string) {
	l.t.Helper()
	checked := 0
	for _, r := range l.state() {
		for _, i := range r.Instances {
			var all map[string]json.RawMessage
			if err := json.Unmarshal(i.Attributes, &all); err != nil {
				l.t.Fatal(err)
			}
			if _, ok := all["tags"]; !ok {
				continue // the provider has no such argument for it
			}
			checked++
			var tags map[string]string
			if err := json.Unmarshal(all["tags"], &tags); err != nil {
				l.t.Fatal(err)
			}
			l.hasTags(r.Type+"."+r.Name, run, tags)
		}
	}
	if checked == 0 {
		l.t.Error("no resource can have tags")
	}
	// What EC2 makes with an instance has the tags that a launch template gives it.
	for key, template := range instances[launchTemplate](l, "aws_launch_template") {
		var kinds []string
		for _, s := range template.TagSpecifications {
			kinds = append(kinds, s.ResourceType)
			l.hasTags(key+" "+s.ResourceType, run, s.Tags)
		}
		if want := []string{"instance", "volume", "network-interface"}; !slices.Equal(kinds, want) {
			l.t.Errorf("the launch template %s tags %q, want %q", key, kinds, want)
		}
	}
}

func (l *awsLab) hasTags(what, run string, tags map[string]string) {
	l.t.Helper()
	if tags["nearfar_owner"] == "" || tags["nearfar_run"] != run || !isTime(tags["nearfar_expires"]) {
		l.t.Errorf("%s has the tags %q", what, tags)
	}
}

// launchTemplate has the attributes of aws_launch_template that the tests look at.
type launchTemplate struct {
	ID                string
	NetworkInterfaces []struct {
		SubnetID         string `json:"subnet_id"`
		EnaSrd           []any  `json:"ena_srd_specification"`
		DeletedWithOwner string `json:"delete_on_termination"`
	} `json:"network_interfaces"`
	Placement []struct {
		GroupName string `json:"group_name"`
	}
	MetadataOptions []struct {
		HTTPTokens string  `json:"http_tokens"`
		HopLimit   float64 `json:"http_put_response_hop_limit"`
	} `json:"metadata_options"`
	TagSpecifications []struct {
		ResourceType string `json:"resource_type"`
		Tags         map[string]string
	} `json:"tag_specifications"`
}
