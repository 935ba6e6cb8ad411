package azuretest

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nearfar/internal/kits/cloudtest"
	"nearfar/internal/kits/moduleroot"
)

// A lab is a copy of the scripts of labs/azure-ppg, with an az that notes its arguments.
type lab struct {
	t      *testing.T
	cloud  *Cloud
	folder string
}

// latteHash is made up.
const latteHash = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

const passwordCanary = "CANARY-Password-1!"

func newLab(t *testing.T) *lab {
	t.Helper()
	l := &lab{t: t, cloud: New(t), folder: t.TempDir()}
	l.cloud.Login()
	root, err := moduleroot.Find()
	if err == nil {
		err = os.CopyFS(filepath.Join(l.folder, "lab"), os.DirFS(filepath.Join(root, "labs", "azure-ppg")))
	}
	if err != nil {
		t.Fatal(err)
	}
	l.write("az", fmt.Sprintf("#!/bin/sh\necho \"$*\" >>%s\nexec %s \"$@\"\n", l.path("arguments"),
		filepath.Join(cloudtest.Folder(t, "azure"), "az")))
	if err := os.Chmod(l.path("az"), 0o700); err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *lab) path(name string) string { return filepath.Join(l.folder, name) }

func (l *lab) write(name, text string) {
	l.t.Helper()
	if err := os.WriteFile(l.path(name), []byte(text), 0o600); err != nil {
		l.t.Fatal(err)
	}
}

func (l *lab) read(name string) string {
	l.t.Helper()
	text, err := os.ReadFile(l.path(name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		l.t.Fatal(err)
	}
	return string(text)
}

// run runs a script for an owner, and gives what it says.
func (l *lab) run(script, owner string, code int) string {
	l.t.Helper()
	cmd := exec.CommandContext(l.t.Context(), "sh", filepath.Join(l.folder, "lab", "az", script))
	cmd.Env = slices.Concat(os.Environ(), l.cloud.Env(), []string{
		"PATH=" + l.folder + ":" + os.Getenv("PATH"), "NEARFAR_OWNER=" + owner, "NEARFAR_RUN=azure-ppg",
		"NEARFAR_EXPIRES=2026-11-21T19:22:00Z", "NEARFAR_HOSTS=" + l.path("hosts.json"),
		"admin_password=" + passwordCanary, "public_key=ssh-ed25519 AAAA/b+c= me@here", "ssh_from=203.0.113.7/32",
		"latte_sha256=" + latteHash, "location=" + Location, `arms=["proximity-accelerated"]`,
	})
	out, err := cmd.CombinedOutput()
	if got := cmd.ProcessState.ExitCode(); got != code {
		l.t.Fatalf("%s: exit code %d, want %d (%v)\n%s", script, got, code, err, out)
	}
	if strings.Contains(string(out)+l.read("arguments"), passwordCanary) {
		l.t.Errorf("%s shows the password:\n%s", script, out)
	}
	return string(out)
}

// A group of another owner is neither used nor deleted.
func TestLabLeavesOthers(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	const group = "/subscriptions/" + Subscription + "/resourceGroups/nearfar-azure-ppg"
	l.cloud.Put(group, map[string]string{"nearfar_run": "azure-ppg", "nearfar_owner": "somebody@else"})
	if said := l.run("up.sh", "me@here", 1); !strings.Contains(said, "does not have the tags of this run") {
		t.Errorf("up.sh in the group of somebody else says %q", said)
	}
	if said := l.run("down.sh", "me@here", 0); !strings.Contains(said, "it stays") || len(l.cloud.Resources()) != 1 {
		t.Errorf("down.sh says %q, and leaves %q", said, l.cloud.Resources())
	}
}

// Without the hash of latte, and with one that is none, nothing is made.
func TestLabWantsHashOfLatte(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for _, hash := range []string{"", "latest", latteHash[1:], latteHash + "0"} {
		cmd := exec.CommandContext(t.Context(), "sh", filepath.Join(l.folder, "lab", "az", "up.sh"))
		cmd.Env = []string{
			"PATH=" + l.folder + ":" + os.Getenv("PATH"), "NEARFAR_OWNER=o", "NEARFAR_RUN=r", "NEARFAR_EXPIRES=e",
			"NEARFAR_HOSTS=" + l.path("hosts.json"), "admin_password=p", "public_key=k", "ssh_from=s", "latte_sha256=" + hash,
		}
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "latte_sha256") || l.read("arguments") != "" {
			t.Errorf("with the hash %q: %v, az is called with %q\n%s", hash, err, l.read("arguments"), out)
		}
	}
}

// down.sh deletes only the resource group of the run, with its content. It can be repeated.
func TestLabDown(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	const groups = "/subscriptions/" + Subscription + "/resourceGroups/"
	l.cloud.Put(groups+"nearfar-azure-ppg", map[string]string{"nearfar_run": "azure-ppg", "nearfar_owner": "me@here"})
	l.cloud.Put(groups+"nearfar-azure-ppg/providers/Microsoft.Compute/disks/without-tags", nil)
	l.cloud.Put(groups+"other", map[string]string{"nearfar_run": "other", "nearfar_owner": "me@here"})
	for range 2 {
		l.run("down.sh", "me@here", 0)
		if left := l.cloud.Resources(); !slices.Equal(left, []string{groups + "other"}) {
			t.Errorf("left are %q", left)
		}
	}
}

// up.sh makes one arm of labs/azure-ppg with the real az. After a failed allocation, the machines are there: the next
// attempt deletes them and makes them again, in the same group and network. A third one makes nothing. Only the answers
// of Azure are fake: no machine runs.
func TestLabUp(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	const (
		group = "/subscriptions/" + Subscription + "/resourceGroups/nearfar-azure-ppg"
		vm    = group + "/providers/Microsoft.Compute/virtualMachines/proximity-accelerated-back"
		size  = "Standard_D4as_v5"
	)
	l.cloud.Refuse(size, "OverconstrainedAllocationRequest")
	if said := l.run("up.sh", "me@here", 1); !strings.Contains(said, "OverconstrainedAllocationRequest") {
		t.Errorf("up.sh without room says:\n%s", said)
	}
	if state := l.cloud.Resource(vm, "properties", "provisioningState"); state != "Failed" {
		t.Errorf("the machine that was refused is %v", state)
	}
	l.cloud.Refuse(size, "")
	if said := l.run("up.sh", "me@here", 0); strings.Count(said, ": deleting it\n") != 2 {
		t.Errorf("the second up.sh says:\n%s", said)
	}
	l.checkMade(group)
	before := l.cloud.Resources()
	if said := l.run("up.sh", "me@here", 0); strings.Count(said, "is there\n") != 2 ||
		!slices.Equal(before, l.cloud.Resources()) {
		t.Errorf("the third up.sh says:\n%s\nthere are %q, before %q", said, l.cloud.Resources(), before)
	}
}

// checkMade checks what up.sh has made, and the hosts that it has written.
func (l *lab) checkMade(group string) {
	l.t.Helper()
	var hosts map[string]struct{ SSH, Address, Command string }
	if err := json.Unmarshal([]byte(l.read("hosts.json")), &hosts); err != nil {
		l.t.Fatalf("%v\n%s", err, l.read("hosts.json"))
	}
	for _, name := range []string{"proximity-accelerated-front", "proximity-accelerated-back"} {
		user, public, _ := strings.Cut(hosts[name].SSH, "@")
		_, publicErr := netip.ParseAddr(public)
		_, privateErr := netip.ParseAddr(hosts[name].Address)
		if user != "azureuser" || publicErr != nil || privateErr != nil ||
			hosts[name].Command != `C:\nearfar\nearfar-agent.exe --stdio` {
			l.t.Errorf("host %s is %+v", name, hosts[name])
		}
		vm := group + "/providers/Microsoft.Compute/virtualMachines/" + name
		if got := l.cloud.Password(vm); got != passwordCanary {
			l.t.Errorf("%s was made with the password %q", name, got)
		}
		computer := l.cloud.Resource(vm, "properties", "osProfile", "computerName")
		if text, _ := computer.(string); len(text) > 15 || !strings.HasPrefix(text, "ppg-an-") {
			l.t.Errorf("%s has the computer name %v", name, computer)
		}
		encoded, _ := l.cloud.Resource(vm, "properties", "osProfile", "customData").(string)
		setup, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil || !strings.Contains(string(setup), "if ($hash -ne '"+latteHash+"') {") ||
			strings.Contains(string(setup), "${") {
			l.t.Errorf("%s does not compare the hash of latte (%v):\n%s", name, err, setup)
		}
		for _, kind := range []string{"proximityPlacementGroup", "availabilitySet"} {
			if l.cloud.Resource(vm, "properties", kind, "id") == nil {
				l.t.Errorf("%s has no %s", name, kind)
			}
		}
		nic := group + "/providers/Microsoft.Network/networkInterfaces/" + name
		if l.cloud.Resource(nic, "properties", "enableAcceleratedNetworking") != true {
			l.t.Errorf("%s has no accelerated networking", name)
		}
	}
	if len(hosts) != 2 {
		l.t.Errorf("hosts are %v", hosts)
	}
	kinds := map[string]int{}
	for _, id := range l.cloud.Resources() {
		kinds[fmt.Sprint(l.cloud.Resource(id, "type"))]++
		if l.cloud.Resource(id, "type") == "Microsoft.DevTestLab/schedules" {
			continue // az gives these no tags; they are in the group, which has them
		}
		if l.cloud.Resource(id, "tags", "nearfar_run") != "azure-ppg" ||
			l.cloud.Resource(id, "tags", "nearfar_owner") != "me@here" ||
			l.cloud.Resource(id, "tags", "nearfar_expires") != "2026-11-21T19:22:00Z" {
			l.t.Errorf("%s has the tags %v", id, l.cloud.Resource(id, "tags"))
		}
	}
	for kind, want := range map[string]int{
		"virtualMachines": 2, "disks": 2, "availabilitySets": 2, "proximityPlacementGroups": 1,
	} {
		if got := kinds["Microsoft.Compute/"+kind]; got != want {
			l.t.Errorf("%d %s, want %d: %v", got, kind, want, kinds)
		}
	}
}

// sizes.sh chooses sizes that the subscription may use and whose quotas suffice, with 4 CPUs for both pools.
func TestSizesOfPools(t *testing.T) {
	t.Parallel()
	root, err := moduleroot.Find()
	if err != nil {
		t.Fatal(err)
	}
	cloud := New(t)
	cloud.Login()
	for name, c := range map[string]struct {
		restricted []string
		used       map[string]int
		code       int
		says       string
	}{
		"restricted": {
			restricted: []string{"Standard_D4as_v5"},
			says:       "TF_VAR_size_with=Standard_D4s_v5 TF_VAR_size_without=Standard_A4_v2\n",
		},
		"no quota": {
			used: map[string]int{"standardDASv5Family": 89, "standardAv2Family": 93},
			says: "TF_VAR_size_with=Standard_D4s_v5 TF_VAR_size_without=Standard_B4ms\n",
		},
		"none without": {
			restricted: []string{"Standard_A4_v2", "Standard_B4ms"}, used: map[string]int{"cores": 80}, code: 1,
			says: "no size with 4 CPUs and accelerated networking False can be used in westeurope",
		},
	} {
		t.Run(name, func(t *testing.T) {
			cloud.Restrict(c.restricted...)
			cloud.Use(c.used)
			cmd := exec.CommandContext(t.Context(), "sh",
				filepath.Join(root, "labs", "aks-accelerated-networking", "sizes.sh"), Location)
			cmd.Env = slices.Concat(os.Environ(), cloud.Env())
			out, err := cmd.CombinedOutput()
			if got := cmd.ProcessState.ExitCode(); got != c.code || !strings.Contains(string(out), c.says) {
				t.Errorf("exit code %d (%v), want %d and %q:\n%s", got, err, c.code, c.says, out)
			}
		})
	}
}
