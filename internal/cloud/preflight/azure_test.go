package preflight

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"nearfar/internal/cloud/cloudtool"
	"nearfar/internal/kits/azuretest"
)

// today is when the tests look.
func today() time.Time { return time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC) }

// wantCheck looks for a check by the beginning of its subject.
func wantCheck(t *testing.T, all []Check, kind, about string, status Status, found string) {
	t.Helper()
	i := slices.IndexFunc(all, func(c Check) bool { return c.Kind == kind && strings.HasPrefix(c.About, about) })
	switch {
	case i < 0:
		t.Errorf("there is no check of %s %q", kind, about)
	case all[i].Status != status || !strings.Contains(all[i].Found, found):
		t.Errorf("%s %q is %q (%s), want %q and %q", kind, about, all[i].Status, all[i].Found, status, found)
	case status == Refused && all[i].Do == "" && kind != checkRights:
		t.Errorf("%s %q does not say what helps", kind, about)
	}
}

// onlyUnknown fails for checks that were not made, but those about capacity, which nobody can make.
func onlyUnknown(t *testing.T, all []Check, further ...string) {
	t.Helper()
	for _, c := range all {
		if c.Status == Unknown && c.Kind != checkCapacity && !slices.Contains(further, c.About) {
			t.Errorf("not looked at: %+v", c)
		}
	}
}

// The real az asks the fake of Azure about a lab, in a subscription that has not all that it takes.
func TestAzureWithAz(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts az, which takes seconds")
	}
	cloud := azuretest.New(t)
	cloud.Login()
	for _, one := range cloud.Env() {
		name, value, _ := strings.Cut(one, "=")
		t.Setenv(name, value)
	}
	cloud.RestrictZones("Standard_D4as_v4", "3")
	cloud.Use(map[string]int{"standardDASv4Family": 90, "StandardSkuPublicIpAddresses": 18})
	cloud.Allow(azuretest.Role{Actions: []string{"*"}, NotActions: []string{"Microsoft.Network/publicIPAddresses/*"}})
	const assignment = "/providers/Microsoft.Management/managementGroups/m/providers/" +
		"Microsoft.Authorization/policyAssignments/no-public"
	cloud.Deny(map[string]string{"Microsoft.Network/publicIPAddresses": assignment})
	w := wantsOf(t, "azure-zones")
	w.Places[0].Part, w.Places[0].Region = azuretest.Subscription, azuretest.Location
	w.Places[0].Clusters = []string{"1.35", "1.20"}
	requests := len(cloud.Requests())
	all := Checker{Now: today(), Limit: 20 * time.Minute}.Check(t.Context(), w) // the machine can be busy
	onlyUnknown(t, all)
	wantCheck(t, all, checkSize, "Standard_D4as_v4 in zone 3", Refused, "NotAvailableForSubscription")
	wantCheck(t, all, checkSize, "Standard_D4as_v4 in zone 1", OK, "4 vCPUs")
	wantCheck(t, all, checkQuota, "cores", OK, "0 of 100 are used, and 24 more are wanted")
	wantCheck(t, all, checkQuota, "standardDASv4Family", Refused,
		"90 of 100 are used, and 24 more are wanted: 14 too many")
	wantCheck(t, all, checkQuota, "StandardSkuPublicIpAddresses", Refused, "4 too many")
	wantCheck(t, all, checkQuota, "StaticPublicIPAddresses", OK, "0 of 20 are used, and 6 more are wanted")
	wantCheck(t, all, checkRights, "Microsoft.Network/publicIPAddresses/write", Refused, "")
	wantCheck(t, all, checkRights, "Microsoft.Network/virtualNetworks/write", OK, "")
	wantCheck(t, all, checkPolicy, "a public address", Refused, assignment)
	wantCheck(t, all, checkPolicy, "an interface", OK, "")
	wantCheck(t, all, checkProvider, "Microsoft.DevTestLab", OK, "the module registers it")
	wantCheck(t, all, checkImage, "Canonical:ubuntu-24_04-lts:server:latest", OK, "V2")
	wantCheck(t, all, checkVersion, "Kubernetes 1.35", OK, "")
	wantCheck(t, all, checkVersion, "Kubernetes 1.20", Refused, "AKS offers 1.35")
	wantCheck(t, all, checkCapacity, "room", Unknown, "no provider says")
	if all[0].Status != Refused || all[len(all)-1].Status != OK {
		t.Errorf("the order is %v ... %v", all[0], all[len(all)-1])
	}
	for _, r := range cloud.Requests()[requests:] {
		method, path, _ := strings.Cut(r, " ")
		if method != "GET" && !strings.HasSuffix(path, "/token") && !strings.HasSuffix(path, "checkPolicyRestrictions") {
			t.Errorf("it is not read-only: %s", r)
		}
	}
}

// Who is not logged in, and without az, nothing was looked at.
func TestAzureNobody(t *testing.T) {
	w := wantsOf(t, "azure-ppg")
	for text, run := range map[string]cloudtool.Runner{
		"az is not installed": func(context.Context, string, ...string) ([]byte, error) {
			return cloudtool.Run(t.Context(), 1, "no-such-program-of-a-cloud")
		},
		"log in with: az login": func(context.Context, string, ...string) ([]byte, error) {
			return nil, &cloudtool.FailedError{Err: os.ErrPermission, Said: "Please run 'az login' to setup account."}
		},
	} {
		all := Checker{Now: today(), Run: run}.Check(t.Context(), w)
		wantCheck(t, all, checkLogin, "the subscription, and all other questions", Unknown, text)
		if n := Count(all, Refused); n > 0 || Count(all, Unknown) != 2 {
			t.Errorf("%d would be refused: %v", n, all)
		}
	}
}

func TestMatches(t *testing.T) {
	for pattern, want := range map[string]bool{
		"*": true, "*/write": true, "Microsoft.Compute/*": true, "microsoft.compute/virtualmachines/write": true,
		"Microsoft.Compute/*/write": true, "Microsoft.Compute/virtualMachines/read": false, "*/read": false,
		"Microsoft.Network/*": false, "": false, "Microsoft.Compute/*/virtualMachines/*/x": false,
	} {
		if got := matches([]string{pattern}, "Microsoft.Compute/virtualMachines/write"); got != want {
			t.Errorf("%q matches: %v", pattern, got)
		}
	}
}

// Rules of sizes that need no service.
func TestAzureFits(t *testing.T) {
	yes := true
	size := azureSize{Name: "Standard_A4_v2"}
	size.Capabilities = append(size.Capabilities, struct{ Name, Value string }{"AcceleratedNetworkingEnabled", "False"})
	size.LocationInfo = append(size.LocationInfo, struct{ Zones []string }{[]string{"1", "2"}})
	restricted := size
	restricted.Restrictions = append(restricted.Restrictions, struct {
		Type, ReasonCode string
		RestrictionInfo  struct{ Zones []string }
	}{Type: "Location", ReasonCode: "QuotaId"})
	for _, c := range []struct {
		size  azureSize
		there bool
		m     Machine
		found string
	}{
		{azureSize{}, false, Machine{}, "no such size"},
		{restricted, true, Machine{}, "QuotaId"},
		{size, true, Machine{Zone: "3"}, "offered in the zones [1 2] alone"},
		{size, true, Machine{Accelerated: &yes, Resource: "vm"}, "no accelerated networking, which vm wants"},
	} {
		if status, found, do := azureFits(c.size, c.there, c.m); status != Refused || do == "" ||
			!strings.Contains(found, c.found) {
			t.Errorf("%v: %s, want %q", status, found, c.found)
		}
	}
	if status, found, _ := azureFits(size, true, Machine{Zone: "1"}); status != OK {
		t.Errorf("%s: %s", status, found)
	}
}
