package discovery

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nearfar/internal/kits/moduleroot"
)

var update = flag.Bool("update", false, "write compute.json")

// methods are the methods that the fake has.
func methods() []string {
	return strings.Fields(`
		addresses.aggregatedList
		disks.aggregatedList disks.delete disks.get disks.insert disks.list disks.setLabels
		diskTypes.get
		firewalls.delete firewalls.get firewalls.insert firewalls.list firewalls.patch
		forwardingRules.aggregatedList
		globalAddresses.list globalForwardingRules.list
		globalOperations.get globalOperations.wait
		images.get images.getFromFamily images.list
		instances.aggregatedList instances.delete instances.get instances.insert instances.list
		instances.setLabels instances.setMetadata
		machineTypes.get
		networks.delete networks.get networks.insert networks.list
		projects.get
		regionOperations.get regionOperations.wait
		regions.get regions.list
		resourcePolicies.delete resourcePolicies.get resourcePolicies.insert resourcePolicies.list
		snapshots.list
		subnetworks.delete subnetworks.get subnetworks.insert subnetworks.list
		zoneOperations.get zoneOperations.wait
		zones.get zones.list`)
}

// compute.json is what the document says. With -update it is written.
func TestExtract(t *testing.T) {
	t.Parallel()
	file, source := document(t)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	d, err := extract(data, methods())
	if err != nil {
		t.Fatal(err)
	}
	d.Source = source
	lined := lines(t, d)
	if *update {
		if err := os.WriteFile("compute.json", lined, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(compute, lined) {
		t.Error("compute.json is not what the document says; -update writes it")
	}
}

// lines writes a document with a line for each method and each schema, so that changes can be read.
func lines(t *testing.T, d *Document) []byte {
	t.Helper()
	encode := func(value any) string {
		var text bytes.Buffer
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(value); err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(text.String())
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(d.Methods)) {
		all = append(all, encode(name)+": "+encode(d.Methods[name]))
	}
	methods := strings.Join(all, ",\n")
	all = nil
	for _, name := range slices.Sorted(maps.Keys(d.Schemas)) {
		all = append(all, encode(name)+": "+encode(d.Schemas[name]))
	}
	return fmt.Appendf(nil, "{\"source\": %s, \"revision\": %s,\n\"common\": %s,\n"+
		"\"methods\": {\n%s\n},\n\"schemas\": {\n%s\n}}\n",
		encode(d.Source), encode(d.Revision), encode(d.Common), methods, strings.Join(all, ",\n"))
}

// document finds the document, and says what it is.
func document(t *testing.T) (file, source string) {
	t.Helper()
	root, err := moduleroot.Find()
	if err != nil {
		t.Fatal(err)
	}
	const module = "google.golang.org/api"
	run := func(args ...string) []byte {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir = filepath.Join(root, "internal", "kits", "tofutest", "opentofu")
		out, err := cmd.Output()
		if err != nil {
			var failed *exec.ExitError
			if errors.As(err, &failed) {
				t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, failed.Stderr)
			}
			t.Fatal(err)
		}
		return out
	}
	version := strings.TrimSpace(string(run("list", "-m", "-f", "{{.Version}}", module)))
	var got struct{ Dir string }
	if err := json.Unmarshal(run("mod", "download", "-json", module+"@"+version), &got); err != nil {
		t.Fatal(err)
	}
	const name = "compute/v1/compute-api.json"
	return filepath.Join(got.Dir, filepath.FromSlash(name)), name + " of " + module + " " + version
}

// raw is a value of a discovery document.
type raw struct {
	Ref                  string          `json:"$ref"`
	Type                 string          `json:"type"`
	Format               string          `json:"format"`
	Pattern              string          `json:"pattern"`
	Enum                 []string        `json:"enum"`
	Minimum              string          `json:"minimum"`
	Maximum              string          `json:"maximum"`
	Location             string          `json:"location"`
	Required             bool            `json:"required"`
	ReadOnly             bool            `json:"readOnly"`
	Description          string          `json:"description"`
	Items                *raw            `json:"items"`
	AdditionalProperties *raw            `json:"additionalProperties"`
	Properties           map[string]*raw `json:"properties"`
	Annotations          struct {
		Required []string `json:"required"`
	} `json:"annotations"`
}

// extract keeps some methods of a discovery document, and the schemas that they need.
func extract(data []byte, names []string) (*Document, error) {
	var all struct {
		Revision   string
		Parameters map[string]*raw
		Schemas    map[string]*raw
		Resources  map[string]struct {
			Methods map[string]struct {
				HTTPMethod        string
				Path              string
				Parameters        map[string]*raw
				Request, Response struct {
					Ref string `json:"$ref"`
				}
			}
		}
	}
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, err
	}
	d := &Document{Revision: all.Revision, Methods: map[string]*Method{}, Schemas: map[string]*Type{}}
	var add func(name string)
	add = func(name string) {
		if name == "" || d.Schemas[name] != nil {
			return
		}
		d.Schemas[name] = typeOf(all.Schemas[name], names, add)
	}
	d.Common = typesOf(all.Parameters, names, add)
	for _, name := range names {
		resource, method, _ := strings.Cut(name, ".")
		m, ok := all.Resources[resource].Methods[method]
		if !ok {
			return nil, fmt.Errorf("the document has no method %s", name)
		}
		d.Methods[name] = &Method{
			HTTP: m.HTTPMethod, Path: m.Path, Request: m.Request.Ref, Response: m.Response.Ref,
			Parameters: typesOf(m.Parameters, names, add),
		}
		add(m.Request.Ref)
		add(m.Response.Ref)
	}
	return d, nil
}

func typesOf(all map[string]*raw, methods []string, add func(string)) map[string]*Type {
	types := map[string]*Type{}
	for name, r := range all {
		types[name] = typeOf(r, methods, add)
	}
	return types
}

func typeOf(r *raw, methods []string, add func(string)) *Type {
	if r == nil {
		return nil
	}
	add(r.Ref)
	t := &Type{
		In: r.Location, Ref: r.Ref, Type: r.Type, Format: r.Format, Pattern: r.Pattern, Enum: r.Enum,
		Minimum: r.Minimum, Maximum: r.Maximum, Required: r.Required,
		Output: r.ReadOnly || strings.HasPrefix(strings.TrimSpace(r.Description), "[Output Only]"),
		Items:  typeOf(r.Items, methods, add), Values: typeOf(r.AdditionalProperties, methods, add),
	}
	for _, name := range r.Annotations.Required {
		name = strings.TrimPrefix(name, "compute.")
		if slices.Contains(methods, name) {
			t.RequiredFor = append(t.RequiredFor, name)
		}
	}
	if len(r.Properties) > 0 {
		t.Properties = typesOf(r.Properties, methods, add)
	}
	return t
}
