package experiment

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"

	"nearfar/internal/declare/check"
)

func compiledSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema(testTools)))
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
		"background-times", "baseline-unknown", "dlr-misplaced",
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
		"/properties":                                           KeysOf("experiment"),
		"/properties/schedule/properties":                       KeysOf("schedule"),
		"/$defs/arm/properties":                                 KeysOf("arm"),
		"/$defs/expect/properties":                              check.Expectations(),
		"/$defs/expect/properties/encapsulation/enum":           check.Encapsulations(),
		"/properties/unproved/enum":                             UnprovedWords(),
		"/$defs/host/properties":                                KeysOf("host"),
		"/$defs/host/properties/tools/properties":               testTools.Programs(),
		"/$defs/provision/properties":                           KeysOf("provision"),
		"/$defs/provision/properties/retry/properties":          KeysOf("retry"),
		"/$defs/set/properties":                                 SettableKeys(),
		"/$defs/settings/properties":                            SettableKeys(),
		"/$defs/lab/properties":                                 KeysOf("lab"),
		"/$defs/kubernetes/properties":                          KeysOf("kubernetes"),
		"/$defs/kubernetes/properties/nodes/enum":               nodesWords(),
		"/$defs/kubernetes/properties/through/enum":             throughWords(),
		"/$defs/kubernetes/properties/networkPolicy/enum":       policyWords(),
		"/$defs/pod/properties":                                 KeysOf("pod"),
		"/$defs/pod/properties/os/enum":                         PodSystems(),
		"/$defs/pod/properties/affinity/properties":             KeysOf("affinity"),
		"/$defs/pod/properties/tolerations/items/properties":    KeysOf("tolerations"),
		"/$defs/pod/properties/resources/properties":            KeysOf("resources"),
		"/$defs/pod/properties/securityContext/properties":      KeysOf("securityContext"),
		"/$defs/rules/properties":                               KeysOf("nodeAffinity"),
		"/$defs/element/oneOf/0/enum":                           ElementKinds(),
		"/$defs/element/oneOf/1/properties":                     ElementKinds(),
		"/$defs/element/oneOf/1/properties/wire/properties":     KeysOf(Wire),
		"/$defs/element/oneOf/1/properties/firewall/properties": KeysOf(Firewall),
		"/$defs/placement/oneOf/0/enum":                         PlacementWords(),
		"/$defs/placement/oneOf/1/properties":                   KeysOf("placement"),
		"/$defs/workload/properties":                            WorkloadKeys(),
		"/$defs/workload/properties/background/properties":      BackgroundKeys(),
		"/$defs/workload/properties/steps/items/properties":     KeysOf("step"),
		"/$defs/workload/properties/arrivals/enum":              arrivalWords(),
		"/$defs/direction/enum":                                 directionWords(),
		"/$defs/wait/enum":                                      waitWords(),
		"/$defs/workload/properties/tool/enum":                  testTools.Names(),
		"/$defs/workload/properties/mode/enum":                  testTools.Modes(""),
		"/$defs/workload/properties/protocol/enum":              testTools.Protocols("", ""),
	} {
		got := wordsAt(t, root, where)
		slices.Sort(got)
		want = slices.Sorted(slices.Values(want))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-reader +schema):\n%s", where, diff)
		}
	}
	for _, u := range []struct {
		where string
		units []unit
	}{
		{"/$defs/size/pattern", sizeUnits()}, {"/$defs/rate/pattern", rateUnits()}, {"/$defs/duration/oneOf/0/pattern",
			durationUnits()},
	} {
		pattern, ok := at(t, root, u.where).(string)
		for _, unit := range u.units {
			if !ok || !strings.Contains(pattern, "|"+unit.name) && !strings.Contains(pattern, "("+unit.name) {
				t.Errorf("%s does not know the unit %s: %s", u.where, unit.name, pattern)
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
