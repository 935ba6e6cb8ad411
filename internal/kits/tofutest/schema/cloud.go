package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// A cloud is a folder. resources/ has a file for each resource. values.json gives values that the cloud computes, by
// type and name of the resource and by the path of the value: {"azurerm_public_ip.a": {"ip_address": "192.0.2.1"}}.
// refusals.json says which creations fail.
type cloud struct{ folder string }

// resource is what the file of a resource has.
type resource struct {
	ID   string            `json:"id"`
	Type string            `json:"type"`
	Name string            `json:"name"`
	Tags map[string]string `json:"tags,omitempty"`
	// Uses are the identifiers of the resources that it refers to.
	Uses []string `json:"uses,omitempty"`
}

// path is the file of a resource.
func (c cloud) path(id string) string {
	return filepath.Join(c.folder, "resources", strings.ReplaceAll(strings.Trim(id, "/"), "/", "_")+".json")
}

func (c cloud) has(id string) bool {
	_, err := os.Stat(c.path(id))
	return err == nil
}

func (c cloud) remove(id string) error {
	err := os.Remove(c.path(id))
	if os.IsNotExist(err) {
		return nil
	}
	return err
}

// save writes the file of a resource: its identifier, its type, its name, and its tags or labels.
func (c cloud) save(kind string, state *tfprotov6.DynamicValue, t tftypes.Type) error {
	if c.folder == "" {
		return errors.New("NEARFAR_TEST_CLOUD is not set: there is nowhere to make resources")
	}
	values, err := object(state, t)
	if err != nil {
		return err
	}
	whole, err := state.Unmarshal(t)
	if err != nil {
		return err
	}
	id := text(values["id"])
	resource := resource{id, kind, nameOf(values), map[string]string{}, c.uses(whole, id)}
	for _, key := range []string{"tags", "labels"} {
		maps.Copy(resource.Tags, texts(values[key]))
	}
	data, err := json.Marshal(resource)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(c.folder, "resources"), 0o700); err != nil {
		return err
	}
	// Others read all files at any time: each is whole.
	file := c.path(id)
	if err := os.WriteFile(file+".new", data, 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

// nameOf is the name of a resource, or its tag Name if it has no other, as machines of AWS.
func nameOf(values map[string]tftypes.Value) string {
	return cmp.Or(text(values["name"]), texts(values["tags"])["Name"])
}

// texts reads a known map of strings; everything else is empty.
func texts(v tftypes.Value) map[string]string {
	all := map[string]string{}
	if v.Type() == nil || !v.Type().Is(tftypes.Map{ElementType: tftypes.String}) || !v.IsKnown() || v.IsNull() {
		return all
	}
	values := map[string]tftypes.Value{}
	_ = v.As(&values) // it is such a map
	for name, value := range values {
		all[name] = text(value)
	}
	return all
}

// complete gives a value to everything that is unknown.
func (c cloud) complete(kind string, schema *tfprotov6.Schema, v tftypes.Value) (*tfprotov6.DynamicValue, error) {
	values := map[string]tftypes.Value{}
	if err := v.As(&values); err != nil {
		return nil, err
	}
	given := map[string]map[string]string{}
	if err := readJSON(filepath.Join(c.folder, "values.json"), &given); err != nil {
		return nil, err
	}
	name := nameOf(values)
	made, err := tftypes.Transform(v, func(at *tftypes.AttributePath, v tftypes.Value) (tftypes.Value, error) {
		if v.IsKnown() {
			return v, nil
		}
		if value, ok := given[kind+"."+name][pathText(at)]; ok && v.Type().Is(tftypes.String) {
			return tftypes.NewValue(tftypes.String, value), nil
		}
		return madeUp(kind, name, at, v.Type()), nil
	})
	if err != nil {
		return nil, err
	}
	state, err := tfprotov6.NewDynamicValue(schema.ValueType(), made)
	return &state, err
}

// pathText writes a path as "network_interface.0.network_ip".
func pathText(at *tftypes.AttributePath) string {
	var words []string
	for _, step := range at.Steps() {
		switch step := step.(type) {
		case tftypes.AttributeName:
			words = append(words, string(step))
		case tftypes.ElementKeyInt:
			words = append(words, fmt.Sprint(int64(step)))
		case tftypes.ElementKeyString:
			words = append(words, string(step))
		default: // an element of a set
			words = append(words, "*")
		}
	}
	return strings.Join(words, ".")
}

// madeUp is a value of a type. The id has the time, since resources of one type can have one name. All resources are in
// one region of AWS and one project of Google Cloud.
func madeUp(kind, name string, at *tftypes.AttributePath, t tftypes.Type) tftypes.Value {
	path := pathText(at)
	switch {
	case t.Is(tftypes.String) && path == "id":
		return tftypes.NewValue(t, fmt.Sprintf("/%s/%s-%d", kind, name, time.Now().UnixNano()))
	case t.Is(tftypes.String) && path == "region" && strings.HasPrefix(kind, "aws_"):
		return tftypes.NewValue(t, "eu-west-1")
	case t.Is(tftypes.String) && path == "project" && strings.HasPrefix(kind, "google_"):
		return tftypes.NewValue(t, "project")
	case t.Is(tftypes.String) && (strings.HasSuffix(path, "_ip") || strings.HasSuffix(path, "ip_address")):
		return tftypes.NewValue(t, "192.0.2.1") // reserved for documentation (RFC 5737)
	case t.Is(tftypes.String):
		return tftypes.NewValue(t, kind+"-"+path)
	case t.Is(tftypes.Bool):
		return tftypes.NewValue(t, false)
	case t.Is(tftypes.Number):
		return tftypes.NewValue(t, big.NewFloat(0))
	case t.Is(tftypes.List{}), t.Is(tftypes.Set{}):
		return tftypes.NewValue(t, []tftypes.Value{})
	case t.Is(tftypes.Map{}):
		return tftypes.NewValue(t, map[string]tftypes.Value{})
	}
	return tftypes.NewValue(t, nil)
}
