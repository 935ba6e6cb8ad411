//go:build linux

package lab

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/hosts/hosttest"
	"nearfar/internal/onhost/host"
)

// TestAsUser runs all other tests that make labs as an ordinary user, in user namespaces.
func TestAsUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("the other tests run as an ordinary user already")
	}
	if testing.Short() {
		t.Skip("repeats other tests")
	}
	// Only root can read the test's own folder.
	dir, err := os.MkdirTemp("", "nearfar-lab-test")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "lab.test")
	if err := os.WriteFile(program, self, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Parallel()
	const nobody = 65534
	cmd := exec.CommandContext(t.Context(), program, "-test.run=^("+strings.Join(asUser(), "|")+")$",
		"-test.v", "-test.parallel=4")
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("as an ordinary user: %v\n%s", err, out)
	}
	for _, name := range asUser() {
		passed := strings.Contains(string(out), "\n--- PASS: "+name+" (")
		// Where netem loses packets and does not say how many, this one ends with a skip.
		skipped := name == "TestWireLoss" && strings.Contains(string(out), "\n--- SKIP: "+name+" (")
		if !passed && !skipped {
			t.Errorf("as an ordinary user %s did not run to its end:\n%s", name, out)
		}
	}
}

// asUser lists the tests that TestAsUser runs. Each of them must have run there.
func asUser() []string {
	return []string{
		"TestConformance", "TestPaths", "TestFirewall", "TestQuiet", "TestWireDelay", "TestWireRate", "TestWireLoss",
		"TestNothingLeft", "TestFacts",
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	l := openLab(t, Options{})
	arms := 0
	hosts := func(t *testing.T) (client, server host.Host) {
		arms++
		return build(t, l, fmt.Sprint("arm", arms), path(experiment.Bridge))
	}
	hosttest.Run(t, hosttest.Kind{Hosts: hosts, Processes: true, Signals: true, Pinning: true, Files: true,
		IPv6: l.Facts().HasIPv6()})
}

func TestFacts(t *testing.T) {
	l := openLab(t, Options{})
	build(t, l, "one", path(experiment.VTEP, experiment.VTEP))
	f := l.Facts()
	if f.UserNamespace != !privileged() || f.Kernel == "" || len(f.CPUs) == 0 || f.ServiceCPU != f.CPUs[0] ||
		f.Wire == "" {
		t.Errorf("facts: %+v", f)
	}
	if !f.Features[featureIPv6] || f.Arms[0].Client6 != "fd6e:6561:7266:100::1" ||
		f.Arms[0].Server6 != "fd6e:6561:7266:100::2" {
		t.Errorf("no IPv6: %+v", f)
	}
	if len(f.Arms) != 1 || f.Arms[0].HostMTU != 1450 || f.Arms[0].UnderlayMTU != 1500 ||
		f.Arms[0].Client != "10.1.0.1" {
		t.Errorf("arms: %+v", f.Arms)
	}
	t.Logf("user namespace %v, wires %s, features %v", f.UserNamespace, f.Wire, f.Features)
}

// The namespaces of an arm are known by the numbers that the kernel gives them.
func TestPlaces(t *testing.T) {
	l := openLab(t, Options{})
	client, _ := build(t, l, "one", path(experiment.Bridge, experiment.Router))
	kernels := l.Machines("one").Kernels()
	one, places := kernels.One, kernels.Places
	var names []string
	for _, p := range places {
		names = append(names, p.Name)
	}
	if want := []string{"client", "0-bridge", "1-router", "server"}; !one || !slices.Equal(names, want) {
		t.Fatalf("the places are %v, %v, want %v", names, one, want)
	}
	linked := func(file string) string {
		var out bytes.Buffer
		p, err := client.Start(t.Context(), host.Cmd{Argv: []string{"readlink", file}, Stdout: &out})
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Wait(); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		return strings.TrimSpace(out.String())
	}
	for i, p := range places {
		files := []string{p.File} // by which a host opens it
		if i == 0 {
			files = append(files, "/proc/self/ns/net")
		}
		for _, file := range files {
			if got, want := linked(file), fmt.Sprintf("net:[%d]", p.Namespace); got != want {
				t.Errorf("%s of %s is %s, want %s", file, p.Name, got, want)
			}
		}
	}
}

func TestPaths(t *testing.T) {
	t.Parallel()
	const (
		bridge, router, vtep, dlr = experiment.Bridge, experiment.Router, experiment.VTEP, experiment.DLR
		firewall, wire            = experiment.Firewall, experiment.Wire
	)
	l := openLab(t, Options{})
	for _, c := range []struct {
		path []string
		ttl  int // that a packet arrives with: 64, less one for each routing element
		mtu  int
	}{
		{[]string{bridge}, 64, 1500},
		{[]string{bridge, bridge}, 64, 1500},
		{[]string{wire}, 64, 1500},
		{[]string{router}, 63, 1500},
		{[]string{firewall}, 64, 1500},
		{[]string{firewall, bridge, firewall}, 64, 1500},
		{[]string{bridge, router, bridge}, 63, 1500},
		{[]string{router, router, bridge, router}, 61, 1500},
		{[]string{vtep, vtep}, 64, 1450},
		{[]string{vtep, wire, vtep}, 64, 1450},
		{[]string{vtep, bridge, router, bridge, vtep}, 64, 1450},
		{[]string{vtep, router, router, vtep}, 64, 1450},
		{[]string{firewall, vtep, bridge, router, bridge, vtep}, 64, 1450},
		{[]string{dlr, vtep, bridge, router, bridge, vtep}, 63, 1450},
		{[]string{dlr, vtep, router, vtep, dlr}, 62, 1450},
		{[]string{firewall, dlr, vtep, wire, vtep, bridge, firewall}, 63, 1450},
		{[]string{vtep, firewall, vtep, router, vtep, bridge, vtep}, 63, 1450},
		{[]string{bridge, firewall, router, bridge}, 63, 1500},
		{[]string{wire, router, firewall, firewall, wire, router, firewall}, 62, 1500},
		{[]string{bridge, firewall, dlr, vtep, bridge, firewall, router, bridge, vtep}, 63, 1450},
		{[]string{wire, router, wire, bridge, wire}, 63, 1500},
	} {
		name := strings.Join(c.path, " ")
		t.Run(name, func(t *testing.T) {
			before := time.Now()
			client, server := build(t, l, name, path(c.path...))
			t.Logf("built in %v", time.Since(before))
			defer func() { _ = client.Close() }()
			defer func() { _ = server.Close() }()
			serve(t, server, "reflect", "udp", packetPort)
			serve(t, server, "echo", "tcp", streamPort)
			for address, headers := range map[netip.Addr]int{server.Endpoint().Dial.V4: udpHeaders,
				server.Endpoint().Dial.V6: udpHeaders6} {
				to, full := address.String(), strconv.Itoa(c.mtu-headers)
				if got, want := do(t, client, "bounce", to, full), fmt.Sprintf("%d %s", c.ttl, full); got != want {
					t.Errorf("%s: TTL and length %q arrived, want %q", to, got, want)
				}
				if out, err := try(t, client, "bounce", to, strconv.Itoa(c.mtu-headers+1)); err == nil ||
					!strings.Contains(out, "too long") {
					t.Errorf("%s: a packet over the MTU: %v %s", to, err, out)
				}
				earlier, err := l.Observe(t.Context(), name)
				if err != nil {
					t.Fatal(err)
				}
				// Enough for super-packets, both ways; the bytes are compared.
				do(t, client, "transfer", to, "300000")
				underlay := false
				for i, e := range c.path {
					if e == vtep {
						underlay = !underlay
					}
					crosses(t, l, name, i, e, underlay, earlier[i])
				}
			}
		})
	}
}

// crosses checks by the counters of an element that the transferred data crossed it. underlay says that the element
// stands inside a tunnel, or opens one.
func crosses(t *testing.T, l *Lab, arm string, i int, kind string, underlay bool, earlier ElementFacts) {
	t.Helper()
	now := observe(t, l, arm, i)
	if now.Kind != kind {
		t.Errorf("element %d is a %s, want a %s", i, now.Kind, kind)
	}
	grown := func(counter string) uint64 { return now.Counters[counter] - earlier.Counters[counter] }
	must := []string{"left.rx_packets", "left.tx_packets", "right.rx_packets", "right.tx_packets"}
	switch kind {
	case experiment.Firewall:
		must = []string{"established"}
		if underlay {
			must = []string{"new"} // the two directions of a tunnel are flows of their own, without answer
		}
		if now.Counters["rules"] != 100 {
			t.Errorf("element %d has %d rules", i, now.Counters["rules"])
		}
	case experiment.Router, experiment.DLR:
		must = append(must, "forwarded")
	case experiment.VTEP:
		must = append(must, "vxlan0.rx_packets", "vxlan0.tx_packets")
		if packets := grown("left.rx_packets"); grown("left.rx_bytes") == grown("right.tx_bytes") {
			t.Errorf("element %d: %d packets left as long as they came: nothing was encapsulated", i, packets)
		}
	case experiment.Wire:
		if now.Wire != nil && now.Wire.Packets == earlier.Wire.Packets {
			t.Errorf("element %d: the wire forwarded nothing", i)
		}
	}
	for _, counter := range must {
		if grown(counter) == 0 {
			t.Errorf("element %d, %s: %s has not grown: %v", i, kind, counter, now.Counters)
		}
	}
}

// A firewall, at a host or on a router between hosts, lets each packet pass its rules once and obeys them.
func TestFirewall(t *testing.T) {
	t.Parallel()
	l := openLab(t, Options{})
	firewall, bridge, router := experiment.Element{Kind: experiment.Firewall, Rules: 1000},
		experiment.Element{Kind: experiment.Bridge}, experiment.Element{Kind: experiment.Router}
	for _, c := range []struct {
		arm     string
		path    []experiment.Element
		element int
		space   string // the namespace that holds the rules
	}{
		{"host", []experiment.Element{firewall, bridge}, 0, "client"},
		{"towards the client", []experiment.Element{bridge, firewall, router, bridge}, 1, "2-router"},
		{"towards the server", []experiment.Element{bridge, router, firewall, bridge, router, bridge}, 2, "1-router"},
	} {
		t.Run(c.arm, func(t *testing.T) {
			t.Parallel() // dropped connections take their time
			client, server := build(t, l, c.arm, experiment.Lab{Path: c.path})
			rules := &labHost{lab: l, arm: c.arm, space: c.space}
			firewallFilters(t, l, client, server, rules, c.arm, c.element)
		})
	}
}

// firewallFilters checks what connections from the client to the server pass; rules is the namespace with the rules.
func firewallFilters(t *testing.T, l *Lab, client, server, rules host.Host, arm string, element int) {
	t.Helper()
	serve(t, server, "echo", "tcp", streamPort)
	addresses := []string{server.Endpoint().Dial.V4.String(), server.Endpoint().Dial.V6.String()}
	for _, address := range addresses {
		before := observe(t, l, arm, element).Counters
		if before["rules"] != 1000 {
			t.Errorf("%s: %d rules, want 1000", address, before["rules"])
		}
		do(t, client, "transfer", address, "10000")
		after := observe(t, l, arm, element).Counters
		if n := after["new"] - before["new"]; n != 1 {
			t.Errorf("%s: one connection matched the last rule %d times", address, n)
		}
		if after["established"]-before["established"] < 4 {
			t.Errorf("%s: of one connection only %d packets were of a known one", address,
				after["established"]-before["established"])
		}
	}
	// A rule that matches is obeyed: packets really pass the rules.
	do(t, rules, "reject", strconv.Itoa(element), strconv.Itoa(streamPort))
	var dropped sync.WaitGroup
	for _, address := range addresses {
		dropped.Go(func() {
			if out, err := try(t, client, "transfer", address, "10"); err == nil || !strings.Contains(out, "timeout") {
				t.Errorf("%s: a connection that the firewall drops: %v %s", address, err, out)
			}
		})
	}
	dropped.Wait()
}

// quietFor is how long TestQuiet counts packets: longer than the intervals after which the kernel repeats announcements
// (1 s) or looks for routers (4 s).
const quietFor = 6 * time.Second

// TestQuiet: nothing is sent while nobody sends. The packets of the arms' verification have arrived when Build returns.
func TestQuiet(t *testing.T) {
	if testing.Short() {
		t.Skipf("waits for %v", quietFor)
	}
	t.Parallel()
	l := openLab(t, Options{})
	arms := map[string]experiment.Lab{
		"overlay": path(experiment.Firewall, experiment.DLR, experiment.VTEP, experiment.Bridge, experiment.Router,
			experiment.VTEP, experiment.Bridge),
		"routed": path(experiment.Router, experiment.Wire, experiment.Router),
	}
	counters := func() map[string]map[string]uint64 {
		all := map[string]map[string]uint64{}
		for arm := range arms {
			elements, err := l.Observe(t.Context(), arm)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range elements {
				all[fmt.Sprint(arm, " ", e.Element, "-", e.Kind)] = e.Counters
			}
		}
		return all
	}
	for arm, spec := range arms {
		build(t, l, arm, spec)
	}
	before := counters()
	<-time.After(quietFor)
	if diff := cmp.Diff(before, counters()); diff != "" {
		t.Errorf("in %v without traffic (-before +after):\n%s", quietFor, diff)
	}
}

func TestWireDelay(t *testing.T) {
	l := openLab(t, Options{})
	const delay = 30 * time.Millisecond
	client, server := build(t, l, "wire", oneWire(experiment.Element{Delay: delay}))
	serve(t, server, "echo", "tcp", streamPort)
	before := wallClock(t)
	took, err := strconv.ParseFloat(do(t, client, "transfer", server.Endpoint().Dial.V4.String(), "1"), 64)
	if err != nil {
		t.Fatal(err)
	}
	if took < 2*delay.Seconds() {
		t.Errorf("there and back in %g s, over a wire of %v each way; the wall clock was set by %v meanwhile",
			took, delay, wallClock(t)-before)
	}
	if w := observe(t, l, "wire", 0).Wire; w != nil {
		t.Logf("%+v", *w)
	}
}

// wallClock is the difference between the wall clock and the monotonic clock, within a few microseconds.
func wallClock(t *testing.T) time.Duration {
	t.Helper()
	read := func(clock int32) int64 {
		var ts unix.Timespec
		if err := unix.ClockGettime(clock, &ts); err != nil {
			t.Fatal(err)
		}
		return ts.Nano()
	}
	var offset, shortest int64
	for range 100 {
		before, wall, after := read(unix.CLOCK_MONOTONIC), read(unix.CLOCK_REALTIME), read(unix.CLOCK_MONOTONIC)
		if shortest == 0 || after-before < shortest {
			offset, shortest = wall-before, after-before
		}
	}
	return time.Duration(offset)
}

// Every implementation of a wire that this kernel has keeps a rate.
func TestWireRate(t *testing.T) {
	for name, options := range map[string]Options{"user-space": {UserWire: true}, "as the kernel can": {},
		"rate only": {RateOnly: true}} {
		t.Run(name, func(t *testing.T) {
			l := openLab(t, options)
			const rate, length = 50e6, 2_000_000
			client, server := build(t, l, "wire", oneWire(experiment.Element{Rate: rate}))
			serve(t, server, "echo", "tcp", streamPort)
			took, err := strconv.ParseFloat(do(t, client, "transfer", server.Endpoint().Dial.V4.String(),
				strconv.Itoa(length)), 64)
			if err != nil {
				t.Fatal(err)
			}
			// It cannot be faster than the wire, except for the burst of a token bucket.
			if least := (length - superPacket) * 8 / float64(rate); took < least {
				t.Errorf("%d bytes in %g s, over a wire that needs %g s", length, took, least)
			}
			facts := l.Facts()
			if options.RateOnly && facts.Features[featureTBF] && facts.Wire == WireUser {
				t.Errorf("the wire is %s, and the kernel has token buckets", facts.Wire)
			}
			t.Logf("%s: %.4g Mbit/s over a wire of 50", facts.Wire, length*8/took/1e6)
		})
	}
}

// A lab that was opened for rates alone refuses a delay.
func TestRateOnlyRefusesDelay(t *testing.T) {
	l := openLab(t, Options{RateOnly: true})
	if l.Facts().Wire != WireBucket {
		t.Skipf("the kernel makes wires as %s", l.Facts().Wire)
	}
	_, _, err := l.Build(t.Context(), "far", experiment.Lab{
		MTU: 1500, Path: []experiment.Element{{Kind: experiment.Wire, Delay: time.Millisecond}},
	})
	if err == nil || !strings.Contains(err.Error(), "have a rate and nothing else") {
		t.Errorf("got %v", err)
	}
}

func TestWireLoss(t *testing.T) {
	l := openLab(t, Options{})
	client, server := build(t, l, "wire", oneWire(experiment.Element{Loss: 0.05}))
	serve(t, server, "echo", "tcp", streamPort)
	do(t, client, "transfer", server.Endpoint().Dial.V4.String(), "1000000") // some 1400 packets, cut before the wire
	f := observe(t, l, "wire", 0)
	if f.Wire == nil {
		t.Skip("the kernel's netem loses them, and does not say how many")
	}
	all := f.Wire.Lost + f.Wire.Packets
	if share := float64(f.Wire.Lost) / float64(all); all < 1000 || share < 0.02 || share > 0.1 {
		t.Errorf("lost %d of %d packets, at a loss of 5 %%", f.Wire.Lost, all)
	}
}

// TestNothingLeft kills nearfar while it holds a lab, and looks for processes and interfaces that are left.
func TestNothingLeft(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"killed", "closed"} {
		t.Run(end, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "hold")
			cmd.Stderr = os.Stderr
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
				t.Fatalf("%q %v", line, err)
			}
			inits := childrenOf(t, cmd.Process.Pid)
			if len(inits) != 1 {
				t.Fatalf("children of the lab's owner: %v", inits)
			}
			inside := processesIn(t, pidNamespace(inits[0]))
			if len(inside) < 3 { // the init, the wires, the server
				t.Errorf("processes in the lab: %v", inside)
			}
			interfaces, err := net.Interfaces()
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range interfaces {
				if strings.HasPrefix(i.HardwareAddr.String(), "02:6e:66:") ||
					slices.Contains([]string{leftPort, rightPort, bridgeDevice, tunnelDevice}, i.Name) {
					t.Errorf("the lab's interface %s is in the machine's own namespace", i.Name)
				}
			}
			ns := pidNamespace(inits[0])
			signal := syscall.SIGKILL
			if end == "closed" {
				// SIGTERM ends the program without cleaning up. The init notices that the control connection has ended.
				signal = syscall.SIGTERM
			}
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err == nil {
				t.Error("the lab's owner ended well")
			}
			deadline := time.Now().Add(patience)
			for {
				left := processesIn(t, ns)
				if len(left) == 0 {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("processes %v are left of the lab", left)
				}
			}
		})
	}
}

func pidNamespace(pid int) string {
	ns, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", pid))
	if err != nil {
		return ""
	}
	return ns
}

// processesIn finds the processes of a PID namespace.
func processesIn(t *testing.T, ns string) []int {
	t.Helper()
	if ns == "" {
		t.Fatal("no PID namespace to look for")
	}
	entries, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(filepath.Base(e)); err == nil && pidNamespace(pid) == ns {
			pids = append(pids, pid)
		}
	}
	return pids
}

// childrenOf finds the processes that a process has started.
func childrenOf(t *testing.T, parent int) []int {
	t.Helper()
	entries, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, e := range entries {
		b, err := os.ReadFile(e)
		if err != nil {
			continue // it has ended
		}
		// pid (name) state ppid ...; the name may hold anything.
		_, rest, _ := strings.Cut(string(b), ") ")
		fields := strings.Fields(rest)
		if len(fields) > 1 && fields[1] == strconv.Itoa(parent) {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(e)))
			if err != nil {
				t.Fatal(err)
			}
			pids = append(pids, pid)
		}
	}
	return pids
}

func TestManyArms(t *testing.T) {
	l := openLab(t, Options{})
	start := time.Now()
	for i := range 12 {
		build(t, l, fmt.Sprint("arm", i), path(experiment.VTEP, experiment.Bridge, experiment.Router, experiment.Bridge,
			experiment.VTEP))
	}
	t.Logf("12 arms of 7 namespaces each in %v", time.Since(start))
}

func TestClosedLab(t *testing.T) {
	l := openLab(t, Options{})
	client, server := build(t, l, "arm", path(experiment.Bridge))
	p, err := client.Start(t.Context(), host.Cmd{Argv: []string{host.Self, "echo"}})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Wait(); !errors.Is(err, ErrClosed) {
		t.Errorf("a process of a closed lab ends with %v", err)
	}
	if _, err := server.Start(t.Context(), host.Cmd{Argv: []string{"true"}}); !errors.Is(err, ErrClosed) {
		t.Errorf("a start in a closed lab gives %v", err)
	}
	if _, _, err := l.Build(t.Context(), "late", path(experiment.Bridge)); !errors.Is(err, ErrClosed) {
		t.Errorf("building in a closed lab gives %v", err)
	}
	for _, h := range []host.Host{client, server} {
		if err := h.Close(); err != nil {
			t.Errorf("closing %s after its lab: %v", h.Endpoint().Name, err)
		}
	}
}

func TestLostInit(t *testing.T) {
	l := openLab(t, Options{})
	client, _ := build(t, l, "arm", path(experiment.Bridge))
	p, err := client.Start(t.Context(), host.Cmd{Argv: []string{host.Self, "echo"}})
	if err != nil {
		t.Fatal(err)
	}
	l.kill()
	if err := p.Wait(); err == nil || !strings.Contains(err.Error(), "the lab's init ended") {
		t.Errorf("a process of a lost lab ends with %v", err)
	}
}

func TestPutOutside(t *testing.T) {
	client, _ := build(t, openLab(t, Options{}), "arm", path(experiment.Bridge))
	err := client.Put(t.Context(), "/nearfar-test-file", 0o644, io.LimitReader(nil, 0))
	if err == nil || !strings.Contains(err.Error(), "would outlive the lab") {
		t.Errorf("a file on the machine's own disk: %v", err)
	}
}

func TestDoctor(t *testing.T) {
	f, err := Doctor(t.Context())
	if err != nil || !f.Features[featureBridge] {
		t.Errorf("%+v %v", f, err)
	}
}
