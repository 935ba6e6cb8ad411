package captures

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// network makes two VMs, each behind a bridge and the VTEP of its host, with VXLAN over IPv6 in between. The namespaces
// end with the test.
func network(t *testing.T) (in func(space string) string) {
	t.Helper()
	in = func(space string) string { return fmt.Sprintf("nfcap-%d-%s", os.Getpid(), space) }
	ip := func(format string, args ...any) {
		t.Helper()
		line := fmt.Sprintf(format, args...)
		if said, err := exec.Command("ip", strings.Fields(line)...).CombinedOutput(); err != nil {
			t.Fatalf("ip %s: %v: %s", line, err, said)
		}
	}
	for _, space := range []string{"client", "a", "b", "server"} {
		ip("netns add %s", in(space))
		t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", in(space)).Run() })
		ip("-n %s link set lo up", in(space))
	}
	ip("link add c0 netns %s type veth peer name p0 netns %s", in("client"), in("a"))
	ip("link add s0 netns %s type veth peer name p0 netns %s", in("server"), in("b"))
	ip("link add ul0 netns %s type veth peer name ul0 netns %s", in("a"), in("b"))
	for i, space := range []string{"a", "b"} {
		own, peer := i+1, 2-i
		ip("-n %s link add br0 type bridge", in(space))
		ip("-n %s link set p0 master br0", in(space))
		ip("-n %s addr add fd00:99::%d/64 dev ul0 nodad", in(space), own)
		ip("-n %s link set ul0 up", in(space))
		ip("-n %s link add vx0 type vxlan id 257 dstport 4789 local fd00:99::%d remote fd00:99::%d dev ul0", in(space), own,
			peer)
		ip("-n %s link set vx0 master br0", in(space))
		for _, device := range []string{"p0", "br0", "vx0"} {
			ip("-n %s link set %s up", in(space), device)
		}
	}
	for space, address := range map[string]string{"client": "10.1.0.1/16 dev c0", "server": "10.1.1.2/16 dev s0"} {
		ip("-n %s addr add %s", in(space), address)
	}
	ip("-n %s link set c0 up", in("client"))
	ip("-n %s link set s0 up", in("server"))
	return in
}

// startCapture starts a tcpdump, and returns when it captures. The function that it gives ends it.
func startCapture(t *testing.T, space, device, file string, more ...string) (stop func()) {
	t.Helper()
	args := append([]string{"netns", "exec", space, "tcpdump", "-i", device, "-s", "192", "--time-stamp-precision=nano",
		"--immediate-mode", "-U", "-Z", "root", "-w", file}, more...)
	cmd := exec.Command("ip", args...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(stderr)
	said := ""
	for !strings.Contains(said, "listening on") {
		line, err := lines.ReadString('\n')
		said += line
		if err != nil {
			t.Fatalf("tcpdump: %v: %s", err, said)
		}
	}
	return func() {
		if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Error(err)
		}
		rest, _ := io.ReadAll(lines) // it ends with the process
		if err := cmd.Wait(); err != nil {
			t.Errorf("tcpdump: %v: %s%s", err, said, rest)
		}
	}
}

// TestLive captures with tcpdump between real namespaces, before and after each VTEP, while ping runs. Every echo is
// matched at all points, and the segments add up to the round trip.
func TestLive(t *testing.T) {
	if testing.Short() || os.Geteuid() != 0 {
		t.Skip("makes namespaces, which takes root")
	}
	for _, program := range []string{"ip", "tcpdump", "ping"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("%s must be installed for this test: %v", program, err)
		}
	}
	in, dir := network(t), t.TempDir()
	ping := func(args ...string) {
		t.Helper()
		args = append([]string{"netns", "exec", in("client"), "ping", "-q"}, append(args, "10.1.1.2")...)
		if said, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, said)
		}
	}
	ping("-c", "1", "-w", "20") // the neighbours are then known
	places := []struct{ name, space, device, clock, filter string }{
		{"client", "client", "c0", "", "host 10.1.1.2"},
		{"a-before", "a", "p0", "a", "host 10.1.1.2"},
		{"a-behind", "a", "ul0", "a", "udp port 4789"},
		{"b-behind", "b", "ul0", "b", "udp port 4789"},
		{"b-before", "b", "p0", "b", "host 10.1.1.2"},
	}
	var stops []func()
	var points []Point
	for _, p := range places {
		file := filepath.Join(dir, p.name+".pcap")
		stops = append(stops, startCapture(t, in(p.space), p.device, file, strings.Fields(p.filter)...))
		points = append(points, Point{Name: p.name, Clock: p.clock, Files: []File{{Path: file}}})
	}
	any := filepath.Join(dir, "any.pcap")
	stops = append(stops, startCapture(t, in("a"), "any", any))
	const echoes = 150
	ping("-c", fmt.Sprint(echoes), "-i", "0.002")
	open := func(path string) (io.ReadCloser, error) { return os.Open(path) }
	// tcpdump leaves behind what it has not read when it is ended.
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if r, err := Read(t.Context(), Options{Points: points, Open: open}); err == nil && r.Matched == echoes {
			break
		}
	}
	for _, stop := range stops {
		stop()
	}
	r, err := Read(t.Context(), Options{Points: points, Open: open})
	if err != nil {
		t.Fatal(err)
	}
	if r.Matched != echoes || r.Protocol != "icmp" || r.Client != "10.1.0.1" {
		t.Errorf("%+v", r)
	}
	sum := 0.0
	for i, s := range r.Segments {
		sum += s.Both.Mean
		if s.Both.Mean <= 0 {
			t.Errorf("%s - %s: %+v", s.From, s.To, s.Both)
		}
		if one := i == 1 || i == 3; (s.There != nil) != one || one && (s.There.P50 <= 0 || s.Back.P50 <= 0) {
			t.Errorf("%s - %s: there %+v, back %+v", s.From, s.To, s.There, s.Back)
		}
	}
	if whole := r.Points[0].Turnaround.Mean; sum < whole*0.9999 || sum > whole*1.0001 {
		t.Errorf("the segments add up to %g, the whole is %g", sum, whole)
	}
	for i, carried := range []string{"plain", "plain", "vxlan 257", "vxlan 257", "plain"} {
		if p := r.Points[i]; p.Carried[carried] != 2*echoes {
			t.Errorf("%+v", p)
		}
	}
	// In the file of the device "any" are all devices, which have numbers.
	_, err = Read(t.Context(), Options{Points: []Point{{Name: "x", Files: []File{{Path: any}}}}, Open: open})
	if err == nil || !strings.Contains(err.Error(), "name one, for example x="+any+":") {
		t.Error(err)
	}
}
