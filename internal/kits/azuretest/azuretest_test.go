package azuretest

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"nearfar/internal/kits/cloudtest"
)

// The real az logs in, makes a group, lists it by its tag, and deletes it.
func TestAz(t *testing.T) {
	t.Parallel()
	c := New(t)
	c.Login()
	az := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), filepath.Join(cloudtest.Folder(t, "azure"), "az"), args...)
		cmd.Env = append(os.Environ(), c.Env()...)
		var out, problems strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &problems
		if err := cmd.Run(); err != nil {
			t.Fatalf("az %q: %v\n%s\n%q", args, err, problems.String(), c.Requests())
		}
		return out.String()
	}
	az("group", "create", "--name", "g", "--location", Location, "--tags", "k=v")
	if got := az("group", "list", "--tag", "k=v", "--query", "[].name", "--output", "tsv"); got != "g\n" {
		t.Errorf("groups with the tag: %q", got)
	}
	if got := az("group", "list", "--tag", "k=other", "--output", "tsv"); got != "" {
		t.Errorf("groups with another tag: %q", got)
	}
	az("group", "delete", "--name", "g", "--yes")
	if left := c.Resources(); len(left) > 0 {
		t.Errorf("left are %q", left)
	}
}

// The fake refuses what the service refuses, with the service's codes.
func TestRules(t *testing.T) {
	t.Parallel()
	c := New(t)
	const group = "/subscriptions/" + Subscription + "/resourceGroups/g"
	const network = group + "/providers/Microsoft.Network/"
	put := func(id string, properties object) string {
		t.Helper()
		body := object{"location": Location}
		if properties != nil {
			body["properties"] = properties
		}
		a := c.put(http.MethodPut, id, split(id), body)
		if a.failure != nil {
			return a.failure["code"].(string)
		}
		code, _ := at(a.asObject(), "error", "code").(string)
		return code
	}
	remove := func(id string) string {
		t.Helper()
		code, _ := at(c.delete(id, split(id)).asObject(), "error", "code").(string)
		return code
	}
	want := func(got, code string) {
		t.Helper()
		if got != code {
			t.Errorf("code %q, want %q", got, code)
		}
	}
	subnets := func(names ...string) object {
		all := []any{}
		for _, name := range names {
			all = append(all, object{"name": name, "properties": object{}})
		}
		return object{"subnets": all}
	}
	want(put("/subscriptions/"+Subscription+"/resourceGroups/ends-with.", nil), "InvalidResourceName")
	want(put(group, nil), "")
	want(put(group+"/providers/Microsoft.DevTestLab/schedules/s", nil), "MissingSubscriptionRegistration")
	want(put(network+"virtualNetworks/"+strings.Repeat("n", 65), nil), "InvalidResourceName")
	want(put(network+"virtualNetworks/net", subnets("a", "b")), "")
	want(put(network+"networkInterfaces/i", object{"ipConfigurations": []any{object{
		"name": "ip", "properties": object{"subnet": object{"id": network + "virtualNetworks/net/subnets/b"}},
	}}}), "")
	want(put(network+"virtualNetworks/net", subnets("a")), "InUseSubnetCannotBeDeleted")
	want(remove(network+"virtualNetworks/net"), "InUseSubnetCannotBeDeleted")
	want(put(network+"virtualNetworks/net", nil), "") // all stay
	want(put(network+"virtualNetworks/net", subnets("b")), "")
	if c.Resource(network+"virtualNetworks/net/subnets/a") != nil ||
		c.Resource(network+"virtualNetworks/net/subnets/b") == nil {
		t.Error("a PUT without subnet a does not delete it, or deletes b")
	}
	machine := func(size string) object {
		return object{
			"hardwareProfile": object{"vmSize": size},
			"networkProfile": object{
				"networkInterfaces": []any{object{"id": network + "networkInterfaces/i"}},
			},
		}
	}
	vm := group + "/providers/Microsoft.Compute/virtualMachines/"
	named := machine("small")
	named["osProfile"] = object{"computerName": strings.Repeat("c", 16), "windowsConfiguration": object{}}
	want(put(vm+"v", named), "InvalidParameter")
	c.Refuse("large", "AllocationFailed")
	want(put(vm+"v", machine("large")), "AllocationFailed")
	if c.Resource(vm+"v", "properties", "provisioningState") != "Failed" {
		t.Error("a machine whose allocation failed is not there")
	}
	want(remove(network+"networkInterfaces/i"), "NicInUse")
	want(remove(vm+"v"), "")
	want(remove(network+"networkInterfaces/i"), "")
	want(remove(group), "")
	if left := c.Resources(); len(left) > 0 {
		t.Errorf("left are %q", left)
	}
}

// asObject is the body of an answer; nil if it has none.
func (a answer) asObject() object {
	o, _ := a.body.(object)
	return o
}
