//go:build linux

package ssh

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nearfar/internal/hosts/hosttest"
	"nearfar/internal/onhost/agent"
	"nearfar/internal/onhost/host"
)

// realMark at the end of this program's file makes it the real agent.
const realMark = "\nreal agent\n"

// real is Options.Agents with the real agent, which is this program too.
func (r *rig) real(host.System) (Program, error) {
	b, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return Program{}, err
	}
	return realProgram(b)
}

// realProgram is compressed once.
var realProgram = func() func(b []byte) (Program, error) {
	var once sync.Once
	var p Program
	var err error
	return func(b []byte) (Program, error) {
		once.Do(func() { p, err = pack(append(bytes.Clone(b), realMark...)) })
		return p, err
	}
}()

// isReal says that this process runs from a file with the mark.
func isReal() bool {
	f, err := os.Open("/proc/self/exe")
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return false
	}
	end := make([]byte, len(realMark))
	_, err = f.ReadAt(end, info.Size()-int64(len(end)))
	return err == nil && string(end) == realMark
}

// endpoint is where the other host of a pair measures a host.
func endpoint(name string, port int) host.Endpoint {
	e := host.Endpoint{Name: name, Port: port}
	switch name {
	case "ordinary":
		e.Dial.V4 = netip.MustParseAddr(plainData)
	case "behind":
		e.Dial.V4 = netip.MustParseAddr(behindData)
	case "single":
		e.Dial.V6 = netip.MustParseAddr(singleData)
	case "six":
		e.Dial.V6 = netip.MustParseAddr(sixData)
	}
	e.Bind = e.Dial
	return e
}

// connected is a connection of the real client to the real agent.
type connected struct {
	*agent.Client
	dials atomic.Int32
	mu    sync.Mutex
	last  *connection
}

// connectReal connects to the real agent of a host.
func connectReal(t *testing.T, o Options) *connected {
	t.Helper()
	connect := Dial(o)
	c := &connected{}
	client, err := agent.Connect(t.Context(), func(ctx context.Context) (io.ReadWriteCloser, error) {
		made, err := connect(ctx)
		if err == nil {
			c.dials.Add(1)
			c.mu.Lock()
			c.last = made.(*connection)
			c.mu.Unlock()
		}
		return made, err
	}, o.Agent)
	if err != nil {
		t.Fatal(err)
	}
	c.Client = client
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Errorf("closing the agent: %v", err)
		}
	})
	return c
}

// realOptions are options with the real agent.
func (r *rig) realOptions(name string, port int) Options {
	o := r.options(name)
	o.Agents = r.real
	o.Agent.Endpoint = endpoint(name, port)
	return o
}

// leavesNothing checks after the test that no host has files of an agent that were not there before it.
func leavesNothing(t *testing.T, r *rig) {
	t.Helper()
	folders := func() (found []string) {
		for _, pattern := range []string{r.dir + "/home/*/nearfar-*", r.dir + "/home/*/.cache/nearfar-*"} {
			more, err := filepath.Glob(pattern)
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, more...)
		}
		return found
	}
	before := folders()
	t.Cleanup(func() {
		waitFor(t, "the end of the agents' folders", func() bool {
			return !slices.ContainsFunc(folders(), func(f string) bool { return !slices.Contains(before, f) })
		})
	})
}

// allHosts is the environment variable that makes TestConformance use all pairs of hosts.
const allHosts = "NEARFAR_ALL_HOSTS"

// TestConformance runs the suite on a host with MaxSessions 1 and one with IPv6 alone. With NEARFAR_ALL_HOSTS it also
// runs it on an ordinary user and a host behind a jump host, which takes another minute.
func TestConformance(t *testing.T) {
	if testing.Short() {
		t.Skip("each of its tests starts two agents")
	}
	r := useRig(t)
	leavesNothing(t, r)
	var port atomic.Int32
	port.Store(20000)
	for _, pair := range []struct {
		client, server string
		ipv6           bool
	}{{"ordinary", "behind", false}, {"single", "six", true}} {
		if pair.client == "ordinary" && os.Getenv(allHosts) == "" {
			continue
		}
		t.Run(pair.client+" and "+pair.server, func(t *testing.T) {
			t.Parallel()
			hosttest.Run(t, hosttest.Kind{
				Processes: true, Signals: true, Pinning: true, Files: true, IPv6: pair.ipv6,
				Hosts: func(t *testing.T) (client, server host.Host) {
					first := int(port.Add(8))
					return connectReal(t, r.realOptions(pair.client, first)).Host(),
						connectReal(t, r.realOptions(pair.server, first+4)).Host()
				},
			})
		})
	}
}

// TestReconnect cuts the connection three times while a process runs: ssh is killed twice, the session's sshd once. The
// process continues, and all of its output arrives.
func TestReconnect(t *testing.T) {
	r := useRig(t)
	leavesNothing(t, r)
	c := connectReal(t, r.realOptions("single", 0))
	var out lineCounter
	p, err := c.Host().Start(t.Context(), host.Cmd{Stdout: &out, Argv: []string{
		"sh", "-c", "i=0; while [ $i -lt 200 ]; do i=$((i+1)); echo $i; sleep 0.02; done; exit 7"}})
	if err != nil {
		t.Fatal(err)
	}
	for i, cut := range []func(){
		func() { c.killSSH() },
		func() { r.killSessions(t, "single") },
		func() { c.killSSH() },
	} {
		waitFor(t, "output", func() bool { return out.lines() > 10*(i+1) })
		cut()
		waitFor(t, "another connection", func() bool { return int(c.dials.Load()) == i+2 })
	}
	var exit *host.ExitError
	if err := p.Wait(); !errors.As(err, &exit) || exit.Code != 7 {
		t.Errorf("the process ended with %v", err)
	}
	want := ""
	for i := 1; i <= 200; i++ {
		want += fmt.Sprintln(i)
	}
	if got := out.String(); got != want {
		t.Errorf("the output is %q", got)
	}
	if c.dials.Load() != 4 {
		t.Errorf("%d connections", c.dials.Load())
	}
}

func (c *connected) killSSH() {
	c.mu.Lock()
	defer c.mu.Unlock()
	destroy(c.last.cmd)
}

// lineCounter keeps the output.
type lineCounter struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lineCounter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lineCounter) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *lineCounter) lines() int { return strings.Count(l.String(), "\n") }

// TestAgentGone: a host whose agent was killed is lost at once, and not after the time of silence.
func TestAgentGone(t *testing.T) {
	r := useRig(t)
	c := connectReal(t, r.realOptions("plain", 0))
	var out lineCounter
	p, err := c.Host().Start(t.Context(), host.Cmd{
		Argv: []string{"sh", "-c", "echo $PPID; exec sleep 1000"}, Stdout: &out})
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the number of the agent", func() bool { return out.lines() > 0 })
	pid, err := strconv.Atoi(strings.TrimSpace(out.String()))
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); !errors.Is(err, host.ErrLost) {
		t.Errorf("a process whose agent was killed gives %v", err)
	}
	t.Logf("lost after %v", time.Since(begin).Round(time.Millisecond))
}

// TestTwentyAgents connects to twenty names at once, and prints how long that takes until all agents are ready.
func TestTwentyAgents(t *testing.T) {
	r := useRig(t)
	leavesNothing(t, r)
	p, err := r.real(host.System{})
	if err != nil {
		t.Fatal(err)
	}
	before := heap()
	begin := time.Now()
	clients := make([]*agent.Client, 20)
	errs := make([]error, len(clients))
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			o := r.realOptions(fmt.Sprintf("plain-%d", i), 0)
			clients[i], errs[i] = Connect(t.Context(), o)
		})
	}
	wg.Wait()
	t.Logf("twenty agents were ready after %v (an agent of %.1f MB, %.1f MB compressed)",
		time.Since(begin).Round(time.Millisecond), float64(p.Size)/1e6, float64(len(p.Gzip))/1e6)
	t.Logf("nearfar uses %.1f MB for them", float64(heap()-before)/1e6)
	for i, c := range clients {
		if errs[i] != nil {
			t.Error(errs[i])
			continue
		}
		wg.Go(func() {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// heap is how many bytes of memory this process uses for what it still needs.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// TestSudoAgent: an agent behind sudo leaves nothing in the folder of the user. The program in place of sudo does not
// become root.
func TestSudoAgent(t *testing.T) {
	r := useRig(t)
	leavesNothing(t, r)
	o := r.realOptions("rootsudo@plain", 0)
	o.Sudo = true
	c := connectReal(t, o)
	var out lineCounter
	p, err := c.Host().Start(t.Context(), host.Cmd{Argv: []string{"sh", "-c", "echo $SUDO"}, Stdout: &out})
	if err == nil {
		err = p.Wait()
	}
	if err != nil || out.String() != "1\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}

// TestLinkDown: a link that is down for three seconds does not disturb what runs; a link that stays down loses the host
// within its limits.
func TestLinkDown(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes as long as a link is down")
	}
	t.Parallel() // it only waits; no other parallel test uses this link
	r := useRig(t)
	leavesNothing(t, r)
	set := func(change func(netlink.Link) error) {
		t.Helper()
		err := r.in("", func() error {
			l, err := netlink.LinkByName("single")
			if err != nil {
				return err
			}
			return change(l)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	o := r.realOptions("single", 0)
	o.Agent.Silence = 15 * time.Second
	c := connectReal(t, o)
	var out lineCounter
	script := host.Cmd{Stdout: &out, Argv: []string{
		"sh", "-c", "i=0; while [ $i -lt 60 ]; do i=$((i+1)); echo $i; sleep 0.1; done"}}
	p, err := c.Host().Start(t.Context(), script)
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, "output", func() bool { return out.lines() > 3 })
	set(netlink.LinkSetDown)
	up := time.AfterFunc(3*time.Second, func() { set(netlink.LinkSetUp) })
	t.Cleanup(func() {
		up.Stop()
		set(netlink.LinkSetUp)
	})
	if err := p.Wait(); err != nil || out.lines() != 60 {
		t.Errorf("after 3 s without a link: %v, %d lines of 60, %d connections", err, out.lines(), c.dials.Load())
	}
	t.Logf("3 s without a link: %d connections in all", c.dials.Load())

	script.Argv[2] = "echo started; sleep 1000"
	p, err = c.Host().Start(t.Context(), script)
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, "output", func() bool { return strings.Contains(out.String(), "started") })
	set(netlink.LinkSetDown)
	begin := time.Now()
	if err := p.Wait(); !errors.Is(err, host.ErrLost) {
		t.Errorf("a link that stays down gives %v", err)
	} else {
		t.Logf("lost after %v: %v", time.Since(begin).Round(100*time.Millisecond), err)
	}
	if took := time.Since(begin); took > 3*o.Agent.Silence {
		t.Errorf("the host was lost after %v, with a silence of %v", took, o.Agent.Silence)
	}
}

// controllerLevel is the level of the test binary's process that a test kills.
const controllerLevel = "controller"

// controllerMain connects to a host, starts a process there, and does not end. args are ssh's configuration, the name
// and the rig's folder.
func controllerMain(args []string) int {
	r := &rig{dir: args[2], config: args[0]}
	o := r.realOptions(args[1], 0)
	o.Agent.Silence = 2 * time.Second
	c, err := Connect(context.Background(), o)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	_, err = c.Host().Start(context.Background(), host.Cmd{
		Argv: []string{"sh", "-c", "echo $$; exec sleep 1000"}, Stdout: os.Stdout})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	select {}
}

// TestControllerKilled kills nearfar's side: no ssh is left here, and nothing on the host.
func TestControllerKilled(t *testing.T) {
	r := useRig(t)
	leavesNothing(t, r)
	config := filepath.Join(t.TempDir(), "config") // its path is in the command line of each ssh
	if err := os.Symlink(r.config, config); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe", config, "behind", r.dir)
	cmd.Env = append(os.Environ(), levelVariable+"="+controllerLevel)
	var out lineCounter
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	waitFor(t, "the process on the host", func() bool { return out.lines() > 0 })
	pid := strings.TrimSpace(out.String())
	if !exists("/proc/"+pid) || len(running(t, config)) < 2 { // ssh, and that of the jump host
		t.Fatalf("the controller printed %q, and %q run", pid, running(t, config))
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	waitFor(t, "the end of ssh", func() bool { return len(running(t, config)) == 0 })
	t.Logf("ssh ended after %v", time.Since(begin).Round(time.Millisecond))
	waitFor(t, "the end of the process", func() bool { return !exists("/proc/" + pid) })
	t.Logf("the process on the host ended after %v", time.Since(begin).Round(time.Millisecond))
}

// running lists the command lines of ssh that have a text in them.
func running(t *testing.T, text string) (lines []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		// A process may have ended in the meantime.
		b, _ := os.ReadFile(f)
		line := strings.ReplaceAll(string(b), "\x00", " ")
		if strings.HasPrefix(line, "ssh ") && strings.Contains(line, text) {
			lines = append(lines, line)
		}
	}
	return lines
}
