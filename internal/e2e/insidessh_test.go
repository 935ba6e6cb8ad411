//go:build linux

package e2e

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/declare/experiment"
	declared "nearfar/internal/declare/inside"
	"nearfar/internal/declare/result"
)

// rulesOfPairs are how many rules the clients' firewalls have in TestInsideSSH, by pair.
func rulesOfPairs() []int { return []int{0, 100, 1000} }

// TestInsideSSH watches round trips between hosts that are reached by ssh, as root. They are namespaces of one kernel,
// which sees whole round trips. Three clients have 0, 100 and 1000 rules without connection tracking, so that each
// packet meets all of them: these take their time where the client sends and where it receives, and nowhere else.
func TestInsideSSH(t *testing.T) {
	needsWatching(t)
	var pairs []sshPair
	for _, rules := range rulesOfPairs() {
		pairs = append(pairs, sshPair{
			fmt.Sprint("client", rules, "x"), fmt.Sprint("server", rules, "x"),
			[]experiment.Element{{Kind: experiment.Bridge}}, experiment.PlacementShared,
		})
	}
	r := newSSHRig(t, pairs...)
	text := "nearfar: v1\nname: inside-ssh\nbaseline: rules0\nhosts:\n"
	arms := "arms:\n"
	for i, p := range pairs {
		r.addRules(p.client, rulesOfPairs()[i])
		for _, host := range []string{p.client, p.server} {
			text += fmt.Sprintf("  %s: {ssh: %[1]s, address: %s}\n", host, r.hosts[host].data)
		}
		arms += fmt.Sprintf("  rules%d: {client: %s, server: %s, layers: {firewall: %[1]d}}\n", rulesOfPairs()[i],
			p.client, p.server)
	}
	text += arms + r.placed(`workloads:
  - {name: rr, tool: native, mode: rr, inside: true, duration: 300ms, warmup: 50ms, placement: ONE}
schedule: {blocks: 5, baseline_repeats: 1, seed: 1}
`)
	way := wayOf([]hop{bridged("namespace 1")})
	wantTruthOf(t, func(int) answer.Answer {
		cmd, mark := r.run(write(t, r.dir, text))
		stdout, _ := r.answered(cmd)
		r.wantNothingLeft(leftLimit)
		if left := marked(t, mark); len(left) > 0 {
			t.Errorf("left on nearfar's side: %v", left)
		}
		return answerOf(t, stdout, r.dir)
	}, func(a answer.Answer) (wrong []string) {
		in := insideOf(t, a)
		for _, arm := range in.Arms {
			wrong = append(wrong, wantSeen(t, arm, way)...)
		}
		hundred := addedIn(t, in, "rules100", atTheClient, &wrong)
		thousand := addedIn(t, in, "rules1000", atTheClient, &wrong)
		if ratio := thousand / hundred; ratio < 5 || ratio > 20 {
			wrong = append(wrong, fmt.Sprintf("1000 rules take %.2f us, and 100 take %.2f us", thousand*1e6, hundred*1e6))
		}
		others := wantNowhereElse(t, in, "rules1000", atTheClient, thousand, &wrong)
		if math.Abs(others) > thousand/2 {
			wrong = append(wrong, fmt.Sprintf("1000 rules add %.2f us where they are, and %.2f us elsewhere", thousand*1e6,
				others*1e6))
		}
		return wrong
	})
}

// TestInsideClocksOfPrograms: the programs of two hosts have clocks that are hours apart, in time namespaces. No clock
// of a program is in the times of elements: the path is seen as ever, each time is one of the kernel's own clock, and
// their sum is the round trip that the client measures with its clock.
func TestInsideClocksOfPrograms(t *testing.T) {
	needsWatching(t)
	if _, err := os.Stat("/proc/self/ns/time"); err != nil {
		t.Skipf("the kernel has no time namespaces: %v", err)
	}
	r := emptySSHRig(t)
	pair := twoHosts()
	pair.path, pair.placement = []experiment.Element{{Kind: experiment.Bridge}}, experiment.PlacementShared
	r.network([]sshPair{pair})
	r.accounts()
	for i, name := range []string{pair.client, pair.server} {
		r.hosts[name].ahead = 10000 * (i + 1)
		r.serve(r.hosts[name])
		r.wantAhead(r.hosts[name])
	}
	text := r.addressed(r.placed(`
nearfar: v1
name: clocks
hosts:
  client: {ssh: client, address: CLIENT}
  server: {ssh: server, address: SERVER}
arms:
  ssh: {client: client, server: server}
workloads:
  - {name: rr, tool: native, mode: rr, inside: true, duration: 300ms, warmup: 50ms, placement: ONE}
schedule: {blocks: 5, seed: 1}
`))
	wantTruthOf(t, func(int) answer.Answer {
		cmd, _ := r.run(write(t, r.dir, text))
		stdout, _ := r.answered(cmd)
		return answerOf(t, stdout, r.dir)
	}, func(a answer.Answer) (wrong []string) {
		arm := insideOf(t, a).Arms[0]
		wrong = wantSeen(t, arm, wayOf([]hop{bridged("namespace 1")}))
		if arm.Between != nil {
			t.Errorf("one kernel has a time between two machines: %+v", arm.Between)
		}
		for _, e := range arm.Machines[0].Elements {
			if e.Median < 0 || e.Median > 1 {
				t.Errorf("%s takes %v s", e.Kind, e.Median)
			}
		}
		if arm.Ratio == nil || math.Abs(arm.Ratio.Median-1) > 0.1 {
			wrong = append(wrong, fmt.Sprintf("the elements sum to %+v of the round trip", arm.Ratio))
		}
		return wrong
	})
}

// wantAhead wants the programs of a host to have the clock that the rig gave it.
func (r *sshRig) wantAhead(h *sshHost) {
	r.t.Helper()
	offsets, err := os.ReadFile(fmt.Sprintf("/proc/%d/timens_offsets", h.sshd.Process.Pid))
	r.must(err)
	want := []string{"monotonic", fmt.Sprint(h.ahead), "0"}
	if !slices.Equal(strings.Fields(string(offsets))[:3], want) {
		r.t.Errorf("the clocks of %s are %q ahead, want %d s", h.name, offsets, h.ahead)
	}
}

// addRules has all IPv4 packets to and from a host compared with rules that match none.
func (r *sshRig) addRules(host string, rules int) {
	r.t.Helper()
	const perBatch = 64 // the acknowledgements of more do not fit into the socket's buffer
	r.must(inSpace(r.hosts[host].space, func() error {
		c, err := nftables.New()
		if err != nil {
			return err
		}
		table := c.AddTable(&nftables.Table{Family: nftables.TableFamilyIPv4, Name: "test"})
		for name, hook := range map[string]*nftables.ChainHook{
			"in": nftables.ChainHookInput, "out": nftables.ChainHookOutput,
		} {
			chain := c.AddChain(&nftables.Chain{
				Name: name, Table: table, Type: nftables.ChainTypeFilter, Hooknum: hook,
				Priority: nftables.ChainPriorityFilter,
			})
			for i := range rules {
				c.AddRule(&nftables.Rule{Table: table, Chain: chain, Exprs: missed(i)})
				if i%perBatch == perBatch-1 {
					if err := c.Flush(); err != nil {
						return err
					}
				}
			}
		}
		return c.Flush()
	}))
}

// missed is a rule for packets from an address that none has: those of 198.18.0.0/15 are for benchmarks (RFC 2544).
func missed(i int) []expr.Any {
	return []expr.Any{
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: 12, Len: 4}, // the source
		&expr.Cmp{
			Op: expr.CmpOpEq, Register: 1, Data: binary.BigEndian.AppendUint32(nil, 198<<24|18<<16|uint32(i)),
		},
		&expr.Verdict{Kind: expr.VerdictDrop},
	}
}

// TestInsideSSHWithoutRights measures as an ordinary user of both hosts: what happens inside the path is unknown, and
// the answer says which right is missing. All else is as without watching.
func TestInsideSSHWithoutRights(t *testing.T) {
	t.Parallel()
	r := newOrdinaryRig(t)
	const text = `
nearfar: v1
name: no-rights
hosts:
  client: {ssh: ordinary@client, address: CLIENT}
  server: {ssh: ordinary@server, address: SERVER}
arms:
  ssh: {client: client, server: server}
workloads: [{name: rr, tool: native, mode: rr, inside: true, duration: 500ms, warmup: 50ms}]
schedule: {blocks: 2, seed: 1}
`
	run := func(text string) answer.Answer {
		cmd, _ := r.run(write(t, r.dir, r.addressed(text)))
		stdout, _ := r.answered(cmd) // the exit code is 0 with watching, as without
		a := answerOf(t, stdout, r.dir)
		wantNoFailures(t, a)
		r.wantNothingLeft(leftLimit)
		return a
	}
	watched, plain := run(text), run(strings.Replace(text, "inside: true, ", "", 1))
	for _, a := range []answer.Answer{watched, plain} {
		if a.Trials != 2 {
			t.Errorf("the figures are of %d trials: %+v", a.Trials, a.Arms)
		}
		wantMeans(t, a)
		for _, f := range a.Arms {
			if f.Workload != "rr" {
				t.Errorf("a figure comes from %s", f.Workload)
			}
		}
	}
	wantUnknown(t, watched)
}

// wantUnknown fails the test unless nothing was seen inside the path of the only arm, because a right is missing, and
// the tool's figures are there all the same.
func wantUnknown(t *testing.T, a answer.Answer) {
	t.Helper()
	arm := insideOf(t, a).Arms[0]
	if len(arm.Machines) > 0 || arm.Trials != 2 || len(arm.Problems) != 1 {
		t.Fatalf("something was seen: %+v", arm)
	}
	p := arm.Problems[0]
	if p.Side != declared.Both || p.Trials != 2 || !strings.Contains(p.Text, "CAP_BPF") {
		t.Errorf("the problem is %+v", p)
	}
	wantMeans(t, a)
	wantWarning(t, a, "inside-unknown", "CAP_BPF")
}

// wantMeans wants figures in each trial of round trips. On a busy machine a trial can have too few of them for a
// median, but it has a mean.
func wantMeans(t *testing.T, a answer.Answer) {
	t.Helper()
	for _, tr := range trials(t, a) {
		if mean, _ := tr.Value(result.RTT, result.Mean); mean <= 0 {
			t.Errorf("trial %d of %s has no figures: %+v", tr.Trial, tr.Workload, tr)
		}
	}
}

// wantWarning wants one warning with the code, which contains a text.
func wantWarning(t *testing.T, a answer.Answer, code, text string) {
	t.Helper()
	var found []string
	for _, w := range a.Warnings {
		if w.Code == code {
			found = append(found, w.Message)
		}
	}
	if len(found) != 1 || !strings.Contains(found[0], text) {
		data, _ := json.Marshal(a.Warnings)
		t.Errorf("the warnings %s are %q, want one with %q: %s", code, found, text, data)
	}
}

// newOrdinaryRig makes two hosts that have an ordinary user, whose name is that.
func newOrdinaryRig(t *testing.T) *sshRig {
	t.Helper()
	r := emptySSHRig(t)
	r.network([]sshPair{twoHosts()})
	r.accounts()
	const nobody = 65534
	for _, h := range r.hosts {
		// The home is the host's: what is left in it is found there.
		r.must(os.Chown(h.home, nobody, nobody))
		accounts, err := os.ReadFile(filepath.Join(r.dir, "passwd-"+h.name))
		r.must(err)
		r.save("passwd-"+h.name, string(accounts)+fmt.Sprintf("ordinary:*:%d:%[1]d::%s:/bin/sh\n", nobody, h.home))
		r.serve(h)
	}
	return r
}
