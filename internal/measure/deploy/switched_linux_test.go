package deploy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nearfar/internal/declare/check"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/hosts/local"
	"nearfar/internal/measure/runner"
	"nearfar/internal/measure/tool"
	"nearfar/internal/onhost/agent"
	"nearfar/internal/onhost/host"
)

// imitated is the real kernel, with a bridge as Azure's synthetic device and its port vf0 as the virtual function.
// Traffic, statistics and switches of the path are real; the names of drivers are not.
type imitated struct{ check.Network }

func imitation() check.Source {
	s := check.ThisMachine()
	s.Network = imitated{s.Network}
	return s
}

// Links imitates the counters of hv_netvsc: the synthetic device also counts the packets of the virtual function.
func (i imitated) Links() ([]check.Link, error) {
	links, err := i.Network.Links()
	var both check.Statistics
	for _, l := range links {
		if l.Name == "vf0" || l.Name == "syn0" {
			both.RxPackets += l.Statistics.RxPackets
			both.TxPackets += l.Statistics.TxPackets
			both.RxBytes += l.Statistics.RxBytes
			both.TxBytes += l.Statistics.TxBytes
		}
	}
	for n := range links {
		if links[n].Name == "br0" {
			links[n].Kind, links[n].Statistics = "", both
			links[n].Statistics.Known = true
		}
	}
	return links, err
}

func (i imitated) Details(device string) check.Details {
	driver, ok := map[string]string{"br0": "hv_netvsc", "vf0": "mlx5_core"}[device]
	if !ok {
		return i.Network.Details(device)
	}
	return check.Details{Driver: driver}
}

func (i imitated) Counters(device string) (map[string]uint64, error) {
	if device != "br0" {
		return nil, nil
	}
	links, err := i.Network.Links()
	for _, l := range links {
		if s := l.Statistics; l.Name == "vf0" {
			return map[string]uint64{"vf_tx_packets": s.TxPackets, "vf_tx_bytes": s.TxBytes,
				"vf_rx_packets": s.RxPackets, "vf_rx_bytes": s.RxBytes}, nil
		}
	}
	return nil, err
}

const (
	imitatedFacts = "NEARFAR_TEST_IMITATED"
	echoVerb      = "test-echo"
	askVerb       = "test-ask"
	// asked is how many datagrams of askedSize bytes a trial sends.
	asked, askedSize = 4000, 500
	askedPort        = 7777
	// middle is where the test is told that half of a trial is over. The name belongs to the test's network namespace.
	middle = "@nearfar-test-middle"
)

// echo answers datagrams until it is ended.
func echo() error {
	c, err := net.ListenPacket("udp4", fmt.Sprintf(":%d", askedPort))
	if err != nil {
		return err
	}
	b := make([]byte, 2*askedSize)
	for {
		n, from, err := c.ReadFrom(b)
		if err == nil {
			_, err = c.WriteTo(b[:n], from)
		}
		if err != nil {
			return err
		}
	}
}

// ask sends datagrams to an address, each when the one before has been answered, and prints how many were answered. In
// the middle it waits for whoever listens at middle.
func ask(to string) error {
	c, err := net.Dial("udp4", net.JoinHostPort(to, strconv.Itoa(askedPort)))
	if err != nil {
		return err
	}
	b := make([]byte, 2*askedSize)
	answered := 0
	for n := range asked {
		if n == asked/2 {
			if err := await(middle); err != nil {
				return err
			}
		}
		if _, err := c.Write(b[:askedSize]); err != nil {
			return err
		}
		if err := c.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
			return err
		}
		if _, err := c.Read(b); err != nil {
			return err
		}
		answered++
	}
	_, err = fmt.Println(answered)
	return err
}

// await waits until the listener at a name of unix(7) closes the connection.
func await(name string) error {
	c, err := net.Dial("unix", name)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, c)
	return errors.Join(err, c.Close())
}

// asks is a tool of echo and ask.
type asks struct{}

func (asks) Name() string { return "native" }

func (asks) Plan(_ experiment.Workload, pair host.Pair) (tool.Plan, error) {
	return tool.Plan{
		Server:   &tool.Command{Argv: []string{host.Self, echoVerb, "-", "-"}},
		Ready:    tool.Ready{Protocol: "udp", Port: askedPort},
		Client:   tool.Command{Argv: []string{host.Self, askVerb, pair.Server.Dial.V4.String(), "-"}},
		Expected: time.Second,
	}, nil
}

func (asks) Parse(out tool.Output) (result.Measurement, error) {
	n, err := strconv.Atoi(strings.TrimSpace(string(out.Stdout)))
	return result.Measurement{
		Mode: experiment.RR, Protocol: experiment.UDP, Metrics: []result.Metric{
			{Name: result.Received, Unit: result.One, Value: float64(n)}},
	}, err
}

func (asks) Probe() tool.Probe { return tool.Probe{} }

func (a asks) Lookup(string) (tool.Tool, bool) { return a, true }

// memory keeps trials.
type memory struct{ trials []result.Trial }

func (m *memory) Append(t result.Trial) error {
	m.trials = append(m.trials, t)
	return nil
}

func (*memory) WriteRaw(name string, _ []byte) (string, error) { return name, nil }

// TestPathSwitchedInATrial: hosts in two namespaces have two paths to each other. The runner measures three trials, and
// in the middle of the second one the client's packets take the other path.
func TestPathSwitchedInATrial(t *testing.T) {
	if os.Getenv(imitatedFacts) == "" {
		again(t)
		return
	}
	far := twoPaths(t)
	open := func(name, address string) *agent.Client {
		c, err := local.Open(t.Context(), agent.Options{
			Name: name, Endpoint: host.Endpoint{Name: name, Dial: host.Addresses{V4: netip.MustParseAddr(address)}},
		}, t.TempDir())
		if err != nil {
			t.Error(err)
		}
		return c
	}
	client := open("client", "192.0.2.1")
	var server *agent.Client
	inNamespace(t, far, func() error {
		server = open("server", "192.0.2.2")
		return nil
	})
	defer func() {
		if err := errors.Join(client.Close(), server.Close()); err != nil {
			t.Error(err)
		}
	}()
	e := &experiment.Experiment{
		Baseline: "a", Schedule: experiment.Schedule{Blocks: 3, Seed: 1},
		Arms: []experiment.Arm{{Name: "a", Client: "client", Server: "server", Expect: []check.Expectation{
			{Name: check.ExpectAccelerated, Value: true}, {Name: check.ExpectSameNode, Value: true},
		}}},
		Workloads: []experiment.Workload{{Name: "w", Tool: "native", Mode: experiment.RR, Protocol: experiment.UDP,
			IP: experiment.IPv4, Request: askedSize, Response: askedSize,
			Placement: experiment.Placement{Kind: experiment.PlacementFree}}},
	}
	hosts := host.Hosts{Client: client.Host(), Server: server.Host()}
	hosts.Machines = newMachines(client, server, endsOf(e, hosts.Client, hosts.Server))
	d := &Deployment{experiment: e, hosts: map[string]host.Hosts{"a": hosts}}
	kept := &memory{}
	atMiddle(t, func(trial int) {
		if trial == 2 {
			steer(t, "syn0")
		}
	})
	r := runner.New(e, asks{}, d.hosts, runner.DefaultLimits(), func(event runner.Event) {
		if event.Trial != nil {
			steer(t, "vf0")
		}
	})
	r.Deployed(func(ctx context.Context, n int) (map[string]result.Sides[check.Facts], error) {
		return d.ReadFacts(ctx, n), nil
	})
	if err := r.Run(t.Context(), kept, nil); err != nil {
		t.Fatal(err)
	}
	for i, want := range []check.Outcome{check.Proved, check.Refuted, check.Proved} {
		trial := kept.trials[i]
		if trial.Error != "" || len(trial.Expect) != 2 || trial.Expect[0].Outcome != want ||
			trial.Expect[1].Outcome != check.Proved {
			t.Errorf("trial %d: %q %+v", trial.Trial, trial.Error, trial.Expect)
			continue
		}
		t.Logf("trial %d: %s: %s", trial.Trial, trial.Expect[0].Outcome, trial.Expect[0].Evidence)
		for side, c := range map[string]*check.Counters{
			"client": trial.Counters.Client, "server": trial.Counters.Server,
		} {
			t.Logf("%s: both readings took %.2f ms", side, 1000*c.Seconds)
		}
	}
}

// again runs this test in a network namespace of its own, in which all of its hosts imitate Azure.
func again(t *testing.T) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v", "-test.timeout=120s")
	cmd.Env = append(os.Environ(), imitatedFacts+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		t.Skipf("no network namespace can be made here: %v", err)
	}
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Fatalf("in the namespace: %v\n%s", err, out)
	}
	t.Logf("%s", out)
}

// inNamespace runs f on a thread in a network namespace.
func inNamespace(t *testing.T, space *os.File, f func() error) {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		err := unix.Setns(int(space.Fd()), unix.CLONE_NEWNET)
		if err == nil {
			err = f()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// twoPaths makes a second namespace, and in both a bridge br0 with the ports vf0 and syn0. Each port leads to the port
// of the same name on the other side. No port forwards to the other one, because the paths form a ring.
func twoPaths(t *testing.T) (far *os.File) {
	t.Helper()
	made := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := unix.Unshare(unix.CLONE_NEWNET)
		if err == nil {
			far, err = os.Open("/proc/thread-self/ns/net")
		}
		made <- err
	}()
	if err := <-made; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = far.Close() })
	for _, name := range []string{"vf0", "syn0"} {
		attributes := netlink.NewLinkAttrs()
		attributes.Name = name
		if err := netlink.LinkAdd(&netlink.Veth{
			LinkAttrs: attributes, PeerName: name, PeerNamespace: netlink.NsFd(far.Fd()),
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := bridged(1, 2); err != nil {
		t.Fatal(err)
	}
	inNamespace(t, far, func() error { return bridged(2, 1) })
	inNamespace(t, far, forwarding)
	if err := forwarding(); err != nil {
		t.Fatal(err)
	}
	return far
}

// forwarding waits until the bridge in the calling thread's namespace forwards to both of its ports. The kernel makes
// a device operational up to a second after its peer came up, and a bridge drops what other ports receive.
func forwarding() error {
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		var down []string
		for _, name := range []string{"vf0", "syn0"} {
			port, err := netlink.LinkByName(name)
			if err != nil {
				return err
			}
			if port.Attrs().OperState != netlink.OperUp {
				down = append(down, name)
			}
		}
		if len(down) == 0 {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("not operational after a minute: %v", down)
		}
	}
}

// hardware is the hardware address of a side.
func hardware(side byte) net.HardwareAddr { return net.HardwareAddr{2, 0, 0, 0, 0, side} }

// bridged makes the bridge of a side in the calling thread's namespace.
func bridged(own, other byte) error {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return err
	}
	attributes := netlink.NewLinkAttrs()
	attributes.Name, attributes.HardwareAddr = "br0", hardware(own)
	bridge := &netlink.Bridge{LinkAttrs: attributes}
	if err := netlink.LinkAdd(bridge); err != nil {
		return err
	}
	errs := []error{netlink.LinkSetUp(lo)}
	for _, name := range []string{"br0", "vf0", "syn0"} {
		// Otherwise IPv6 sends packets by itself.
		err := os.WriteFile("/proc/sys/net/ipv6/conf/"+name+"/disable_ipv6", []byte("1"), 0)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	for _, name := range []string{"vf0", "syn0"} {
		port, err := netlink.LinkByName(name)
		if err != nil {
			return err
		}
		errs = append(errs, netlink.LinkSetMaster(port, bridge), netlink.LinkSetLearning(port, false),
			netlink.LinkSetIsolated(port, true), netlink.LinkSetUp(port))
	}
	address, err := netlink.ParseAddr(fmt.Sprintf("192.0.2.%d/24", own))
	if err != nil {
		return err
	}
	errs = append(errs, netlink.LinkSetUp(bridge), netlink.AddrAdd(bridge, address), netlink.NeighAdd(&netlink.Neigh{
		LinkIndex: bridge.Attrs().Index, State: netlink.NUD_PERMANENT, IP: net.IPv4(192, 0, 2, other),
		HardwareAddr: hardware(other),
	}), lead("vf0", other))
	return errors.Join(errs...)
}

// lead lets the bridge send packets for a side through a port.
func lead(name string, to byte) error {
	port, err := netlink.LinkByName(name)
	if err != nil {
		return err
	}
	bridge, err := netlink.LinkByName("br0")
	if err != nil {
		return err
	}
	return netlink.NeighSet(&netlink.Neigh{
		LinkIndex: port.Attrs().Index, MasterIndex: bridge.Attrs().Index, Family: unix.AF_BRIDGE,
		State: netlink.NUD_NOARP | netlink.NUD_PERMANENT, Flags: netlink.NTF_MASTER, HardwareAddr: hardware(to),
	})
}

// steer lets the client's packets leave through a port.
func steer(t *testing.T, port string) {
	if err := lead(port, 2); err != nil {
		t.Error(err)
	}
}

// atMiddle calls f with the number of each trial, from 1, in the middle of it.
func atMiddle(t *testing.T, f func(trial int)) {
	t.Helper()
	l, err := net.Listen("unix", middle)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for trial := 1; ; trial++ {
			c, err := l.Accept()
			if err != nil {
				return // the test ends
			}
			f(trial)
			_ = c.Close() // ask notices
		}
	}()
}

// imitate runs the verbs of this test's hosts; false for other verbs.
func imitate(verb string) (ran bool, err error) {
	switch verb {
	case echoVerb:
		return true, echo()
	case askVerb:
		return true, ask(os.Args[2])
	case check.Verb:
		if os.Getenv(imitatedFacts) == "" {
			return false, nil
		}
		f := imitation().Read(check.Options{To: netip.MustParseAddr(os.Args[3])})
		return true, json.NewEncoder(os.Stdout).Encode(f)
	}
	return false, nil
}
