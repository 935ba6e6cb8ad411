//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/captured"
	"nearfar/internal/declare/packets"
	"nearfar/internal/declare/result"
	"nearfar/internal/measure/recordings/captures"
)

// captureLabs are paths whose packets are captured. The wire's delay is known.
const captureLabs = `
nearfar: v1
name: capture
baseline: far
arms:
  far: {lab: {path: [bridge, {wire: {delay: 500us}}, bridge]}}
  vxlan: {lab: {path: [vtep, bridge, vtep]}}
workloads:
  - {name: rr, tool: native, mode: rr, capture: true, duration: 400ms, warmup: 50ms, placement: shared}
  - {name: datagrams, tool: native, mode: rr, protocol: udp, capture: true, duration: 400ms, placement: shared}
  - {name: echo, tool: ping, capture: true, interval: 2ms, duration: 400ms}
schedule: {blocks: 2, baseline_repeats: 1, seed: 1}
`

// pointsOf are the points of each arm of captureLabs, in the order of the path.
func pointsOf() map[string][]string {
	return map[string][]string{
		"far": {
			"client.eth0", "0-bridge.left", "0-bridge.right", "1-wire.left", "1-wire.right", "2-bridge.left",
			"2-bridge.right", "server.eth0",
		},
		"vxlan": {
			"client.eth0", "0-vtep.left", "0-vtep.vxlan0", "0-vtep.right", "1-bridge.left", "1-bridge.right",
			"2-vtep.left", "2-vtep.vxlan0", "2-vtep.right", "server.eth0",
		},
	}
}

// TestCaptureLab captures the packets of trials in labs, and works out the segments of the way from them: the delay of
// a wire is between its two devices and nowhere else. Each way of a round trip is there apart, because a lab has one
// clock.
func TestCaptureLab(t *testing.T) {
	const delay = 500 * time.Microsecond
	wantTruthOf(t, func(int) answer.Answer {
		return measure(t, captureLabs, "--force")
	}, func(a answer.Answer) (wrong []string) {
		for _, tr := range capturedTrials(t, a) {
			r := wantCapture(t, a, tr, pointsOf()[tr.Arm])
			if tr.Arm != "far" {
				continue
			}
			others := 0.0
			for _, s := range r.Segments[:len(r.Segments)-1] {
				if s.From == "1-wire.left" {
					for _, one := range []*captures.Figure{s.There, s.Back} {
						if one == nil || one.P50 < 0.98*delay.Seconds() || one.P50 > delay.Seconds()+100e-6 {
							wrong = append(wrong, fmt.Sprintf("trial %d: the wire of %v takes %+v", tr.Trial, delay, one))
						}
					}
				} else {
					others += s.Both.P50
				}
			}
			if others > delay.Seconds()/2 {
				wrong = append(wrong, fmt.Sprintf("trial %d: all but the wire takes %.0f us", tr.Trial, 1e6*others))
			}
		}
		return wrong
	})
}

// TestCaptureAsUser captures in a lab as an ordinary user, and reads the files with other programs. Beside other tests
// a trial may have fewer transactions than are wanted.
func TestCaptureAsUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("not root: all tests run as an ordinary user")
	}
	const nobody = 65534
	user := &syscall.Credential{Uid: nobody, Gid: nobody}
	dir := workspace(t)
	a := answerOf(t, nearfar(t, dir, user, "run", "--force", "-f", "json", write(t, dir, captureLabs)), dir)
	wantNoFailures(t, a)
	for _, tr := range capturedTrials(t, a) {
		wantCapture(t, a, tr, pointsOf()[tr.Arm])
		wantReadByTcpdump(t, a, tr.Captures[0])
	}
	wantCapturesTold(t, a)
}

// capturedPages are pages whose queries go through two tunnel ends.
const capturedPages = `
nearfar: v1
name: pages
arms:
  vxlan: {lab: {path: [vtep, bridge, vtep]}}
workloads: [{name: page, tool: app, queries: 10, capture: true, duration: 400ms, warmup: 50ms}]
schedule: {blocks: 2, seed: 1}
`

// TestCapturePages captures the queries of an application's pages before and behind each tunnel end, as an article
// about NSX did, and works out the segments of the way from them. Beside other tests there may be too few of them.
func TestCapturePages(t *testing.T) {
	a := measure(t, capturedPages, "--force")
	wantNoFailures(t, a)
	for _, tr := range capturedTrials(t, a) {
		wantCapture(t, a, tr, pointsOf()["vxlan"])
	}
}

// capturedTrials are the good trials of captured twins; there is at least one.
func capturedTrials(t *testing.T, a answer.Answer) (some []result.Trial) {
	t.Helper()
	for _, tr := range trials(t, a) {
		if strings.HasSuffix(tr.Workload, "-capture") {
			some = append(some, tr)
		} else if len(tr.Captures) > 0 {
			t.Errorf("trial %d of %s was captured", tr.Trial, tr.Workload)
		}
	}
	if len(some) == 0 {
		t.Fatal("no trial was captured")
	}
	return some
}

// wantCapture wants one capture of a trial with these points, and gives the segments of the way between them.
func wantCapture(t *testing.T, a answer.Answer, tr result.Trial, points []string) captures.Report {
	t.Helper()
	if len(tr.Captures) != 1 || tr.Captures[0].Problem != "" || tr.Captures[0].Side != packets.Both {
		t.Fatalf("trial %d has the captures %+v", tr.Trial, tr.Captures)
	}
	var names, flags []string
	c := tr.Captures[0]
	for _, p := range c.Points {
		names = append(names, p.Name)
		switch {
		case p.Untimed == 0:
			flags = append(flags, "--point", fmt.Sprintf("%s=%s:%[1]s", p.Name, c.File))
		case !strings.HasSuffix(p.Name, ".vxlan0"):
			t.Errorf("trial %d: %d packets have no time at %s", tr.Trial, p.Untimed, p.Name)
		}
	}
	if !slices.Equal(names, points) {
		t.Fatalf("trial %d of %s: the points are %v, want %v", tr.Trial, tr.Arm, names, points)
	}
	r := segments(t, a.Run, flags)
	if least := 80; r.Matched < least { // ping sends 200
		t.Errorf("trial %d of %s, %s: %d transactions were seen at every point, at least %d are wanted: %+v", tr.Trial,
			tr.Arm, tr.Workload, r.Matched, least, r.Points)
	}
	for _, s := range r.Segments {
		if s.There != nil && s.There.P50 <= 0 || s.Back != nil && s.Back.P50 <= 0 {
			t.Errorf("trial %d: nothing takes no time, from %s to %s: there %+v, back %+v", tr.Trial, s.From, s.To, s.There,
				s.Back)
		}
	}
	for _, p := range r.Points {
		carried := "plain"
		if tr.Arm == "vxlan" && slices.Contains([]string{
			"0-vtep.right", "1-bridge.left", "1-bridge.right", "2-vtep.left",
		}, p.Point) {
			carried = "vxlan"
		}
		for how, n := range p.Carried {
			if !strings.HasPrefix(how, carried) {
				t.Errorf("trial %d: at %s, %d packets are carried by %s", tr.Trial, p.Point, n, how)
			}
		}
		if p.Own != p.Packets {
			t.Errorf("trial %d: at %s, %d of %d packets are of the trial", tr.Trial, p.Point, p.Own, p.Packets)
		}
	}
	return r
}

// segments runs nearfar import in a run directory.
func segments(t *testing.T, run string, points []string) captures.Report {
	t.Helper()
	var r captures.Report
	out := nearfar(t, run, nil, append([]string{"import", "--json"}, points...)...)
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return r
}

// wantReadByTcpdump wants tcpdump to read as many packets of a capture as its points have.
func wantReadByTcpdump(t *testing.T, a answer.Answer, c packets.Capture) {
	t.Helper()
	need(t, "tcpdump", "tcpdump")
	out, err := exec.Command("tcpdump", "-nn", "-r", filepath.Join(a.Run, c.File)).Output()
	if err != nil {
		t.Fatalf("tcpdump of %s: %v", c.File, err)
	}
	want := 0
	for _, p := range c.Points {
		want += p.Packets
		const least = packets.MaxPackets / 2 // a lab has many devices, which share the room
		if in := p.Packets + int(p.Untimed); in > packets.MaxPackets || p.Dropped > 0 && in < least {
			t.Errorf("%s: %d packets are kept and %d dropped", p.Name, p.Packets, p.Dropped)
		}
	}
	// What a tunnel carries has a line of its own, without a time.
	if got := len(regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d\.`).FindAll(out, -1)); got != want {
		t.Errorf("tcpdump reads %d packets of %s, and there are %d", got, c.File, want)
	}
	size, err := os.Stat(filepath.Join(a.Run, c.File))
	if err != nil || size.Size() > packets.MaxSize {
		t.Errorf("%s: %v, %v", c.File, size, err)
	}
}

// wantCapturesTold wants the answer to have what was captured, and no figure from it. The other programs of a run
// directory read it as any other.
func wantCapturesTold(t *testing.T, a answer.Answer) {
	t.Helper()
	for _, f := range a.Arms {
		if strings.HasSuffix(f.Workload, "-capture") {
			t.Errorf("a figure comes from %s", f.Workload)
		}
	}
	if len(a.Captured) != 3 {
		t.Fatalf("%d workloads were captured: %+v", len(a.Captured), a.Captured)
	}
	for _, c := range a.Captured {
		for _, arm := range c.Arms {
			if arm.Cost == nil || len(arm.Machines) != 1 || len(arm.Machines[0].Files) != arm.Trials || arm.Trials != 2 ||
				len(arm.Problems) > 0 {
				t.Errorf("%s in %s: %+v", c.Workload, arm.Arm, arm)
			}
		}
	}
	for _, args := range [][]string{
		{"report", "."}, {"report", "-f", "html", "-o", "page.html", "."},
		{"report", "-f", "parquet", "-o", "trials.parquet", "."},
	} {
		if out := nearfar(t, a.Run, nil, args...); len(args) == 2 && !strings.Contains(string(out), "capturing adds") {
			t.Errorf("the report does not say what capturing costs:\n%s", out)
		}
	}
}

// TestCaptureSSH captures on two hosts that are reached by ssh, as root: each has a file with its own device, and the
// segments between them are known for there and back together.
func TestCaptureSSH(t *testing.T) {
	t.Parallel()
	r := newSSHRig(t, twoHosts())
	cmd, _ := r.run(write(t, r.dir, r.addressed(`
nearfar: v1
name: capture-ssh
hosts:
  client: {ssh: client, address: CLIENT}
  server: {ssh: server, address: SERVER}
arms:
  ssh: {client: client, server: server}
workloads: [{name: rr, tool: native, mode: rr, capture: true, duration: 500ms, warmup: 50ms}]
schedule: {blocks: 2, seed: 1}
`)))
	stdout, _ := r.answered(cmd)
	r.wantNothingLeft(leftLimit)
	a := answerOf(t, stdout, r.dir)
	wantNoFailures(t, a)
	for _, tr := range capturedTrials(t, a) {
		if len(tr.Captures) != 2 {
			t.Fatalf("trial %d has the captures %+v", tr.Trial, tr.Captures)
		}
		var points []string
		for i, side := range []string{packets.Client, packets.Server} {
			c := tr.Captures[i]
			if c.Side != side || c.Problem != "" || len(c.Points) != 1 || !strings.HasPrefix(c.Points[0].Name, side+".") {
				t.Fatalf("trial %d: the capture of the %s is %+v", tr.Trial, side, c)
			}
			points = append(points, "--point", side+"="+c.File)
			wantReadByTcpdump(t, a, c)
		}
		s := segments(t, a.Run, points)
		// All that both captured whole match, but for those that were under way when a capture began or was full.
		both := min(s.Points[0].Exchanges, s.Points[1].Exchanges)
		if s.Matched < 1 || s.Matched < both-2 || s.Segments[0].There != nil || s.Segments[0].Both.P50 <= 0 {
			t.Errorf("trial %d: %d transactions match, %+v", tr.Trial, s.Matched, s.Segments)
		}
	}
}

// TestCaptureSSHWithoutRights measures as an ordinary user of both hosts: there is no capture, the answer says which
// right is missing, and all else is as without capturing.
func TestCaptureSSHWithoutRights(t *testing.T) {
	t.Parallel()
	r := newOrdinaryRig(t)
	cmd, _ := r.run(write(t, r.dir, r.addressed(`
nearfar: v1
name: no-rights
hosts:
  client: {ssh: ordinary@client, address: CLIENT}
  server: {ssh: ordinary@server, address: SERVER}
arms:
  ssh: {client: client, server: server}
workloads: [{name: rr, tool: native, mode: rr, capture: true, duration: 500ms, warmup: 50ms}]
schedule: {blocks: 2, seed: 1}
`)))
	stdout, _ := r.answered(cmd) // the exit code is 0 with capturing, as without
	r.wantNothingLeft(leftLimit)
	a := answerOf(t, stdout, r.dir)
	wantNoFailures(t, a)
	wantMeans(t, a)
	if len(a.Captured) != 1 {
		t.Fatalf("%+v, %+v", a.Arms, a.Captured)
	}
	wantNotCaptured(t, a.Captured[0].Arms[0])
	wantWarning(t, a, "capture-unknown", "client: the capturer failed")
	wantWarning(t, a, "capture-unknown", "CAP_NET_RAW")
}

func wantNotCaptured(t *testing.T, arm captured.Arm) {
	t.Helper()
	if len(arm.Machines) > 0 || arm.Trials != 2 || len(arm.Problems) != 2 || arm.Plain == nil {
		t.Fatalf("something was captured: %+v", arm)
	}
	for i, side := range []string{packets.Client, packets.Server} {
		if p := arm.Problems[i]; p.Side != side || p.Trials != 2 || !strings.Contains(p.Text, "CAP_NET_RAW") {
			t.Errorf("the problem is %+v", p)
		}
	}
}
