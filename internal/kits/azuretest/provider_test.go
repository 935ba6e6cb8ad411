package azuretest

import (
	"strings"
	"testing"

	"nearfar/internal/kits/tofutest"
)

// The real azurerm makes the labs in the strict fake: what Azure refuses at first exists all the same and is in the
// state; a second attempt makes all; then there is nothing to do; more time would replace the machines; and the end
// leaves nothing.
func TestProvidersAzure(t *testing.T) {
	real := tofutest.NewReal(t, "azurerm")
	for name, c := range map[string]struct {
		lab, size string
		variables []string
		vms       int
	}{
		"zones":       {lab: "azure-zones", size: "Standard_D4as_v4", vms: 6},
		"ppg linux":   {lab: "azure-ppg", size: "Standard_D4as_v5", variables: []string{"TF_VAR_os=linux"}, vms: 8},
		"ppg windows": {lab: "azure-ppg", size: "Standard_D4as_v5", vms: 8},
	} {
		t.Run(name, func(t *testing.T) {
			cloud := New(t)
			env := append(append(tofutest.Variables(c.lab), cloud.Provider()...), "TF_VAR_location="+Location)
			module := real.Module(t, c.lab, append(env, c.variables...)...)
			cloud.Refuse(c.size, "AllocationFailed")
			said, err := module.Tofu("apply", "-auto-approve", "-input=false", "-no-color")
			if err == nil || !strings.Contains(said, "AllocationFailed") {
				t.Fatalf("apply without room: %v\n%s", err, said)
			}
			inState := strings.Count(module.Must("state", "list"), "virtual_machine.this[")
			if made := cloud.count("virtualMachines"); made == 0 || made != inState {
				t.Errorf("%d machines exist after a failure, and the state has %d", made, inState)
			}
			cloud.Refuse(c.size, "")
			module.Must("apply", "-auto-approve", "-input=false", "-no-color")
			if got := cloud.count("virtualMachines"); got != c.vms {
				t.Errorf("%d machines, want %d", got, c.vms)
			}
			module.Must("plan", "-detailed-exitcode", "-input=false", "-no-color")
			longer := module.Must("plan", "-input=false", "-no-color", "-var=nearfar_expires=2030-11-21T21:22:00Z")
			if strings.Count(longer, "must be replaced") < c.vms || !strings.Contains(longer, "~ custom_data") {
				t.Errorf("more time plans\n%s", longer)
			}
			module.Must("destroy", "-auto-approve", "-input=false", "-no-color")
			if left := cloud.Resources(); len(left) > 0 {
				t.Errorf("left are %q", left)
			}
		})
	}
}

// The real azurerm accepts the plans of all its labs, also with the longest name of a run.
func TestProvidersAzurePlan(t *testing.T) {
	real := tofutest.NewReal(t, "azurerm")
	cloud := New(t)
	for _, lab := range real.Labs() {
		for _, run := range []string{lab, strings.Repeat("a-Long.Name_", 8)} {
			for _, system := range []string{"linux", "windows"} {
				t.Run(lab+" "+system+" "+run[:6], func(t *testing.T) {
					env := append(append(tofutest.Variables(run), cloud.Provider()...), "TF_VAR_os="+system)
					real.Module(t, lab, env...).Must("plan", "-input=false", "-no-color")
				})
			}
		}
	}
}

// count is how many resources of a type of Microsoft.Compute there are.
func (c *Cloud) count(kind string) (n int) {
	for _, id := range c.Resources() {
		if c.Resource(id, "type") == "Microsoft.Compute/"+kind {
			n++
		}
	}
	return n
}
