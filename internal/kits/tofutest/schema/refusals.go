package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// The provider azurerm as far as it matters when Azure refuses. Source:
// website/docs/guides/features-block.html.markdown of hashicorp/terraform-provider-azurerm 5.2.0, and the resources'
// functions Create and Delete there.
const azure = "azurerm_"

// features are what the configuration of azurerm says.
type features struct {
	// persist: the id of what could not be finished is in the state. The default is false.
	persist bool
	// prevent: a group is not deleted while it has resources. The default is true.
	prevent bool
}

// readFeatures reads the configuration of a provider; others than azurerm have the defaults.
func readFeatures(config *tfprotov6.DynamicValue, t tftypes.Type) (features, error) {
	f := features{prevent: true}
	values, err := object(config, t)
	if err != nil {
		return f, err
	}
	block := first(values["features"])
	f.persist = flag(block["persist_id_on_create_before_polling_for_completion"], f.persist)
	f.prevent = flag(first(block["resource_group"])["prevent_deletion_if_contains_resources"], f.prevent)
	return f, nil
}

// first is the first block of a list; it has nothing if there is none.
func first(v tftypes.Value) map[string]tftypes.Value {
	var items []tftypes.Value
	values := map[string]tftypes.Value{}
	if v.Type() == nil || !v.Type().Is(tftypes.List{}) || !v.IsKnown() || v.IsNull() {
		return values
	}
	if v.As(&items) == nil && len(items) > 0 {
		_ = items[0].As(&values) // a block is an object
	}
	return values
}

func flag(v tftypes.Value, otherwise bool) bool {
	if v.Type() == nil || !v.IsKnown() || v.IsNull() || v.As(&otherwise) != nil {
		return otherwise
	}
	return otherwise
}

// refusal makes the creation of resources of a type fail, after they exist, if an attribute has a value.
type refusal struct{ Type, Attribute, Value, Message string }

// refused is why the creation of a resource fails; nil if it does not.
func (c cloud) refused(kind string, values map[string]tftypes.Value) error {
	var all []refusal
	if err := readJSON(filepath.Join(c.folder, "refusals.json"), &all); err != nil {
		return err
	}
	for _, r := range all {
		if r.Type == kind && text(values[r.Attribute]) == r.Value {
			return errors.New(r.Message)
		}
	}
	return nil
}

// others reads all resources but one.
func (c cloud) others(id string) (all []resource, err error) {
	files, err := filepath.Glob(filepath.Join(c.folder, "resources", "*.json"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		var r resource
		if err := readJSON(file, &r); err != nil {
			return nil, err
		}
		if r.ID != "" && r.ID != id { // without one, it was deleted meanwhile
			all = append(all, r)
		}
	}
	return all, nil
}

// exists says that azurerm would not make a resource, because there is one with its name.
func (c cloud) exists(kind, name string) error {
	all, err := c.others("")
	if err != nil || name == "" || !strings.HasPrefix(kind, azure) {
		return err
	}
	for _, r := range all {
		if r.Type == kind && r.Name == name {
			return fmt.Errorf("a resource with the ID %q already exists - to be managed via Terraform this resource needs "+
				"to be imported into the State", r.ID)
		}
	}
	return nil
}

// delete deletes a resource as Azure does: not while another one uses it, and a group with all that is in it. All
// resources are in one group.
func (c cloud) delete(kind, id string, f features) error {
	all, err := c.others(id)
	switch {
	case err != nil:
		return err
	case kind == azure+"resource_group":
		for _, r := range all {
			if !strings.HasPrefix(r.Type, azure) || r.Type == kind {
				continue
			}
			if f.prevent {
				return fmt.Errorf("the Resource Group still contains Resources: %s", r.ID)
			}
			if err := c.remove(r.ID); err != nil {
				return err
			}
		}
	case strings.HasPrefix(kind, azure):
		for _, r := range all {
			if slices.Contains(r.Uses, id) {
				return fmt.Errorf("InUse: %s is used by %s", id, r.ID)
			}
		}
	}
	return c.remove(id)
}

// uses are the identifiers of other resources in a value.
func (c cloud) uses(v tftypes.Value, own string) (ids []string) {
	_ = tftypes.Walk(v, func(_ *tftypes.AttributePath, one tftypes.Value) (bool, error) {
		if id := text(one); strings.HasPrefix(id, "/") && id != own && c.has(id) {
			ids = append(ids, id)
		}
		return true, nil
	})
	return ids
}
