package tofutest_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nearfar/internal/kits/tofutest"
)

// A Block is what `tofu providers schema -json` says of the arguments of a provider, a resource or a data source, apart
// from texts: https://opentofu.org/docs/cli/commands/providers/schema.
type Block struct {
	Attributes map[string]Attribute `json:"attributes,omitempty"`
	Blocks     map[string]Nested    `json:"block_types,omitempty"`
}

// An Attribute is an argument, or what the provider computes. Type is as it is written in the schema.
type Attribute struct {
	Type      json.RawMessage `json:"type,omitempty"`
	Nested    json.RawMessage `json:"nested_type,omitempty"`
	Required  bool            `json:"required,omitempty"`
	Optional  bool            `json:"optional,omitempty"`
	Computed  bool            `json:"computed,omitempty"`
	Sensitive bool            `json:"sensitive,omitempty"`
	WriteOnly bool            `json:"write_only,omitempty"`
}

// Nested are blocks in a block. Max is 0 if there can be any number.
type Nested struct {
	Block   Block  `json:"block"`
	Nesting string `json:"nesting_mode"`
	Min     int    `json:"min_items,omitempty"`
	Max     int    `json:"max_items,omitempty"`
}

// A Schema is the schema of a provider, a resource or a data source.
type Schema struct {
	Block   Block `json:"block"`
	Version int   `json:"version,omitempty"`
}

// Schemas are the schemas of a provider.
type Schemas struct {
	Provider  *Schema           `json:"provider,omitempty"`
	Resources map[string]Schema `json:"resource_schemas,omitempty"`
	Data      map[string]Schema `json:"data_source_schemas,omitempty"`
}

// Named are all schemas by what they are of: provider, "resource azurerm_subnet", "data aws_region".
func (s Schemas) Named() map[string]Schema {
	all := map[string]Schema{}
	if s.Provider != nil {
		all["provider"] = *s.Provider
	}
	for name, one := range s.Resources {
		all["resource "+name] = one
	}
	for name, one := range s.Data {
		all["data "+name] = one
	}
	return all
}

// A StandIn is what the files of a stand-in's schemas say.
type StandIn struct {
	Schemas
	Source  string `json:"source"`
	Version string `json:"version"`
}

// ReadStandIn reads the schemas of a stand-in, such as azurerm: all files of its folder.
func ReadStandIn(kind string) (StandIn, error) {
	all := StandIn{Schemas: Schemas{Resources: map[string]Schema{}, Data: map[string]Schema{}}}
	files, err := filepath.Glob(filepath.Join("schema", kind, "*.json"))
	if err != nil || len(files) == 0 {
		return all, fmt.Errorf("no file schema/%s/*.json (%w)", kind, err)
	}
	for _, file := range files {
		var one StandIn
		data, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(data, &one)
		}
		if err != nil {
			return all, fmt.Errorf("%s: %w", file, err)
		}
		if all.Version == "" {
			all.Version = one.Version
		}
		if one.Provider != nil {
			all.Provider = one.Provider
		}
		maps.Copy(all.Resources, one.Resources)
		maps.Copy(all.Data, one.Data)
	}
	return all, nil
}

// Sum is a hash of a schema: two schemas with the same arguments, types, nesting and limits have the same.
func (s Schema) Sum() (string, error) {
	text, err := json.Marshal(s) // the keys of maps are in order, and types are without spaces
	return fmt.Sprintf("%x", sha256.Sum256(text)), err
}

// Disagreements says in which arguments two schemas differ, as "os_disk.caching: string required, really string
// optional".
func Disagreements(ours, real Schema) (said []string) {
	if ours.Version != real.Version {
		said = append(said, fmt.Sprintf("version: %d, really %d", ours.Version, real.Version))
	}
	mine, theirs := map[string]string{}, map[string]string{}
	ours.Block.lines("", mine)
	real.Block.lines("", theirs)
	for _, name := range slices.Sorted(maps.Keys(theirs)) {
		if mine[name] != theirs[name] {
			said = append(said, fmt.Sprintf("%s: %s, really %s", name, orNot(mine[name]), theirs[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(mine)) {
		if theirs[name] == "" {
			said = append(said, fmt.Sprintf("%s: %s, really not there", name, mine[name]))
		}
	}
	return said
}

func orNot(line string) string {
	if line == "" {
		return "not there"
	}
	return line
}

// lines describes each argument of a block by its path.
func (b Block) lines(path string, into map[string]string) {
	for name, a := range b.Attributes {
		words := []string{string(a.Type) + string(a.Nested)}
		for word, has := range map[string]bool{
			"required": a.Required, "optional": a.Optional, "computed": a.Computed, "sensitive": a.Sensitive,
			"write-only": a.WriteOnly,
		} {
			if has {
				words = append(words, word)
			}
		}
		slices.Sort(words[1:])
		into[path+name] = strings.Join(words, " ")
	}
	for name, n := range b.Blocks {
		into[path+name] = fmt.Sprintf("%s of %d to %d blocks", n.Nesting, n.Min, n.Max)
		n.Block.lines(path+name+".", into)
	}
}

// kinds are the names of the providers that have a stand-in.
func kinds(t *testing.T) []string {
	t.Helper()
	versions, err := tofutest.Versions()
	if err != nil || len(versions) == 0 {
		t.Fatal(versions, err)
	}
	return slices.Sorted(maps.Keys(versions))
}
