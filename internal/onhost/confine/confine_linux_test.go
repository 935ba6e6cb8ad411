package confine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The first words of the test binary where it is another program.
const (
	runVerb   = "confine-test-run"
	echoVerb  = "confine-test-echo"
	tellVerb  = "confine-test-tell"
	quickTime = 400 * time.Millisecond // for what must not come
)

// TestMain lets the test binary be nearfar, and the programs that it confines.
func TestMain(m *testing.M) {
	var err error
	switch {
	case len(os.Args) < 2:
		os.Exit(m.Run())
	case os.Args[1] == runVerb:
		var o Options
		if err = json.Unmarshal([]byte(os.Args[2]), &o); err == nil {
			err = Run(os.Args[3:], o, os.Stderr)
		}
	case os.Args[1] == SocketsVerb:
		o := Options{}
		for i := 2; i+1 < len(os.Args) && err == nil; i += 2 {
			into := &o.Peers
			if os.Args[i] == "--within" {
				into = &o.Within
			}
			*into, err = ParsePrefixes(os.Args[i+1])
		}
		if err == nil {
			err = ServeSockets(o)
		}
	case os.Args[1] == echoVerb:
		err = echo(os.Args[2], os.Args[3])
	case os.Args[1] == tellVerb:
		err = tell(os.Args[2])
	default:
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// echo answers over TCP and UDP with what comes. It says so when it listens.
func echo(network, address string) error {
	l, err := net.Listen("tcp"+network, address)
	if err != nil {
		return err
	}
	u, err := net.ListenPacket("udp"+network, l.Addr().String())
	if err != nil {
		return err
	}
	fmt.Println(l.Addr().(*net.TCPAddr).Port)
	go func() {
		for b := make([]byte, 100); ; {
			n, from, err := u.ReadFrom(b)
			if err != nil {
				return
			}
			_, _ = u.WriteTo(b[:n], from)
		}
	}()
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go func() { _, _ = io.Copy(c, c) }()
	}
}

// Told is what a confined program finds.
type Told struct {
	User, Groups                                  int
	Capabilities                                  uint64
	Readable, Writable, Bound, Connected, Exposed []string
}

// tell tries what a program that is taken over would try.
func tell(text string) error {
	var try struct {
		Read, Write, Bind, Connect []string
		Filtered                   bool
	}
	if err := json.Unmarshal([]byte(text), &try); err != nil {
		return err
	}
	var t Told
	t.User = os.Getuid()
	groups, _ := os.Getgroups()
	t.Groups, t.Capabilities = len(groups), uint64(current())
	for _, path := range try.Read {
		if f, err := os.Open(path); err == nil {
			_ = f.Close()
			t.Readable = append(t.Readable, path)
		}
	}
	for _, path := range try.Write {
		if f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
			_ = f.Close()
			t.Writable = append(t.Writable, path)
		}
	}
	for _, at := range try.Bind {
		// Landlock knows TCP, and not Multipath TCP, for which Go listens by default.
		var plain net.ListenConfig
		plain.SetMultipathTCP(false)
		l, err := plain.Listen(context.Background(), "tcp4", at)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			continue
		}
		_ = l.Close()
		t.Bound = append(t.Bound, at)
	}
	for _, at := range try.Connect {
		if c, err := net.DialTimeout("tcp4", at, time.Second); err == nil {
			_ = c.Close()
			t.Connected = append(t.Connected, at)
		}
	}
	t.Exposed = exposed(try.Filtered)
	return json.NewEncoder(os.Stdout).Encode(t)
}

// exposed tries ways around the filter on sockets, and around the user.
func exposed(filtered bool) (all []string) {
	if fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0); err == nil {
		if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DETACH_FILTER, 0) == nil {
			all = append(all, "the filter of a socket")
		}
	}
	if _, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP); err == nil {
		all = append(all, "a raw socket")
	}
	if _, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, 0, 0); filtered && errno != unix.ENOSYS {
		all = append(all, "io_uring")
	}
	if unix.Setuid(0) == nil && os.Getuid() == 0 && current() != 0 {
		all = append(all, "root")
	}
	if unix.Kill(os.Getppid(), 0) == nil {
		all = append(all, "a signal to the starter")
	}
	return all
}

// confined is the command that runs this program confined. user is the one that starts it; 0 for this one.
func confined(ctx context.Context, t *testing.T, o Options, user uint32, argv ...string) *exec.Cmd {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(ctx, "/proc/self/exe", append([]string{runVerb, string(text)}, argv...)...)
	c.SysProcAttr = &syscall.SysProcAttr{}
	if user != 0 {
		c.SysProcAttr.Credential = &syscall.Credential{Uid: user, Gid: user}
	}
	return c
}

// self is a copy of the test binary that every user can run.
func self(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "nf") // netperf takes short names of files alone
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	path := filepath.Join(folder, "program")
	b, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = errors.Join(os.Chmod(folder, 0o755), os.WriteFile(path, b, 0o755))
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func prefixes(t *testing.T, text string) []netip.Prefix {
	t.Helper()
	all, err := ParsePrefixes(text)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// needs skips a test where the kernel cannot enforce what it is about.
func needs(t *testing.T) {
	t.Helper()
	if s := Supported(); s.Files != "" || s.Peers != "" {
		t.Skipf("%+v", s)
	}
}

// users are the users that start programs in tests.
func users(t *testing.T) map[string]uint32 {
	t.Helper()
	all := map[string]uint32{"this user": 0}
	if os.Getuid() == 0 {
		all["an ordinary user"] = 1_999_999_999
	}
	return all
}

// TestLeft: what is left to a program that is taken over, whoever started it.
func TestLeft(t *testing.T) {
	needs(t)
	program, folder := self(t), t.TempDir()
	secret := filepath.Join(filepath.Dir(program), "secret")
	if err := os.WriteFile(secret, []byte("x"), 0o644); err != nil { // every user may read it
		t.Fatal(err)
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	free, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := free.Addr().(*net.TCPAddr).Port
	_ = free.Close()
	own, open := fmt.Sprintf("127.0.0.1:%d", port), l.Addr().String()
	tries := map[string]any{
		"Read": []string{secret, "/etc/shadow", "/etc/passwd", "/etc/machine-id", "/proc/self/environ", "/proc/1/cmdline",
			"/dev/urandom"},
		"Write": []string{"/dev/null", filepath.Join(folder, "x"), filepath.Join(os.TempDir(), "nearfar-confine-x"), "/dev/tty0"},
		"Bind":  []string{own, "127.0.0.1:0"}, "Connect": []string{open},
	}
	for name, user := range users(t) {
		for _, strict := range []bool{true, false} {
			// Some kernels let only root put filters on TCP sockets.
			o := Options{Ports: []int{port}, Strict: strict}
			if tries["Filtered"] = user == 0; user == 0 {
				o.Peers = prefixes(t, "127.0.0.2")
			}
			try, err := json.Marshal(tries)
			if err != nil {
				t.Fatal(err)
			}
			c := confined(t.Context(), t, o, user, program, tellVerb, string(try))
			var said bytes.Buffer
			c.Stderr = &said
			printed, err := c.Output()
			if err != nil {
				t.Errorf("%s: %v, %s", name, err, &said)
				continue
			}
			var got Told
			if err := json.Unmarshal(printed, &got); err != nil {
				t.Fatal(err)
			}
			readable := []string{"/dev/urandom"}
			if !strict {
				readable = []string{"/etc/passwd", "/proc/self/environ", "/proc/1/cmdline", "/dev/urandom"}
			}
			if fmt.Sprint(got.Readable) != fmt.Sprint(readable) || fmt.Sprint(got.Writable) != "[/dev/null]" ||
				fmt.Sprint(got.Bound) != "["+own+"]" || len(got.Connected)+len(got.Exposed) > 0 ||
				got.Capabilities != 0 || got.Groups != 0 {
				t.Errorf("%s, strict %v: %+v; it said %s", name, strict, got, &said)
			}
			if root := os.Getuid() == 0 && user == 0; root && Supported().User == "" && got.User < firstUser {
				t.Errorf("%s: its user is %d; it said %s", name, got.User, &said)
			}
		}
	}
}

// startEcho starts an echo, and returns its port. Its end is noticed by ended.
func startEcho(t *testing.T, o Options, network, address string) (port string, c *exec.Cmd) {
	t.Helper()
	c = confined(t.Context(), t, o, 0, self(t), echoVerb, network, address)
	c.Stderr = t.Output()
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	b := make([]byte, 20)
	n, err := out.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(b[:n])), c
}

// answers says whether a server answers a client with an address of its own.
func answers(t *testing.T, network, from, to string) bool {
	t.Helper()
	d := net.Dialer{Timeout: quickTime}
	if from != "" {
		ip := net.ParseIP(from)
		d.LocalAddr = &net.TCPAddr{IP: ip}
		if network == "udp" {
			d.LocalAddr = &net.UDPAddr{IP: ip}
		}
	}
	c, err := d.Dial(network, to)
	if err != nil {
		return false
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(quickTime))
	if _, err := c.Write([]byte("hello")); err != nil {
		return false
	}
	b := make([]byte, 5)
	_, err = io.ReadFull(c, b)
	return err == nil && string(b) == "hello"
}

// TestPeers: only peers are served, over TCP and UDP, also by sockets of IPv6 that serve IPv4.
func TestPeers(t *testing.T) {
	needs(t)
	for name, c := range map[string]struct {
		peers, within, network, bind, to string
		served                           map[string]bool // by the client's address
	}{
		"addresses": {"127.0.0.2,127.0.0.4,::2", "", "4", "127.0.0.1:0", "127.0.0.1",
			map[string]bool{"127.0.0.2": true, "127.0.0.3": false, "127.0.0.4": true, "127.0.0.1": false}},
		"a network": {"127.0.2.0/23", "", "4", "0.0.0.0:0", "127.0.0.1",
			map[string]bool{"127.0.3.255": true, "127.0.1.255": false, "127.0.4.0": false}},
		"both limits": {"127.0.0.0/24", "127.0.0.8/29", "4", "127.0.0.1:0", "127.0.0.1",
			map[string]bool{"127.0.0.9": true, "127.0.0.7": false, "127.0.1.9": false}},
		"the owner's alone": {"", "127.0.0.8/29", "4", "127.0.0.1:0", "127.0.0.1",
			map[string]bool{"127.0.0.9": true, "127.0.0.7": false}},
		"no peer of that version": {"fd00::/8", "", "4", "127.0.0.1:0", "127.0.0.1", map[string]bool{"127.0.0.2": false}},
		"both versions": {"127.0.0.2,fd00::1", "", "", "[::]:0", "127.0.0.1",
			map[string]bool{"127.0.0.2": true, "127.0.0.3": false}},
		"IPv6":            {"::1", "", "6", "[::1]:0", "::1", map[string]bool{"::1": true}},
		"another of IPv6": {"::/64,::2,fd00:1:2:3::/64", "::2", "6", "[::1]:0", "::1", map[string]bool{"::1": false}},
		"all of IPv6":     {"::/0", "", "6", "[::1]:0", "::1", map[string]bool{"::1": true}},
	} {
		t.Run(name, func(t *testing.T) {
			o := Options{Peers: prefixes(t, c.peers), Within: prefixes(t, c.within)}
			port, _ := startEcho(t, o, c.network, c.bind)
			for from, want := range c.served {
				for _, network := range []string{"tcp", "udp"} {
					if got := answers(t, network, from, net.JoinHostPort(c.to, port)); got != want {
						t.Errorf("%s from %s: answered %v", network, from, got)
					}
				}
			}
		})
	}
}

// TestMakerEnds: the process that makes the sockets ends with the program, however that ends.
func TestMakerEnds(t *testing.T) {
	needs(t)
	_, c := startEcho(t, Options{Peers: prefixes(t, "127.0.0.2")}, "4", "127.0.0.1:0")
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", c.Process.Pid, c.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	maker, err := strconv.Atoi(strings.TrimSpace(string(children)))
	if err != nil {
		t.Fatalf("its children are %q", children)
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); running(maker); {
		if time.Now().After(deadline) {
			t.Fatalf("process %d still runs", maker)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// running says whether a process runs; a zombie does not.
func running(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !bytes.Contains(stat, []byte(") Z "))
}

// TestNetserverGivesNoFile: a client that knows everything asks netserver for a file. Without being confined, netserver
// sends it.
func TestNetserverGivesNoFile(t *testing.T) {
	needs(t)
	if os.Getuid() != 0 {
		t.Skip("only root sees all packets")
	}
	for _, program := range []string{"netserver", "netperf"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatal(err)
		}
	}
	secret := filepath.Join(filepath.Dir(self(t)), "secret")
	content := strings.Repeat("this is a secret of the machine ", 500)
	if err := os.WriteFile(secret, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, strict := range map[string]bool{"as it is": false, "confined": true} {
		control, data := freePort(t), freePort(t)
		argv := []string{"netserver", "-D", "-f", "-L", "127.0.0.1,4", "-p", control, "-Z", "pass"}
		var server *exec.Cmd
		if strict {
			p, _ := ParsePorts(control + "," + data)
			server = confined(t.Context(), t, Options{Strict: true, Ports: p}, 0, argv...)
		} else {
			server = exec.CommandContext(t.Context(), argv[0], argv[1:]...)
		}
		var printed bytes.Buffer
		server.Stdout, server.Stderr = &printed, &printed
		if err := server.Start(); err != nil {
			t.Fatal(err)
		}
		awaitPort(t, control)
		stop, seen := make(chan struct{}), make(chan bool, 1)
		go func() { seen <- passes(t, "secret of the machine", stop) }()
		said, _ := exec.CommandContext(t.Context(), "timeout", "10", "netperf", "-H", "127.0.0.1,4", "-p", control, "-Z",
			"pass", "-t", "TCP_MAERTS", "-F", "/etc/passwd,"+secret, "-l", "1", "--", "-P", ","+data).CombinedOutput()
		_ = server.Process.Kill()
		_ = server.Wait()
		close(stop)
		if got := <-seen; got == strict {
			t.Errorf("%s: the file was sent: %v; netperf said %s", name, got, said)
		}
		if strict != strings.Contains(printed.String(), "Could not open requested fill file") {
			t.Errorf("%s: netserver said %s", name, &printed)
		}
	}
}

// passes says whether a packet with a text passes the loopback interface before stop is closed.
func passes(t *testing.T, text string, stop <-chan struct{}) bool {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, int(htons(unix.ETH_P_ALL)))
	if err != nil {
		t.Error(err)
		return false
	}
	defer func() { _ = unix.Close(fd) }()
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 50_000}); err != nil {
		t.Error(err)
	}
	for b := make([]byte, 1<<17); ; {
		if n, err := unix.Read(fd, b); err == nil && bytes.Contains(b[:n], []byte(text)) {
			<-stop
			return true
		}
		select {
		case <-stop:
			return false
		default:
		}
	}
}

func htons(n uint16) uint16 { return n<<8 | n>>8 }

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

// awaitPort waits until something listens on a port of 127.0.0.1. It does not connect: that would be the client.
func awaitPort(t *testing.T, port string) {
	t.Helper()
	n, _ := strconv.Atoi(port)
	want := fmt.Sprintf("0100007F:%04X 00000000:0000 0A", n)
	for deadline := time.Now().Add(10 * time.Second); ; {
		table, err := os.ReadFile("/proc/net/tcp")
		if err == nil && bytes.Contains(table, []byte(want)) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("nothing listens")
		}
		time.Sleep(5 * time.Millisecond)
	}
}
