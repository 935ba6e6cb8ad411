//go:build linux

package e2e

import (
	"bytes"
	"errors"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/declare/check"
)

// outcomes are the outcomes of the trials of each arm, with the evidence of the last one. An arm has one expectation.
func outcomes(t *testing.T, a answer.Answer) (all map[string]map[check.Outcome]int, evidence map[string]string) {
	t.Helper()
	all, evidence = map[string]map[check.Outcome]int{}, map[string]string{}
	for _, trial := range trials(t, a) {
		if all[trial.Arm] == nil {
			all[trial.Arm] = map[check.Outcome]int{}
		}
		for _, j := range trial.Expect {
			all[trial.Arm][j.Outcome]++
			evidence[trial.Arm] = j.Evidence
		}
	}
	return all, evidence
}

// wantOutcome wants one outcome of all trials of an arm.
func wantOutcome(t *testing.T, a answer.Answer, arm string, want check.Outcome, words string) {
	t.Helper()
	all, evidence := outcomes(t, a)
	if len(all[arm]) != 1 || all[arm][want] == 0 || !strings.Contains(evidence[arm], words) {
		t.Errorf("arm %s: %v (%s), want %s", arm, all[arm], evidence[arm], want)
	}
	t.Logf("%s: %s: %s", arm, want, evidence[arm])
}

// unproved runs an experiment whose arms are not all proved, and returns its answer.
func unproved(t *testing.T, dir, file string, args ...string) answer.Answer {
	t.Helper()
	return unprovedBy(t, dir, func(file string) *exec.Cmd {
		args := append([]string{"run", "--force", "--progress", "plain", "-f", "json", file}, args...)
		cmd := exec.Command(program, args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+dir)
		return cmd
	}, file)
}

// unprovedBy is unproved with a command of its own for the file.
func unprovedBy(t *testing.T, dir string, command func(file string) *exec.Cmd, file string) answer.Answer {
	t.Helper()
	cmd := command(write(t, dir, file))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 4 {
		t.Fatalf("%s: %v, want exit code 4\n%s", strings.Join(cmd.Args, " "), err, stderr.Bytes())
	}
	return answerOf(t, out, dir)
}

const labEncapsulation = `
nearfar: v1
name: encapsulation
baseline: routed
arms:
  routed: {lab: {path: [bridge, router, bridge]}, expect: {encapsulation: vxlan}}
  plain: {lab: {path: [bridge]}, expect: {encapsulation: none}}
  vxlan: {lab: {path: [vtep, bridge, router, bridge, vtep]}, expect: {encapsulation: vxlan}}
  dlr: {lab: {path: [dlr, vtep, bridge, vtep, dlr]}, expect: {encapsulation: none}}
workloads:
  - {name: rr, tool: native, mode: rr, request: 64B, duration: 200ms, warmup: 20ms}
  - {name: udp, tool: native, mode: rr, protocol: udp, request: 64B, duration: 200ms, warmup: 20ms}
  - {name: bulk, tool: native, mode: stream, duration: 300ms, warmup: 20ms}
schedule: {blocks: 2, seed: 1}
`

// TestLabEncapsulation: what leaves the underlay devices of a lab proves and refutes what arms expect, in each trial.
func TestLabEncapsulation(t *testing.T) {
	t.Parallel()
	dir := workspace(t)
	a := unproved(t, dir, labEncapsulation)
	wantNoFailures(t, a)
	wantOutcome(t, a, "routed", check.Refuted, "in no tunnel")
	wantOutcome(t, a, "plain", check.Proved, "in no tunnel")
	wantOutcome(t, a, "vxlan", check.Proved, "in vxlan 769 (port 4789")
	wantOutcome(t, a, "dlr", check.Refuted, "in vxlan 1025 (port 4789")
	for _, trial := range trials(t, a) {
		if trial.Wire == nil || trial.Wire.Client == nil || len(trial.Wire.Client.Carried) != 1 {
			t.Errorf("trial %d of %s: %+v", trial.Trial, trial.Arm, trial.Wire)
		}
	}
}

var kubeEncapsulation = strings.NewReplacer("VXLAN", "{runtimeClassName: vxlan, resources: {}}", "POD",
	"{resources: {}}").Replace(`
nearfar: v1
name: encapsulation
baseline: pods
arms:
  pods: {kubernetes: {client: POD, server: POD}, expect: {encapsulation: vxlan}}
  plain: {kubernetes: {client: POD, server: POD, through: ClusterIP}, expect: {encapsulation: none}}
  vxlan: {kubernetes: {client: VXLAN, server: VXLAN}, expect: {encapsulation: vxlan}}
  same: {kubernetes: {client: VXLAN, server: VXLAN, nodes: same}, expect: {encapsulation: vxlan}}
workloads: [{name: rr, tool: native, mode: rr, request: 64B, duration: 200ms, warmup: 50ms}]
schedule: {blocks: 2, seed: 1}
`)

// encapsulation: pods on the nodes see what pods do not: VXLAN between the nodes in one pod network, and none in the
// other.
func (r *kubeRig) encapsulation() {
	t := r.t
	a := unproved(t, r.dir, kubeEncapsulation, "--kubeconfig", r.kubeconfig)
	wantNoFailures(t, a)
	r.nothingLeftOf(a)
	wantOutcome(t, a, "pods", check.Refuted, "in no tunnel")
	wantOutcome(t, a, "plain", check.Proved, "in no tunnel")
	wantOutcome(t, a, "vxlan", check.Proved, "in vxlan")
	wantOutcome(t, a, "same", check.Unknown, "no overlay carries it")
}

// tunnelled makes a VXLAN device on each of two hosts, over the link between them, with the addresses of the trials.
func (r *sshRig) tunnelled(client, server string, addresses [2]string) {
	r.t.Helper()
	names := [2]string{client, server}
	for i, name := range names {
		own, peer := r.hosts[name], r.hosts[names[1-i]]
		r.must(inSpace(own.space, func() error {
			route, err := netlink.RouteGet(net.ParseIP(peer.data))
			if err != nil {
				return err
			}
			below, err := netlink.LinkByIndex(route[0].LinkIndex)
			if err != nil {
				return err
			}
			attributes := netlink.NewLinkAttrs()
			attributes.Name, attributes.MTU = "tunnel", below.Attrs().MTU-50
			link := &netlink.Vxlan{
				LinkAttrs: attributes, VxlanId: 42, Port: 4789, SrcAddr: net.ParseIP(own.data),
				Group: net.ParseIP(peer.data), VtepDevIndex: below.Attrs().Index,
			}
			if err := netlink.LinkAdd(link); err != nil {
				return err
			}
			address, err := netlink.ParseAddr(addresses[i] + "/24")
			if err != nil {
				return err
			}
			return errors.Join(netlink.AddrAdd(link, address), netlink.LinkSetUp(link))
		}))
	}
}

const sshEncapsulation = `
nearfar: v1
name: encapsulation
hosts:
  client: {ssh: client, address: 10.99.0.1}
  server: {ssh: server, address: 10.99.0.2}
  client-below: {ssh: client, address: CLIENT}
  server-below: {ssh: server, address: SERVER}
arms:
  vxlan: {client: client, server: server, layers: {tunnel: 1}, expect: {encapsulation: vxlan}}
  none: {client: client, server: server, layers: {tunnel: 1}, expect: {encapsulation: none}}
  below: {client: client-below, server: server-below, layers: {tunnel: 0}, expect: {encapsulation: none}}
workloads: [{name: rr, tool: native, mode: rr, request: 64B, duration: 200ms, warmup: 20ms}]
schedule: {blocks: 2, seed: 1}
`

// TestEncapsulationBySSH: between hosts that ssh reaches, the packets below a tunnel of the hosts prove and refute what
// arms expect. Beside the tunnel, the hosts' devices lead out of containers, where plain packets prove nothing.
func TestEncapsulationBySSH(t *testing.T) {
	t.Parallel()
	r := newSSHRig(t, twoHosts())
	r.tunnelled("client", "server", [2]string{"10.99.0.1", "10.99.0.2"})
	a := unprovedBy(t, r.dir, func(file string) *exec.Cmd {
		cmd, _ := r.run(file)
		return cmd
	}, r.addressed(sshEncapsulation))
	wantNoFailures(t, a)
	wantOutcome(t, a, "vxlan", check.Proved, "in vxlan 42 (port 4789")
	wantOutcome(t, a, "none", check.Refuted, "in vxlan 42 (port 4789")
	wantOutcome(t, a, "below", check.Unknown, "one end of a veth pair")
	for _, trial := range trials(t, a) {
		if below := trial.Arm == "below"; trial.Wire == nil || trial.Wire.Client.Veth == below {
			t.Errorf("trial %d of %s: %+v", trial.Trial, trial.Arm, trial.Wire)
		}
	}
}
