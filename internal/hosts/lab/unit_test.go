//go:build linux

package lab

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/onhost/machine"
)

func TestPlacement(t *testing.T) {
	for _, c := range []struct {
		allowed        []int
		placement      experiment.Placement
		client, server []int
		problem        string
	}{
		{[]int{0, 1, 5}, experiment.Placement{Kind: experiment.PlacementShared}, []int{5}, []int{5}, ""},
		{[]int{3}, experiment.Placement{Kind: experiment.PlacementShared}, []int{3}, []int{3}, ""},
		{[]int{0, 1, 5}, experiment.Placement{Kind: experiment.PlacementSplit}, []int{5}, []int{1}, ""},
		{[]int{3}, experiment.Placement{Kind: experiment.PlacementSplit}, nil, nil, "split needs two CPUs"},
		{[]int{0, 1}, experiment.Placement{Kind: experiment.PlacementFree}, nil, nil, ""},
		{[]int{0, 1}, experiment.Placement{Kind: experiment.PlacementExplicit, Client: []int{0, 1}, Server: []int{1}},
			[]int{0, 1}, []int{1}, ""},
		{[]int{0, 1}, experiment.Placement{Kind: experiment.PlacementExplicit, Client: []int{0}, Server: []int{2}}, nil,
			nil, "names CPU 2; allowed are [0 1]"},
		{[]int{0, 1}, experiment.Placement{Kind: "wide"}, nil, nil, `unknown placement "wide"`},
	} {
		client, server, err := machine.Place(c.allowed, c.placement)
		if c.problem != "" {
			if err == nil || !strings.Contains(err.Error(), c.problem) {
				t.Errorf("%+v of %v: %v, want %q", c.placement, c.allowed, err, c.problem)
			}
			continue
		}
		if err != nil || !slices.Equal(client, c.client) || !slices.Equal(server, c.server) {
			t.Errorf("%+v of %v: %v %v %v", c.placement, c.allowed, client, server, err)
		}
	}
}

func TestExplain(t *testing.T) {
	files := func(content map[string]string) func(string) ([]byte, error) {
		return func(path string) ([]byte, error) {
			if s, ok := content[path]; ok {
				return []byte(s), nil
			}
			return nil, os.ErrNotExist
		}
	}
	for _, c := range []struct {
		err     error
		user    bool
		setting map[string]string
		want    string
	}{
		{unix.EPERM, true, map[string]string{"/proc/sys/kernel/unprivileged_userns_clone": "0\n"},
			"kernel.unprivileged_userns_clone=0"},
		{unix.EPERM, true, map[string]string{"/proc/sys/kernel/unprivileged_userns_clone": "1\n"}, "seccomp"},
		{unix.ENOSPC, true, map[string]string{"/proc/sys/user/max_user_namespaces": "0\n"},
			"user.max_user_namespaces=0"},
		{unix.ENOSPC, true, map[string]string{"/proc/sys/user/max_user_namespaces": "5\n"}, "limit on the number"},
		{unix.EACCES, true, map[string]string{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1\n"},
			"AppArmor profile"},
		{unix.EINVAL, true, nil, "CONFIG_USER_NS"},
		{unix.EPERM, false, map[string]string{"/proc/sys/kernel/unprivileged_userns_clone": "0\n"},
			"running as root did not help"},
	} {
		if got := explain(fmt.Errorf("clone: %w", c.err), c.user, files(c.setting)); !strings.Contains(got, c.want) {
			t.Errorf("%v with %v: %q, want %q", c.err, c.setting, got, c.want)
		}
	}
	if err := forbidden(unix.EPERM, true); !errors.Is(err, ErrUnsupported) || !errors.Is(err, unix.EPERM) {
		t.Errorf("%v", err)
	}
}

// A resource that ran out does not count as forbidden, and no container is blamed for it.
func TestScarceIsNotForbidden(t *testing.T) {
	for err, want := range map[error]string{
		unix.EMFILE: "ulimit -n", unix.ENFILE: "fs.file-max", unix.EAGAIN: "ulimit -u",
		unix.ENOMEM: "too little memory",
	} {
		got := forbidden(fmt.Errorf("pipe2: %w", err), false)
		if errors.Is(got, ErrUnsupported) || !errors.Is(got, err) || !strings.Contains(got.Error(), want) ||
			strings.Contains(got.Error(), "container") {
			t.Errorf("%v becomes %q, want one that names %s", err, got, want)
		}
	}
}

func TestPrivateDirs(t *testing.T) {
	for path, want := range map[string]bool{"/tmp/x": true, "/run/a/b": true, "/tmp": false, "/tmpx/y": false,
		"/etc/passwd": false} {
		if inPrivateDir(path) != want {
			t.Errorf("%s: want %v", path, want)
		}
	}
}

func TestBuckets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Uint64Range(0, 1<<62).Draw(t, "value")
		b := bucketOf(v)
		if b < 0 || b >= 64*subBuckets {
			t.Fatalf("%d is in bucket %d", v, b)
		}
		if top := bucketTop(b); v > top || top-v > v/subBuckets {
			t.Fatalf("%d is in bucket %d, which ends at %d", v, b, top)
		}
		if b > 0 && bucketTop(b-1) >= v {
			t.Fatalf("%d belongs in the bucket before %d", v, b)
		}
	})
}

func TestWireStats(t *testing.T) {
	var c wireCounts
	for late := range int64(1000) {
		c.forwarded(late)
	}
	c.forwarded(-5) // a clock that was set back
	s := c.stats()
	if s.Packets != 1001 || s.LatenessMax != 999 {
		t.Errorf("%+v", s)
	}
	if s.LatenessP50 < 499 || s.LatenessP50 > 532 || s.LatenessP99 < 989 || s.LatenessP99 > 999 {
		t.Errorf("%+v", s)
	}
}

func TestOnWire(t *testing.T) {
	frame := func(gsoType byte, headers, size uint16, length int) []byte {
		b := make([]byte, vnetHeaderLen+length)
		b[1] = gsoType
		binary.NativeEndian.PutUint16(b[2:], headers)
		binary.NativeEndian.PutUint16(b[4:], size)
		return b
	}
	for _, c := range []struct {
		frame []byte
		want  int
	}{
		{frame(unix.VIRTIO_NET_HDR_GSO_NONE, 0, 0, 1514), 1514},
		{frame(unix.VIRTIO_NET_HDR_GSO_TCPV4, 66, 1448, 66+1448), 1514},
		{frame(unix.VIRTIO_NET_HDR_GSO_TCPV4, 66, 1448, 66+2*1448+1), 2*1514 + 67},
		{frame(unix.VIRTIO_NET_HDR_GSO_TCPV4, 66, 0, 3000), 3000},
		{frame(unix.VIRTIO_NET_HDR_GSO_TCPV4, 5000, 1448, 3000), 3000},
	} {
		if got := onWire(c.frame); got != c.want {
			t.Errorf("%d bytes on the wire, want %d", got, c.want)
		}
	}
}

// TestQueue puts frames of all lengths into a direction's queue and takes them out: none overlaps another.
func TestQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// The lowest rate that a file can have, with the smallest arena.
		d := newDirection(wire{Rate: 8e3}, -1, -1, 0, &wireCounts{}, monotonic{time.Now()})
		for range rapid.IntRange(1, 400).Draw(t, "steps") {
			if rapid.IntRange(0, 2).Draw(t, "step") == 0 && d.n > 0 {
				d.head = (d.head + 1) % len(d.frames)
				d.n--
				continue
			}
			if !d.makeRoom() {
				continue
			}
			length := rapid.SampledFrom([]int{60, 1514, maxFrame}).Draw(t, "length")
			if d.tail+maxFrame > len(d.arena) {
				t.Fatalf("room at %d of %d", d.tail, len(d.arena))
			}
			for i := range d.n {
				f := d.frames[(d.head+i)%len(d.frames)]
				if d.tail < f.offset+f.length && f.offset < d.tail+maxFrame {
					t.Fatalf("room at %d overlaps a frame at %d", d.tail, f.offset)
				}
			}
			d.frames[(d.head+d.n)%len(d.frames)] = frame{offset: d.tail, length: length}
			d.n++
			d.tail += length
		}
	})
}

// A frame arrived when the kernel stamped it. A wall clock that was set in the meantime moves that time by at most the
// time since the socket was last seen empty.
func TestArrival(t *testing.T) {
	started := time.Now()
	d := newDirection(wire{}, -1, -1, 0, &wireCounts{}, monotonic{started})
	now := started.Add(time.Second)
	d.empty = int64(time.Second - 200*time.Microsecond)
	for _, c := range []struct {
		name    string
		stamped time.Time
		want    time.Duration // before now
	}{
		{"as the kernel stamped it", now.Add(-50 * time.Microsecond), 50 * time.Microsecond},
		{"the clock was set forward", now.Add(-time.Hour), 200 * time.Microsecond},
		{"the clock was set back", now.Add(time.Hour), 0},
	} {
		header := (*unix.Cmsghdr)(unsafe.Pointer(&d.control[0]))
		header.Level, header.Type = unix.SOL_SOCKET, unix.SCM_TIMESTAMPNS
		stamp := unix.NsecToTimespec(c.stamped.UnixNano())
		*(*unix.Timespec)(unsafe.Pointer(&d.control[unix.SizeofCmsghdr])) = stamp
		d.message.SetControllen(unix.SizeofCmsghdr + int(unsafe.Sizeof(stamp)))
		if got := time.Second - time.Duration(d.arrival(now)); got != c.want {
			t.Errorf("%s: arrived %v before now, want %v", c.name, got, c.want)
		}
	}
	d.message.SetControllen(0)
	if got := time.Duration(d.arrival(now)); got != time.Second {
		t.Errorf("without a stamp: arrived after %v, want now", got)
	}
}

func TestQueueBytes(t *testing.T) {
	if got := queueBytes(1e9); got != 1.25e6 {
		t.Errorf("at 1 Gbit/s %d bytes may wait", got)
	}
	if got := queueBytes(1e6); got != 2*superPacket {
		t.Errorf("at 1 Mbit/s %d bytes may wait", got)
	}
}

// The longest path fits into one message, and the other end computes the same addresses.
func TestPlanTravels(t *testing.T) {
	path := elements("bridge" + strings.Repeat(" router", maxElements-1))
	p, err := newPlan("arm", 250, experiment.Lab{Path: path}, true)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(request{Op: opBuild, Plan: p})
	if err != nil {
		t.Fatal(err)
	}
	if len(b) > maxMessage {
		t.Errorf("%d bytes", len(b))
	}
	var got request
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if err := got.Plan.address(); err != nil {
		t.Fatal(err)
	}
	if want, have := p.describe(), got.Plan.describe(); want != have {
		t.Errorf("got\n%s\nwant\n%s", have, want)
	}
}

func TestWireTime(t *testing.T) {
	p, err := newPlan("arm", 1, experiment.Lab{Path: []experiment.Element{
		{Kind: experiment.Wire, Delay: time.Second}, {Kind: experiment.Wire, Rate: 1514 * 8},
	}}, true)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.wireTime(); got != 4*time.Second {
		t.Errorf("%v", got)
	}
}

func FuzzForwarded(f *testing.F) {
	f.Add("Ip: Forwarding DefaultTTL ForwDatagrams\nIp: 1 64 17\nIcmp: a\n")
	f.Fuzz(func(t *testing.T, snmp string) {
		if n, err := parseForwarded(snmp); err == nil && !strings.Contains(snmp, "ForwDatagrams") {
			t.Errorf("%d forwarded", n)
		}
	})
}

func TestParseForwarded6(t *testing.T) {
	n, err := parseForwarded6("Ip6InReceives                   \t3\nIp6OutForwDatagrams             \t17\n")
	if err != nil || n != 17 {
		t.Errorf("%d %v", n, err)
	}
	for _, bad := range []string{"", "Ip6OutForwDatagrams\n", "Ip6OutForwDatagrams x\n", "OutForwDatagrams 1\n"} {
		if _, err := parseForwarded6(bad); err == nil {
			t.Errorf("%q is no error", bad)
		}
	}
}

func TestParseForwarded(t *testing.T) {
	n, err := parseForwarded("Ip: Forwarding DefaultTTL ForwDatagrams\nIp: 1 64 17\nIcmp: a\n")
	if err != nil || n != 17 {
		t.Errorf("%d %v", n, err)
	}
	for _, bad := range []string{"", "Ip: ForwDatagrams\nIp:\n", "Ip: ForwDatagrams\n", "Ip: ForwDatagrams\nIp: x\n"} {
		if _, err := parseForwarded(bad); err == nil {
			t.Errorf("%q is no error", bad)
		}
	}
}
