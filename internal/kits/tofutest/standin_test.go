package tofutest_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nearfar/internal/kits/tofutest"
)

var update = flag.Bool("update", false, "write the schemas of the stand-ins and facts/ from the real providers")

// facts reads what was recorded of a real provider: its version, and the hash of each schema.
func facts(t *testing.T, kind string) (version string, sums map[string]string) {
	t.Helper()
	text, err := os.ReadFile(factsFile(kind))
	if err != nil {
		t.Fatal(err)
	}
	sums = map[string]string{}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		at := strings.LastIndex(line, " ")
		if at < 0 {
			t.Fatalf("%s: the line %q is not NAME HASH", factsFile(kind), line)
		}
		sums[line[:at]] = strings.TrimSpace(line[at:])
	}
	version = sums["version"]
	delete(sums, "version")
	return version, sums
}

func factsFile(kind string) string { return filepath.Join("facts", kind+".txt") }

// The stand-ins have the schemas that were recorded from the real providers, all of them and no others.
func TestStandInsAreAsRecorded(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds(t) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			stand, err := ReadStandIn(kind)
			if err != nil {
				t.Fatal(err)
			}
			version, sums := facts(t, kind)
			if version != stand.Version {
				t.Errorf("the stand-in is %s, recorded is %s", stand.Version, version)
			}
			named := stand.Named()
			for _, name := range slices.Sorted(maps.Keys(named)) {
				sum, err := named[name].Sum()
				if err != nil {
					t.Fatal(err)
				}
				if sum != sums[name] {
					t.Errorf("%s: its schema is not that of hashicorp/%s %s. `make providers`, and then `go test -run "+
						"TestProvidersSchemas ./internal/kits/tofutest` says where; -update writes it",
						name, kind, version)
				}
				delete(sums, name)
			}
			for name := range sums {
				t.Errorf("%s is recorded, and the stand-in does not have it", name)
			}
		})
	}
}

// A changed argument is seen: whether it is required, its type, how often a block can be there, and one that is gone.
func TestChangedSchemaIsSeen(t *testing.T) {
	t.Parallel()
	stand, err := ReadStandIn("azurerm")
	if err != nil {
		t.Fatal(err)
	}
	real := stand.Named()["resource azurerm_linux_virtual_machine"]
	was, err := real.Sum()
	if err != nil {
		t.Fatal(err)
	}
	for old, changed := range map[string]struct{ with, says string }{
		`"size":{"type":"string","required":true}`: {`"size":{"type":"string","optional":true}`,
			`size: "string" optional, really "string" required`},
		`"zone":{"type":"string","optional":true}`: {`"zone":{"type":"number","optional":true}`,
			`zone: "number" optional, really "string" optional`},
		`"admin_username":`: {`"user":`, `user: "string" optional, really not there`},
		`"max_items":1`:     {`"max_items":2`, `list of 0 to 2 blocks, really list of 0 to 1 blocks`},
	} {
		text, err := json.Marshal(real)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), old) {
			t.Errorf("the schema has no %s", old)
			continue
		}
		var ours Schema
		if err := json.Unmarshal([]byte(strings.Replace(string(text), old, changed.with, 1)), &ours); err != nil {
			t.Fatal(err)
		}
		sum, err := ours.Sum()
		if err != nil {
			t.Fatal(err)
		}
		said := strings.Join(Disagreements(ours, real), "\n")
		if sum == was || !strings.Contains(said, changed.says) {
			t.Errorf("%s in place of %s: %q, want %q", changed.with, old, said, changed.says)
		}
	}
}

// The real providers have the schemas of the stand-ins. With -update, the stand-ins get theirs.
func TestProvidersSchemas(t *testing.T) {
	for _, kind := range kinds(t) {
		t.Run(kind, func(t *testing.T) {
			real := tofutest.NewReal(t, kind)
			theirs := realSchemas(t, real)
			stand, err := ReadStandIn(kind)
			if err != nil {
				t.Fatal(err)
			}
			if *update {
				write(t, real, stand, theirs)
				return
			}
			named := theirs.Named()
			for name, ours := range stand.Named() {
				schema, ok := named[name]
				if !ok {
					t.Errorf("%s: hashicorp/%s %s does not have it", name, kind, real.Version)
					continue
				}
				for _, line := range Disagreements(ours, schema) {
					t.Errorf("%s: %s", name, line)
				}
			}
		})
	}
}

// realSchemas are the schemas of a real provider.
func realSchemas(t *testing.T, real *tofutest.Real) Schemas {
	t.Helper()
	module := real.Module(t, real.Labs()[0])
	var read struct {
		Schemas map[string]Schemas `json:"provider_schemas"`
	}
	if err := json.Unmarshal(module.Output("providers", "schema", "-json"), &read); err != nil {
		t.Fatal(err)
	}
	for name, one := range read.Schemas {
		if strings.HasSuffix(name, "/hashicorp/"+real.Kind) {
			return one
		}
	}
	t.Fatalf("`tofu providers schema` knows no hashicorp/%s", real.Kind)
	return Schemas{}
}

// write writes the schemas of what the stand-in has, or what the labs use, and their hashes.
func write(t *testing.T, real *tofutest.Real, stand StandIn, theirs Schemas) {
	t.Helper()
	kept := StandIn{
		Source: fmt.Sprintf("Written by `go test -run TestProvidersSchemas ./internal/kits/tofutest -update` from "+
			"`tofu providers schema -json` of hashicorp/%s %s, without texts. Only what labs/ uses.", real.Kind, real.Version),
		Version: real.Version,
		Schemas: Schemas{Provider: theirs.Provider},
	}
	recorded := []string{
		"# The SHA-256 of schemas of hashicorp/" + real.Kind + ", without texts. See docs/development.md.\n",
		"version " + real.Version + "\n",
	}
	for _, name := range slices.Sorted(maps.Keys(stand.Named())) {
		schema, ok := theirs.Named()[name]
		if !ok {
			t.Errorf("%s: hashicorp/%s %s does not have it", name, real.Kind, real.Version)
			continue
		}
		sum, err := schema.Sum()
		if err != nil {
			t.Fatal(err)
		}
		recorded = append(recorded, name+" "+sum+"\n")
	}
	var text strings.Builder
	text.WriteString("{\n")
	line := func(name string, value any, end string) {
		data, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&text, "%q: %s%s\n", name, data, end)
	}
	line("source", kept.Source, ",")
	line("version", kept.Version, ",")
	line("provider", kept.Provider, ",")
	section := func(name string, ours, theirs map[string]Schema, end string) {
		fmt.Fprintf(&text, "%q: {\n", name)
		names := slices.Sorted(maps.Keys(ours))
		for i, one := range names {
			comma := ","
			if i == len(names)-1 {
				comma = ""
			}
			line(one, theirs[one], comma)
		}
		text.WriteString("}" + end + "\n")
	}
	section("resource_schemas", stand.Resources, theirs.Resources, ",")
	section("data_source_schemas", stand.Data, theirs.Data, "")
	text.WriteString("}\n")
	for file, data := range map[string]string{
		filepath.Join("schema", real.Kind, "generated.json"): text.String(),
		factsFile(real.Kind): strings.Join(recorded, ""),
	} {
		if err := os.WriteFile(file, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
