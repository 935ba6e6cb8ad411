package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// schemas is what a provider knows.
type schemas struct {
	provider  *tfprotov6.Schema
	resources map[string]*tfprotov6.Schema
	data      map[string]*tfprotov6.Schema
	// replaces are arguments of resources whose change makes another resource, such as custom_data and
	// scheduling.termination_time.
	replaces map[string][]string
}

// replacing are the changed arguments that make another resource.
func (s schemas) replacing(kind string, prior, proposed tftypes.Value) (paths []*tftypes.AttributePath, err error) {
	before, after := map[string]tftypes.Value{}, map[string]tftypes.Value{}
	if err := errors.Join(prior.As(&before), proposed.As(&after)); err != nil {
		return nil, err
	}
	for _, path := range s.replaces[kind] {
		if inner(before, path).Equal(inner(after, path)) {
			continue
		}
		at := tftypes.NewAttributePath()
		for i, name := range strings.Split(path, ".") {
			if i > 0 {
				at = at.WithElementKeyInt(0)
			}
			at = at.WithAttributeName(name)
		}
		paths = append(paths, at)
	}
	return paths, nil
}

// inner is the value to which a path leads: an argument, or one of the first block of a kind.
func inner(values map[string]tftypes.Value, path string) tftypes.Value {
	for {
		name, rest, nested := strings.Cut(path, ".")
		if !nested {
			return values[name]
		}
		values, path = first(values[name]), rest
	}
}

// A block, as `tofu providers schema -json` prints it.
type jsonBlock struct {
	Attributes map[string]struct {
		Type      json.RawMessage `json:"type"`
		Required  bool            `json:"required"`
		Optional  bool            `json:"optional"`
		Computed  bool            `json:"computed"`
		Sensitive bool            `json:"sensitive"`
	} `json:"attributes"`
	Blocks map[string]struct {
		Nesting string    `json:"nesting_mode"`
		Block   jsonBlock `json:"block"`
		Min     int64     `json:"min_items"`
		Max     int64     `json:"max_items"`
	} `json:"block_types"`
}

type jsonSchema struct {
	Version int64     `json:"version"`
	Block   jsonBlock `json:"block"`
}

// readSchemas reads all files of a folder. One of them has the provider's own configuration.
func readSchemas(folder string) (schemas, error) {
	s := schemas{
		resources: map[string]*tfprotov6.Schema{}, data: map[string]*tfprotov6.Schema{}, replaces: map[string][]string{},
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		return s, err
	}
	for _, file := range files {
		var read struct {
			Provider  *jsonSchema           `json:"provider"`
			Resources map[string]jsonSchema `json:"resource_schemas"`
			Data      map[string]jsonSchema `json:"data_source_schemas"`
			Replaces  map[string][]string   `json:"replaces"`
		}
		if err := readJSON(file, &read); err != nil {
			return s, err
		}
		if read.Provider != nil {
			if s.provider, err = read.Provider.schema(); err != nil {
				return s, fmt.Errorf("%s: provider: %w", file, err)
			}
		}
		maps.Copy(s.replaces, read.Replaces)
		for into, from := range map[*map[string]*tfprotov6.Schema]map[string]jsonSchema{
			&s.resources: read.Resources, &s.data: read.Data,
		} {
			made := maps.Clone(*into)
			for name, one := range from {
				if made[name], err = one.schema(); err != nil {
					return s, fmt.Errorf("%s: %s: %w", file, name, err)
				}
			}
			*into = made
		}
	}
	if s.provider == nil {
		return s, fmt.Errorf("no file %s/*.json has the schema of a provider", folder)
	}
	return s, nil
}

func (s jsonSchema) schema() (*tfprotov6.Schema, error) {
	block, err := s.Block.block()
	return &tfprotov6.Schema{Version: s.Version, Block: block}, err
}

func (b jsonBlock) block() (*tfprotov6.SchemaBlock, error) {
	made := &tfprotov6.SchemaBlock{}
	for name, a := range b.Attributes {
		t, err := tftypes.ParseJSONType(a.Type) //nolint:staticcheck // there is no other reader of this form
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		made.Attributes = append(made.Attributes, &tfprotov6.SchemaAttribute{
			Name: name, Type: t, Required: a.Required, Optional: a.Optional, Computed: a.Computed,
			Sensitive: a.Sensitive,
		})
	}
	modes := map[string]tfprotov6.SchemaNestedBlockNestingMode{
		"list": tfprotov6.SchemaNestedBlockNestingModeList, "set": tfprotov6.SchemaNestedBlockNestingModeSet,
		"map": tfprotov6.SchemaNestedBlockNestingModeMap, "single": tfprotov6.SchemaNestedBlockNestingModeSingle,
	}
	for name, inner := range b.Blocks {
		mode, ok := modes[inner.Nesting]
		if !ok {
			return nil, fmt.Errorf("%s: nesting_mode %q is not known", name, inner.Nesting)
		}
		block, err := inner.Block.block()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		made.BlockTypes = append(made.BlockTypes, &tfprotov6.SchemaNestedBlock{
			TypeName: name, Nesting: mode, MinItems: inner.Min, MaxItems: inner.Max, Block: block,
		})
	}
	return made, nil
}

// computedUnknown replaces each null that the provider computes by an unknown value, also in nested blocks.
func computedUnknown(block *tfprotov6.SchemaBlock, v tftypes.Value) (tftypes.Value, error) {
	if v.IsNull() || !v.IsKnown() {
		return v, nil
	}
	values := map[string]tftypes.Value{}
	if err := v.As(&values); err != nil {
		return v, err
	}
	for _, a := range block.Attributes {
		if a.Computed && values[a.Name].IsNull() {
			values[a.Name] = tftypes.NewValue(a.Type, tftypes.UnknownValue)
		}
	}
	for _, b := range block.BlockTypes {
		made, err := nestedUnknown(b, values[b.TypeName])
		if err != nil {
			return v, fmt.Errorf("%s: %w", b.TypeName, err)
		}
		values[b.TypeName] = made
	}
	return tftypes.NewValue(v.Type(), values), nil
}

// nestedUnknown is computedUnknown for all blocks of a type.
func nestedUnknown(b *tfprotov6.SchemaNestedBlock, v tftypes.Value) (tftypes.Value, error) {
	if v.IsNull() || !v.IsKnown() {
		return v, nil
	}
	switch b.Nesting {
	case tfprotov6.SchemaNestedBlockNestingModeList, tfprotov6.SchemaNestedBlockNestingModeSet:
		var items []tftypes.Value
		if err := v.As(&items); err != nil {
			return v, err
		}
		for i := range items {
			made, err := computedUnknown(b.Block, items[i])
			if err != nil {
				return v, err
			}
			items[i] = made
		}
		return tftypes.NewValue(v.Type(), items), nil
	case tfprotov6.SchemaNestedBlockNestingModeSingle:
		return computedUnknown(b.Block, v)
	default:
		return v, nil // no schema here has maps of blocks with computed values
	}
}
