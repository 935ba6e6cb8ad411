//go:build linux

package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"nearfar/internal/base/stats"
	"nearfar/internal/onhost/confine"
)

// TestCostOfConfinement measures what confinement adds to round trips: of a server that runs as it is, of one that is
// confined, and of one whose sockets are filtered too. Server and client are in two network namespaces with a pair of
// virtual devices between them. It runs only if NEARFAR_CONFINE_BLOCKS says how many blocks of all three, in random
// order, to measure; 40 take about eight minutes. It judges nothing.
func TestCostOfConfinement(t *testing.T) {
	blocks, err := strconv.Atoi(os.Getenv("NEARFAR_CONFINE_BLOCKS"))
	if err != nil || blocks < 1 {
		t.Skip("NEARFAR_CONFINE_BLOCKS is not set to a number")
	}
	n := newConfinedNet(t)
	peers := []netip.Prefix{netip.MustParsePrefix(n.client + "/32")}
	arms := []struct {
		name string
		// confined gives the rights of a server; nil for one that runs as it is.
		confined func(confine.Options) *confine.Options
	}{
		{"plain", func(confine.Options) *confine.Options { return nil }},
		{"confined", func(o confine.Options) *confine.Options { return &o }},
		{"filtered", func(o confine.Options) *confine.Options { o.Peers = peers; return &o }},
	}
	for _, w := range confinedWorkloads(n) {
		values := make([][]stats.Value, len(arms))
		for b := range blocks {
			for _, i := range rand.Perm(len(arms)) { //nolint:gosec // an order, not a secret
				values[i] = append(values[i], stats.Value{
					Block: b, Value: n.measure(t, w, arms[i].confined(w.rights)),
				})
			}
		}
		for _, pair := range [][2]int{{1, 0}, {2, 1}, {2, 0}} {
			arm, base := pair[0], pair[1]
			c := stats.CompareAll([]stats.Pair{{Arm: values[arm], Baseline: values[base]}})[0]
			t.Logf("%s: %s less %s: %+.3f us (%+.3f to %+.3f us), %+.2f %% (%+.2f to %+.2f %%); a true %.3f us is found "+
				"four times in five", w.name, arms[arm].name, arms[base].name, c.Difference.Value, c.Interval.Low,
				c.Interval.High, 100*c.Relative.Value, 100*c.RelativeInterval.Low, 100*c.RelativeInterval.High,
				c.Detectable.Value)
		}
	}
}

// confinedWorkload is a server, and a client that prints a mean round trip in us.
type confinedWorkload struct {
	name           string
	server, client []string
	rights         confine.Options
	// found has the number as its group.
	found *regexp.Regexp
}

func confinedWorkloads(n *confinedNet) []confinedWorkload {
	roundTrip := regexp.MustCompile(`Summary: Round trip is ([0-9.]+) usec`)
	at := []string{"-i", n.server, "-p", "7001"}
	client := append([]string{"sockperf", "ping-pong", "-t", "1", "--full-rtt", "-m", "64"}, at...)
	return []confinedWorkload{
		{"sockperf udp", append([]string{"sockperf", "server"}, at...), client,
			confine.Options{Ports: []int{7001}}, roundTrip},
		{"sockperf tcp", append([]string{"sockperf", "server", "--tcp"}, at...), append(client, "--tcp"),
			confine.Options{Ports: []int{7001}}, roundTrip},
		{"netperf tcp", []string{"netserver", "-D", "-f", "-L", n.server + ",4", "-p", "7002", "-Z", "cost"},
			[]string{"netperf", "-H", n.server + ",4", "-p", "7002", "-Z", "cost", "-t", "TCP_RR", "-l", "1", "-P", "0",
				"--", "-r", "64,64", "-P", ",7001", "-o", "MEAN_LATENCY"},
			confine.Options{Strict: true, Ports: []int{7001, 7002}}, regexp.MustCompile(`(?m)^([0-9.]+)$`)},
	}
}

// confinedNet is two network namespaces.
type confinedNet struct{ far, near, client, server string }

func newConfinedNet(t *testing.T) *confinedNet {
	t.Helper()
	id := fmt.Sprint(os.Getpid())
	n := &confinedNet{"nfcost-s" + id, "nfcost-c" + id, "10.77.0.1", "10.77.0.2"}
	for _, line := range []string{
		"netns add " + n.near, "netns add " + n.far,
		"-n " + n.near + " link add near type veth peer name far netns " + n.far,
		"-n " + n.near + " addr add " + n.client + "/24 dev near", "-n " + n.far + " addr add " + n.server + "/24 dev far",
		"-n " + n.near + " link set near up", "-n " + n.far + " link set far up", "-n " + n.far + " link set lo up",
	} {
		if said, err := exec.Command("ip", strings.Fields(line)...).CombinedOutput(); err != nil {
			t.Fatalf("ip %s: %v: %s", line, err, said)
		}
		if space, ok := strings.CutPrefix(line, "netns add "); ok {
			t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", space).Run() })
		}
	}
	return n
}

// in is a command in a namespace, on one CPU and before all ordinary processes, so that others on the machine do not
// hide what is looked for.
func in(space, cpu string, argv ...string) *exec.Cmd {
	return exec.Command("ip", append([]string{"netns", "exec", space, "chrt", "-f", "10", "taskset", "-c", cpu}, argv...)...)
}

// measure runs a server and a client once, and returns the mean round trip in us.
func (n *confinedNet) measure(t *testing.T, w confinedWorkload, rights *confine.Options) float64 {
	t.Helper()
	argv := w.server
	if rights != nil {
		argv = append(append([]string{program}, rights.Args()...), argv...)
	}
	server := in(n.far, "1", argv...)
	var said strings.Builder
	server.Stderr = &said
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = server.Process.Kill()
		_ = server.Wait() // it was killed
	}()
	port := ":" + map[bool]string{true: "7002", false: "7001"}[argv[len(argv)-1] == "cost"]
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		open, err := exec.Command("ip", "netns", "exec", n.far, "ss", "-Hltun").Output()
		if err == nil && strings.Contains(string(open), n.server+port+" ") {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%s does not listen: %v: %s%s", w.name, err, open, said.String())
		}
	}
	if strings.Contains(said.String(), "anybody who reaches its ports") {
		t.Fatalf("nothing is filtered: %s", said.String())
	}
	printed, err := in(n.near, "0", w.client...).CombinedOutput()
	found := w.found.FindSubmatch(printed)
	if err != nil || found == nil {
		t.Fatalf("%s: %v: %s", w.name, err, printed)
	}
	value, err := strconv.ParseFloat(string(found[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return value
}
