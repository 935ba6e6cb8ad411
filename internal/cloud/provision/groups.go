package provision

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"nearfar/internal/cloud/audit"
)

// An azureGroup is a resource group of Azure that the module made for this run.
type azureGroup struct{ name, subscription string }

// azureGroups finds the resource groups in a state, as `tofu show -json` prints it, which have the tags of this run.
func azureGroups(shown []byte, run, owner string) ([]azureGroup, error) {
	type module struct {
		Resources []struct {
			Mode, Type string
			Values     struct {
				ID, Name string
				Tags     map[string]string
			}
		}
		Children []json.RawMessage `json:"child_modules"`
	}
	var state struct {
		Values struct {
			Root json.RawMessage `json:"root_module"`
		}
	}
	if err := json.Unmarshal(shown, &state); err != nil {
		return nil, err
	}
	var groups []azureGroup
	for waiting := []json.RawMessage{state.Values.Root}; len(waiting) > 0; waiting = waiting[1:] {
		if len(waiting[0]) == 0 {
			continue
		}
		var m module
		if err := json.Unmarshal(waiting[0], &m); err != nil {
			return nil, err
		}
		waiting = append(waiting, m.Children...)
		for _, r := range m.Resources {
			tags := r.Values.Tags
			if r.Mode != "managed" || r.Type != "azurerm_resource_group" || r.Values.Name == "" ||
				strings.HasPrefix(r.Values.Name, "-") || tags[audit.TagRun] != run || tags[audit.TagOwner] != owner {
				continue
			}
			g := azureGroup{name: r.Values.Name}
			// /subscriptions/SUBSCRIPTION/resourceGroups/NAME
			if parts := strings.Split(r.Values.ID, "/"); len(parts) > 2 && strings.EqualFold(parts[1], "subscriptions") {
				g.subscription = parts[2]
			}
			groups = append(groups, g)
		}
	}
	return groups, nil
}

// removeGroups deletes the resource groups of Azure that the module made for this run, with all that is in them. A
// group can have what the state does not know, such as a VM whose allocation failed, and what such a VM uses cannot be
// deleted alone. It says whether there was a group that is deleted.
func (p *Project) removeGroups(ctx context.Context, m maker) (did bool, err error) {
	t, ok := m.(*tool)
	if !ok || p.record == nil {
		return false, nil
	}
	if _, err := os.Stat(p.state()); err != nil {
		return false, nil // it is elsewhere: only the module knows where
	}
	shown, err := t.output(ctx, nil, "show", "-json", p.state())
	if err != nil {
		return false, err
	}
	groups, err := azureGroups(shown, p.name, p.record.Owner)
	if err != nil || len(groups) == 0 {
		return false, err
	}
	path, err := exec.LookPath(azName)
	if err != nil {
		return false, fmt.Errorf("the resource group %s is left: az group delete --name %[1]s deletes it with all that is "+
			"in it (az is not installed here)", groups[0].name)
	}
	for _, g := range groups {
		p.options.Note("deleting the resource group " + g.name + " with all that is in it")
		args := []string{"group", "delete", "--name", g.name, "--yes", "--only-show-errors", "--output", "none"}
		if g.subscription != "" {
			args = append(args, "--subscription", g.subscription)
		}
		seen := &said{}
		err := p.run(ctx, command{
			name: azName, path: path, args: args, env: os.Environ(), changes: true,
			problems: func(line []byte) { p.options.Note(seen.line(line, "")) },
		})
		if err != nil {
			return did, fmt.Errorf("az group delete --name %s: %w", g.name, err)
		}
		did = true
	}
	return did, nil
}
