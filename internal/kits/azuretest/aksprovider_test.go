package azuretest

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"nearfar/internal/kits/tofutest"
)

const aksLab = "aks-accelerated-networking"

// The real azurerm makes the lab of AKS in the strict fake, for Linux and for Windows: at first there is no room for
// one of its pools, and what Azure could not finish exists and is in the state; a second attempt makes all; then there
// is nothing to do; and the end leaves nothing, also of the group that AKS makes for the nodes.
func TestProvidersAKS(t *testing.T) {
	real := tofutest.NewReal(t, "azurerm")
	for _, c := range []struct{ name, system, refused, left string }{
		// The pool of AKS itself and one of the lab's have the size that is refused: the cluster fails.
		{name: "cluster", system: "linux", refused: "Standard_D4as_v5", left: "azurerm_kubernetes_cluster.this"},
		{
			name: "pool", system: "linux", refused: "Standard_A4_v2",
			left: `azurerm_kubernetes_cluster_node_pool.this["linoff"]`,
		},
		{
			name: "windows", system: "windows", refused: "Standard_A4_v2",
			left: `azurerm_kubernetes_cluster_node_pool.this["winoff"]`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			cloud := New(t)
			module := real.Module(t, aksLab, slices.Concat(tofutest.Variables(aksLab), cloud.Provider(), []string{
				"TF_VAR_location=" + Location, "TF_VAR_os=" + c.system,
			})...)
			cloud.Refuse(c.refused, "OverconstrainedAllocationRequest")
			said, err := module.Tofu("apply", "-auto-approve", "-input=false", "-no-color")
			if err == nil || !strings.Contains(said, "OverconstrainedAllocationRequest") {
				t.Fatalf("apply without room: %v\n%s", err, said)
			}
			if state := module.Must("state", "list"); !strings.Contains(state, c.left+"\n") {
				t.Errorf("%s exists after a failure, and the state has\n%s", c.left, state)
			}
			cloud.Refuse(c.refused, "")
			module.Must("apply", "-auto-approve", "-input=false", "-no-color")
			if got := cloud.count("virtualMachineScaleSets"); got != 3 {
				t.Errorf("%d scale sets, want 3", got)
			}
			if c.name != "cluster" {
				cloud.compareSent(c.system)
			}
			if said, err := module.Tofu("plan", "-detailed-exitcode", "-input=false", "-no-color"); err != nil {
				t.Errorf("a second plan is not empty:\n%s", said)
			}
			cloud.extended(module)
			module.Must("destroy", "-auto-approve", "-input=false", "-no-color")
			if left := cloud.Resources(); len(left) > 0 {
				t.Errorf("left are %q", left)
			}
		})
	}
}

// extended lets the machines exist for longer, as `nearfar up --extend` does: only tags change, also of the nodes.
func (c *Cloud) extended(module *tofutest.RealModule) {
	c.t.Helper()
	const later = "2030-11-21T21:22:00Z"
	said := module.Must("apply", "-auto-approve", "-input=false", "-no-color", "-var=nearfar_expires="+later)
	if !strings.Contains(said, "Resources: 0 added, 4 changed, 0 destroyed.") {
		c.t.Errorf("more time does\n%s", said)
	}
	for _, id := range c.Resources() {
		if got := c.Resource(id, "tags", "nearfar_expires"); got != later {
			c.t.Errorf("%s expires at %v", id, got)
		}
	}
}

// compareSent compares what azurerm sent last for the cluster and its pools with the recorded requests, which
// TestAKSLabAsSent repeats in every run.
func (c *Cloud) compareSent(system string) {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	got := map[string]object{}
	for id, body := range c.sent {
		id = strings.Replace(id, "/resourceGroups/nearfar-"+aksLab+"/", "/resourceGroups/g/", 1)
		got[id] = copied(body)
		if windows, ok := at(got[id], "properties", "windowsProfile").(object); ok && windows["adminPassword"] != nil {
			windows["adminPassword"] = "not recorded"
		}
	}
	data, err := json.MarshalIndent(got, "", "  ")
	if err != nil {
		c.t.Fatal(err)
	}
	data = append(data, '\n')
	if *update {
		if err := os.WriteFile(sentFile(system), data, 0o600); err != nil {
			c.t.Fatal(err)
		}
	}
	want, err := os.ReadFile(sentFile(system))
	if err != nil {
		c.t.Fatal(err)
	}
	if string(want) != string(data) {
		c.t.Errorf("azurerm sends what is not in %s; -update writes it:\n%s", sentFile(system), data)
	}
}
