package schema

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"

	"nearfar/internal/declare/check"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/measure/tool"
)

var (
	testTools = tool.Declared()
	update    = flag.Bool("update", false, "write docs/reference.md anew")
)

// examples are the experiment files of a folder of testdata, by name without the extension.
func examples(t *testing.T, folder string, least int) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("..", "file", "testdata", folder, "*.yaml"))
	if err != nil || len(paths) < least {
		t.Fatalf("%d files in testdata/%s, want at least %d (%v)", len(paths), folder, least, err)
	}
	files := make(map[string][]byte)
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files[strings.TrimSuffix(filepath.Base(path), ".yaml")] = data
	}
	return files
}

func compiledSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(JSON(testTools)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("experiment.json", document); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("experiment.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// asJSON reads a YAML file as an editor does, into the types of JSON Schema.
func asJSON(t *testing.T, data []byte) (any, error) {
	t.Helper()
	var value any
	if err := yaml.Load(data, &value); err != nil {
		return nil, err
	}
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return jsonschema.UnmarshalJSON(bytes.NewReader(text))
}

func TestSchemaAcceptsValidFiles(t *testing.T) {
	s := compiledSchema(t)
	for name, data := range examples(t, "valid", 6) {
		value, err := asJSON(t, data)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := s.Validate(value); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// beyondSchema are the wrong files whose mistakes a schema cannot find, because a mistake depends on several values
// together or on the meaning of a value, or because only the YAML text shows it.
func beyondSchema() []string {
	return []string{
		"additive-within-zero", "aliases", "asked-about-baseline", "asked-about-unknown", "background-elsewhere",
		"background-times", "baseline-unknown", "command-kinds", "dlr-misplaced",
		"deployments-of-hosts", "deployments-of-provisioned", "escaped-control-character", "expect-contradictions",
		"firewall-misplaced",
		"hosts-file-of-other-things", "hosts-layers-undeclared",
		"hosts-shared", "hosts-shared-set", "hosts-undeclared", "hosts-unknown", "ip-elsewhere",
		"latte-and-ntttcp", "layers-inseparable", "leading-zeros", "limits", "load-sizes", "modes-of-others",
		"parameters-senseless", "pods-aliases", "pods-interface-through-service", "pods-layers-undeclared",
		"pods-manifest-too-long", "pods-node-port-of-host-network", "pods-node-ports", "pods-one-pod",
		"pods-other-node", "pods-other-system", "pods-ping-set", "pods-ping-through-service", "pods-pull-secrets-nowhere",
		"pods-reserved-labels", "pods-same-node", "pods-shared", "pods-shared-for-all", "pods-shared-set",
		"pods-side-twice", "pods-windows-without-image",
		"provision-hosts-file", "provision-nothing", "provision-reserved", "provision-without",
		"set-invalid-together", "set-ip-elsewhere", "set-nobody-takes", "socket-elsewhere", "tag", "tool-cannot",
		"too-many-different-layers", "too-many-trials", "vteps-odd",
	}
}

func TestSchemaRefusesWrongFiles(t *testing.T) {
	s := compiledSchema(t)
	refused := 0
	for name, data := range examples(t, "wrong", 30) {
		value, err := asJSON(t, data)
		if err != nil {
			continue // no YAML, or none that is JSON: an editor says so without a schema
		}
		err = s.Validate(value)
		if beyond := slices.Contains(beyondSchema(), name); beyond != (err == nil) {
			t.Errorf("%s: beyond the schema %v, but it says %v", name, beyond, err)
		}
		if err != nil {
			refused++
		}
	}
	if refused < 30 {
		t.Errorf("the schema refused %d files, want at least 30", refused)
	}
}

// The schema and the reader must know the same keys and words.
func TestSchemaKnowsWhatTheReaderKnows(t *testing.T) {
	var root map[string]any
	if err := json.Unmarshal(plainSchema(testTools), &root); err != nil {
		t.Fatal(err)
	}
	for where, want := range map[string][]string{
		"/properties":                                           experiment.KeysOf("experiment"),
		"/properties/schedule/properties":                       experiment.KeysOf("schedule"),
		"/$defs/arm/properties":                                 experiment.KeysOf("arm"),
		"/$defs/expect/properties":                              check.Expectations(),
		"/$defs/expect/properties/encapsulation/enum":           check.Encapsulations(),
		"/properties/unproved/enum":                             experiment.UnprovedWords(),
		"/$defs/host/properties":                                experiment.KeysOf("host"),
		"/$defs/host/properties/tools/properties":               testTools.Programs(),
		"/$defs/provision/properties":                           experiment.KeysOf("provision"),
		"/$defs/provision/properties/retry/properties":          experiment.KeysOf("retry"),
		"/$defs/set/properties":                                 experiment.SettableKeys(),
		"/$defs/settings/properties":                            experiment.SettableKeys(),
		"/$defs/lab/properties":                                 experiment.KeysOf("lab"),
		"/$defs/kubernetes/properties":                          experiment.KeysOf("kubernetes"),
		"/$defs/kubernetes/properties/nodes/enum":               podWords("nodes"),
		"/$defs/kubernetes/properties/through/enum":             podWords("through"),
		"/$defs/kubernetes/properties/networkPolicy/enum":       podWords("networkPolicy"),
		"/$defs/pod/properties":                                 experiment.KeysOf("pod"),
		"/$defs/pod/properties/os/enum":                         experiment.PodSystems(),
		"/$defs/pod/properties/affinity/properties":             experiment.KeysOf("affinity"),
		"/$defs/pod/properties/tolerations/items/properties":    experiment.KeysOf("tolerations"),
		"/$defs/pod/properties/resources/properties":            experiment.KeysOf("resources"),
		"/$defs/pod/properties/securityContext/properties":      experiment.KeysOf("securityContext"),
		"/$defs/rules/properties":                               experiment.KeysOf("nodeAffinity"),
		"/$defs/element/oneOf/0/enum":                           experiment.ElementKinds(),
		"/$defs/element/oneOf/1/properties":                     experiment.ElementKinds(),
		"/$defs/element/oneOf/1/properties/wire/properties":     experiment.KeysOf(experiment.Wire),
		"/$defs/element/oneOf/1/properties/firewall/properties": experiment.KeysOf(experiment.Firewall),
		"/$defs/placement/oneOf/0/enum":                         experiment.PlacementWords(),
		"/$defs/placement/oneOf/1/properties":                   experiment.KeysOf("placement"),
		"/$defs/workload/properties":                            experiment.WorkloadKeys(),
		"/$defs/workload/properties/background/properties":      experiment.BackgroundKeys(),
		"/$defs/workload/properties/steps/items/properties":     experiment.KeysOf("step"),
		"/$defs/workload/properties/arrivals/enum":              {experiment.ConstantArrivals, experiment.PoissonArrivals},
		"/$defs/direction/enum":                                 {experiment.Upload, experiment.Download, experiment.Both},
		"/$defs/wait/enum": {
			experiment.WaitBlock, experiment.WaitBusyPoll, experiment.WaitEpoll, experiment.WaitSpin,
		},
		"/$defs/workload/properties/tool/enum":     testTools.Names(),
		"/$defs/workload/properties/mode/enum":     testTools.Modes(""),
		"/$defs/workload/properties/protocol/enum": testTools.Protocols("", ""),
	} {
		got := wordsAt(t, root, where)
		slices.Sort(got)
		want = slices.Sorted(slices.Values(want))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-reader +schema):\n%s", where, diff)
		}
	}
	_, size := experiment.ParseSize("1x")
	_, rate := experiment.ParseRate("1x")
	_, duration := experiment.ParseDuration("1x")
	for where, refusal := range map[string]error{
		"/$defs/size/pattern": size, "/$defs/rate/pattern": rate, "/$defs/duration/oneOf/0/pattern": duration,
	} {
		pattern, ok := at(t, root, where).(string)
		_, units, listed := strings.Cut(refusal.Error(), "units are ")
		if !listed {
			t.Errorf("no units in %q", refusal)
		}
		for unit := range strings.SplitSeq(units, ", ") {
			if !ok || !strings.Contains(pattern, "|"+unit) && !strings.Contains(pattern, "("+unit) {
				t.Errorf("%s does not know the unit %s: %s", where, unit, pattern)
			}
		}
	}
}

// Every object of the schema with properties refuses others, and describes each of its own.
func TestSchemaIsStrictAndDescribed(t *testing.T) {
	var root any
	if err := json.Unmarshal(plainSchema(testTools), &root); err != nil {
		t.Fatal(err)
	}
	objects := 0
	var walk func(where string, value any)
	walk = func(where string, value any) {
		switch value := value.(type) {
		case []any:
			for _, v := range value {
				walk(where, v)
			}
		case map[string]any:
			if properties, ok := value["properties"].(map[string]any); ok {
				objects++
				others := any(false)
				if where == "/$defs/set" { // whose other keys are names of workloads
					others = map[string]any{"$ref": "#/$defs/settings"}
				}
				if !reflect.DeepEqual(value["additionalProperties"], others) {
					t.Errorf("%s lets unknown keys pass", where)
				}
				for name, p := range properties {
					p := p.(map[string]any)
					if p["description"] == nil && p["$ref"] == nil && p["properties"] == nil {
						t.Errorf("%s/%s has no description", where, name)
					}
				}
			}
			for name, v := range value {
				walk(where+"/"+name, v)
			}
		}
	}
	walk("", root)
	if objects < 8 {
		t.Errorf("%d objects seen, want at least 8", objects)
	}
}

// podWords are the words of a key of an arm's kubernetes.
func podWords(key string) []string {
	for _, k := range new(experiment.Kubernetes).Words() {
		if k.Name == key {
			return k.Known
		}
	}
	return nil
}

func at(t *testing.T, value any, where string) any {
	t.Helper()
	for _, step := range strings.Split(where, "/")[1:] {
		switch v := value.(type) {
		case map[string]any:
			value = v[step]
		case []any:
			value = v[step[0]-'0']
		default:
			t.Fatalf("%s: nothing at %q", where, step)
		}
	}
	return value
}

// wordsAt gives the keys of an object, or the members of an array.
func wordsAt(t *testing.T, root any, where string) []string {
	t.Helper()
	switch v := at(t, root, where).(type) {
	case map[string]any:
		return slices.Collect(maps.Keys(v))
	case []any:
		words := make([]string, len(v))
		for i := range v {
			words[i], _ = v[i].(string)
		}
		return words
	}
	t.Fatalf("%s holds no words", where)
	return nil
}
