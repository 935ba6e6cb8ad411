//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/vishvananda/netlink"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/kits/azuretest"
)

// A cloudTest is `make cloud-test` on labs/azure-zones. OpenTofu is real, and so are hosts, ssh and measurements. The
// provider of Azure is a stand-in with the real arguments, the hosts have the firmware of VMs and a metadata service of
// the test, and az is a script that answers as Azure would.
type cloudTest struct {
	*sshRig
	stand   *labStand
	program string
	// bin is the folder with az.
	bin string
}

// azStandIn answers what nearfar and the test on a real cloud ask.
const azStandIn = `#!/bin/sh
here=$(dirname "$0")
name= last=
for word; do
	[ "$last" != --name ] || name=$word
	last=$word
done
case "$1 $2" in
"account show") echo '{"id": "s", "state": "Enabled", "user": {"name": "me"}}' ;;
"vm list-skus") cat "$here/sizes.json" ;;
"group list" | "resource list") echo '[]' ;;
"vm show") cat "$here/$name.json" ;;
"ppg show") cat "$here/ppg.json" ;;
*) exit 1 ;;
esac
`

func newCloudTest(t *testing.T) *cloudTest {
	t.Helper()
	program := filepath.Join(t.TempDir(), "cloud-test")
	if out, err := exec.Command("go", "build", "-o", program, "nearfar/realcloud").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	wire := []experiment.Element{{Kind: experiment.Wire}}
	r := newSSHRig(t, sshPair{"set-client", "set-server", wire, experiment.PlacementSplit},
		sshPair{"zone-client", "zone-server", wire, experiment.PlacementSplit},
		sshPair{"group-client", "group-server", wire, experiment.PlacementSplit})
	c := &cloudTest{sshRig: r, stand: newLabStand(t, "azure-zones"), program: program, bin: t.TempDir()}
	r.must(os.WriteFile(filepath.Join(c.bin, "az"), []byte(azStandIn), 0o700))
	const provider = "/subscriptions/" + azuretest.Subscription + "/resourceGroups/g/providers/Microsoft.Compute/"
	const group = provider + "proximityPlacementGroups/near"
	aligned := map[string]string{"code": "ColocationStatus/Aligned"}
	var members []any
	values := map[string]map[string]string{}
	for name, h := range r.hosts {
		azureAddresses(name, name, h.data, values) // its name in ssh's configuration
		id := provider + "virtualMachines/" + name
		vm := map[string]any{"id": id, "vmId": "vm-of-" + name}
		if strings.HasPrefix(name, "group-") {
			vm["proximityPlacementGroup"] = map[string]string{"id": group}
			members = append(members, map[string]any{"id": id, "colocationStatus": aligned})
		}
		c.answers(name, vm)
		zone := map[string]string{"zone-client": "1", "zone-server": "3"}[name]
		c.isVM(h, map[string]string{
			"location": "westeurope", "zone": zone, "vmSize": "Standard_D4as_v4", "vmId": "vm-of-" + name,
			"subscriptionId": azuretest.Subscription, "resourceId": id,
		})
	}
	c.answers("ppg", map[string]any{"id": group, "colocationStatus": aligned, "virtualMachines": members})
	c.stand.providers.Values(values)
	c.change(
		"    ssh_from: ${SSH_FROM}\n",
		"    ssh_from: ${SSH_FROM}\n    admin: root\n  prices: {Standard_D4as_v4: 0.1}\n",
		// A host in a namespace has no virtual function.
		"accelerated-networking: true", "mtu: 1500",
		"  - {name: sockperf-1400, tool: sockperf, mode: rr, protocol: tcp, request: 1400B, duration: 5s}\n", "",
		"  - {name: sockperf-350, tool: sockperf, mode: rr, protocol: tcp, request: 350B, duration: 5s}\n", "",
		"  - {name: bulk, tool: iperf3, duration: 5s}\n", "",
		"  - {name: rr-350, tool: native, mode: rr, request: 350B, duration: 5s}\n", "",
		"duration: 5s", "duration: 300ms, warmup: 0")
	return c
}

// answers writes what az says of something.
func (c *cloudTest) answers(name string, value any) {
	c.t.Helper()
	text, err := json.Marshal(value)
	c.must(err)
	c.must(os.WriteFile(filepath.Join(c.bin, name+".json"), text, 0o600))
}

// isVM gives a host the firmware of Azure's VMs, and a metadata service that answers with a document.
func (c *cloudTest) isVM(h *sshHost, document map[string]string) {
	c.t.Helper()
	folder := filepath.Join(c.dir, "firmware-"+h.name)
	c.must(os.Mkdir(folder, 0o755))
	for name, text := range map[string]string{
		"sys_vendor": "Microsoft Corporation", "chassis_asset_tag": "7783-7084-3265-9085-8269-3286-77",
	} {
		c.must(os.WriteFile(filepath.Join(folder, name), []byte(text+"\n"), 0o644))
	}
	c.must(h.sshd.Process.Kill())
	<-h.ended
	c.serve(h)
	var listener net.Listener
	c.must(inSpace(h.space, func() error {
		lo, err := netlink.LinkByName("lo")
		if err != nil {
			return err
		}
		address, err := netlink.ParseAddr("169.254.169.254/32")
		if err != nil {
			return err
		}
		if err := netlink.AddrAdd(lo, address); err != nil {
			return err
		}
		if err := netlink.LinkSetUp(lo); err != nil {
			return err
		}
		listener, err = net.Listen("tcp4", "169.254.169.254:80")
		return err
	}))
	text, err := json.Marshal(document)
	c.must(err)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Path != "/metadata/instance/compute" || q.Header.Get("Metadata") != "true" {
			http.NotFound(w, q)
			return
		}
		_, _ = w.Write(text) // the host asks again for the next facts
	})}
	go func() { _ = server.Serve(listener) }()
	c.t.Cleanup(func() { _ = server.Close() })
}

// change replaces texts of the lab's experiment. Each must be there.
func (c *cloudTest) change(pairs ...string) {
	c.t.Helper()
	file := filepath.Join(c.stand.lab, "made.yaml")
	text, err := os.ReadFile(file)
	c.must(err)
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(string(text), pairs[i]) {
			c.t.Fatalf("%s has no %q", file, pairs[i])
		}
		text = []byte(strings.ReplaceAll(string(text), pairs[i], pairs[i+1]))
	}
	c.must(os.WriteFile(file, text, 0o600))
}

// start starts the program with further arguments.
func (c *cloudTest) start(args ...string) *running {
	c.t.Helper()
	args = append([]string{
		fmt.Sprintf("--net=/proc/%d/fd/%d", os.Getpid(), c.controller.Fd()), "--", c.program, "-provider", "azure",
		"-nearfar", program, "-labs", c.stand.dir, "-folder", "work", "-ssh-config", c.config, "-ready", "0s",
	}, args...)
	cmd := exec.Command("nsenter", args...)
	cmd.Dir, cmd.Env = c.dir, c.env()
	return startRunning(c.t, cmd)
}

// env is the environment of the program.
func (c *cloudTest) env() []string {
	return append(c.stand.env(), "ARM_SUBSCRIPTION_ID="+azuretest.Subscription,
		"PATH="+c.bin+string(os.PathListSeparator)+c.stand.providers.Path())
}

// ends waits for the end of all that the program does. The exit code must be as given, and the texts must be there.
func (c *cloudTest) ends(r *running, code int, says ...string) {
	c.t.Helper()
	if got := r.waitLong(); got != code {
		c.t.Fatalf("exit code %d, want %d\n%s", got, code, r.said())
	}
	for _, text := range says {
		if !strings.Contains(r.said(), text) {
			c.t.Errorf("it does not say %q:\n%s", text, r.said())
		}
	}
}

// nothingLeft checks that no resource and no record is left.
func (c *cloudTest) nothingLeft() {
	c.t.Helper()
	if left := c.stand.providers.Resources(); len(left) > 0 {
		c.t.Errorf("resources are left: %+v", left)
	}
	if records := glob(c.t, filepath.Join(c.dir, "work", "*", ".nearfar", "*", "record.json")); len(records) > 0 {
		c.t.Errorf("records are left: %q", records)
	}
	if got := c.stand.must(0, "ls").printed(); got != "Nothing is up.\n" {
		c.t.Errorf("ls prints %q", got)
	}
}

// `make cloud-test` as a whole: nothing is made above the limit or if it cannot be checked, and whatever happens
// afterwards, everything is deleted.
func TestCloudTest(t *testing.T) {
	t.Parallel()
	c := newCloudTest(t)
	agreed := []string{"-limit", "5", "-price", "1"}

	// What the provider would refuse is known before anything costs money. What nobody can say stops nothing.
	c.answers("sizes", []any{map[string]any{
		"name": "Standard_D4as_v4", "family": "standardDASv4Family", "restrictions": []any{map[string]any{
			"type": "Location", "reasonCode": "NotAvailableForSubscription",
		}},
	}})
	c.ends(c.start(agreed...), 2, "up --check", "would be refused: azure westeurope, size: Standard_D4as_v4: restricted",
		"not looked at: azure westeurope, quota", "nothing was made")
	c.nothingLeft()
	c.must(os.Remove(filepath.Join(c.bin, "sizes.json")))

	c.ends(c.start("-limit", "0.5"), 2, "In all at least $0.6", "more than the limit of $0.50")
	c.ends(c.start("-limit", "5"), 2, "cannot be checked", "PRICE")
	c.nothingLeft()

	c.ends(c.start(agreed...), 0, "at most $1.10 of $5.00", "if this program is killed",
		"complete, everything that is expected is proved",
		"nothing has the tag nearfar_run=cloudtest-azure-zones", "azure-zones on azure: passed")
	c.nothingLeft()

	interrupted := c.start(agreed...)
	interrupted.says("up --yes")
	interrupted.says("block 2/")
	interrupted.signal(syscall.SIGINT)
	c.ends(interrupted, 130, "interrupted: what was made is deleted now", "nothing has the tag")
	c.nothingLeft()

	killed := c.start(agreed...)
	killed.says("up --yes")
	killed.says("block 2/")
	killed.signal(syscall.SIGKILL)
	c.ends(killed, -1) // also of nearfar, which goes on
	remedy := program + " down work/azure-zones/made.yaml"
	c.ends(c.start(agreed...), 2, "delete them with: "+remedy)
	if len(c.stand.providers.Resources()) == 0 {
		t.Error("SIGKILL leaves nothing that could be deleted")
	}
	down := exec.Command(program, "down", "work/azure-zones/made.yaml")
	down.Dir, down.Env = c.dir, c.env()
	c.ends(startRunning(t, down), 0)
	c.nothingLeft()

	c.change("mtu: 1500", "mtu: 1400")
	c.ends(c.start(agreed...), 1, "mtu 1400 is refuted in", "nearfar run: exit status 4", "nothing has the tag")
	c.nothingLeft()
	noCanary(t, c.dir)
}
