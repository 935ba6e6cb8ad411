package provision

import (
	"slices"
	"testing"
)

// Only groups that have the tags of this run are deleted, wherever they are in the module.
func TestAzureGroups(t *testing.T) {
	const state = `{"values": {"root_module": {"resources": [
		{"mode": "managed", "type": "azurerm_resource_group", "values": {"id": "/subscriptions/s-1/resourceGroups/mine",
			"name": "mine", "tags": {"nearfar_run": "r", "nearfar_owner": "me@here"}}},
		{"mode": "managed", "type": "azurerm_resource_group", "values": {"name": "theirs",
			"tags": {"nearfar_run": "r", "nearfar_owner": "you@there"}}},
		{"mode": "managed", "type": "azurerm_resource_group", "values": {"name": "untagged", "tags": null}},
		{"mode": "managed", "type": "azurerm_resource_group", "values": {"name": "--all",
			"tags": {"nearfar_run": "r", "nearfar_owner": "me@here"}}},
		{"mode": "data", "type": "azurerm_resource_group", "values": {"name": "read",
			"tags": {"nearfar_run": "r", "nearfar_owner": "me@here"}}},
		{"mode": "managed", "type": "azurerm_virtual_network", "values": {"name": "n",
			"tags": {"nearfar_run": "r", "nearfar_owner": "me@here"}}}],
		"child_modules": [{"resources": [{"mode": "managed", "type": "azurerm_resource_group", "values": {"name": "below",
			"tags": {"nearfar_run": "r", "nearfar_owner": "me@here"}}}]}]}}}`
	got, err := azureGroups([]byte(state), "r", "me@here")
	if want := []azureGroup{{"mine", "s-1"}, {"below", ""}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v (%v), want %+v", got, err, want)
	}
	if got, err := azureGroups([]byte(`{"format_version": "1.0"}`), "r", "me@here"); err != nil || len(got) > 0 {
		t.Errorf("an empty state has %+v (%v)", got, err)
	}
}
