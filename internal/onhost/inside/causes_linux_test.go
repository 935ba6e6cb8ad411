package inside

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	declared "nearfar/internal/declare/inside"
	"nearfar/internal/kits/kubetest/tree"
)

// A stall is a way to make some trips slow.
type stall struct {
	cause    declared.Cause
	protocol string
	// between is what the server does before it answers request i; it may be nil.
	between func(i int)
	// before is what the client does before request i; it may be nil.
	before func(x *exchange, i int)
	// plant prepares the namespaces, begins what disturbs from outside, and ends it with the test.
	plant func(t *testing.T, client, bridge, server *space)
	// join gives what the server's thread does first; nil for going before all ordinary programs of the machine, as the
	// client's does.
	join func(t *testing.T) func()
	// slow is how long a trip that was disturbed takes at least; none takes nearly as long otherwise.
	slow time.Duration
}

const (
	stallEvery = 50 // trips
	stallTime  = 2 * time.Millisecond
)

// stalls are one for each cause that can be planted on this machine. Steal cannot: see TestStealIsACause.
func stalls() []stall {
	return []stall{
		{
			cause: declared.CauseCPU, protocol: "udp", slow: stallTime / 2,
			plant: func(t *testing.T, _, _, _ *space) { occupy(t, 1, stallTime) },
		},
		{
			cause: declared.CauseThrottled, protocol: "udp", slow: 5 * time.Millisecond,
			join:    func(t *testing.T) func() { return throttled(t, 4*time.Millisecond, 10*time.Millisecond) },
			between: func(int) { spin(60 * time.Microsecond) },
		},
		{
			cause: declared.CauseSoftirq, protocol: "udp", slow: stallTime / 4,
			plant: func(t *testing.T, _, _, _ *space) { flood(t, 1) },
		},
		{
			cause: declared.CauseRetransmission, protocol: "tcp", slow: stallTime,
			plant: func(t *testing.T, client, _, server *space) {
				for s, device := range map[*space]string{client: "10.9.0.0/24", server: "10.9.0.0/24"} {
					s.ip("route change " + device + " dev eth0 rto_min 4ms")
				}
				must(t, server.run("nft", "add table ip lossy; add chain ip lossy in { type filter hook input "+
					"priority 0; }; add rule ip lossy in tcp dport 7000 meta length > 60 numgen inc mod 50 == 0 drop"))
			},
		},
		{
			cause: declared.CauseQueue, protocol: "udp", slow: stallTime / 2,
			plant: func(t *testing.T, client, _, _ *space) {
				lacks(t, "tbf", client.run("tc", "qdisc", "add", "dev", "eth0", "root", "tbf", "rate", "100mbit",
					"burst", "1600", "latency", "100ms"))
			},
			before: func(x *exchange, i int) {
				if i%stallEvery == 0 {
					x.burst(20)
				}
			},
		},
		{
			cause: declared.CauseTimer, protocol: "udp", slow: stallTime,
			between: func(i int) {
				if i%stallEvery == 0 {
					wait := unix.NsecToTimespec(int64(stallTime))
					_ = unix.Nanosleep(&wait, nil)
				}
			},
		},
	}
}

// Slow trips have the cause that was planted.
func TestCauses(t *testing.T) {
	const planted, most, perWatch = 100, 200000, 8000
	var table string
	for _, s := range stalls() {
		t.Run(string(s.cause), func(t *testing.T) {
			client, bridge, server := bridged(t, "10.9.0.1/24", "10.9.0.2/24")
			if s.plant != nil {
				s.plant(t, client, bridge, server)
			}
			join := prefer
			if s.join != nil {
				join = s.join(t)
			}
			x := serve(t, s.protocol, client, server, "10.9.0.2/24", func(i int) {
				if i == 0 {
					join()
				}
				if s.between != nil {
					s.between(i)
				}
			})
			x.before = s.before
			found, slow := map[declared.Cause]int{}, 0
			for done := 0; slow < planted && done < most; done += perWatch {
				w := client.watch(x.options(perWatch))
				x.trips(perWatch)
				seen, err := w.read()
				if err != nil {
					t.Fatal(err)
				}
				for _, p := range seen.recording(1).Paths {
					for _, trip := range p.Trips {
						if trip.Took() >= int64(s.slow) {
							slow++
							found[trip.Cause]++
						}
					}
				}
			}
			table += fmt.Sprintf("%-15s", s.cause)
			for _, c := range declared.Causes() {
				table += fmt.Sprintf(" %s %d", c, found[c])
			}
			table += "\n"
			if slow < planted {
				t.Fatalf("only %d trips were slow: %v", slow, found)
			}
			if right := float64(found[s.cause]) / float64(slow); right < 0.9 {
				t.Errorf("%.0f %% of %d slow trips have the cause: %v", 100*right, slow, found)
			}
		})
	}
	t.Logf("planted, and what was found:\n%s", table)
}

// Only the hypervisor can take a CPU away. So trips are recorded, and in every fourth record a CPU is taken for a
// while: all that follows is later, and the CPU's count has grown when the scheduler next works there. Each gap between
// two events has its turn. As many other trips are later by as much without a count.
func TestStealIsACause(t *testing.T) {
	const trips, taken = 800, 2 * time.Millisecond
	client, _, server := bridged(t, "10.9.0.1/24", "10.9.0.2/24")
	x := serve(t, "udp", client, server, "10.9.0.2/24", nil)
	x.trips(100)
	w := client.watch(x.options(trips))
	x.trips(trips)
	seen, err := w.read()
	must(t, err)
	if own, err := readOffsets(); err != nil || own.stolen == 0 {
		t.Skipf("this kernel counts no stolen time: %v", err)
	}
	planted, delayed := map[int64]bool{}, map[int64]bool{}
	first := seen.slots[0].events[0].at
	for i := range seen.slots {
		s := &seen.slots[i]
		switch i % 4 {
		case 1:
			if s.take(i/4, taken, true) {
				planted[int64(s.events[0].at-first)] = true
			}
		case 3:
			s.take(i/4, taken, false)
			delayed[int64(s.events[0].at-first)] = true
		}
	}
	var named, found, wrong, slow int
	for _, p := range seen.recording(1).Paths {
		for _, trip := range p.Trips {
			switch {
			case planted[trip.At]:
				if named++; trip.Cause == declared.CauseSteal {
					found++
				}
			case delayed[trip.At]:
				if slow++; trip.Cause == declared.CauseSteal {
					wrong++
				}
			}
		}
	}
	t.Logf("steal is the cause of %d of %d trips with it, and of %d of %d that were as late without", found, named, wrong,
		slow)
	if named < 100 || slow < 100 || float64(found) < 0.9*float64(named) || float64(wrong) > 0.02*float64(slow) {
		t.Error("want 100 trips of each kind, steal in at least 90 % of the first and in at most 2 % of the second")
	}
}

// take makes all events of a trip later from one on, the n-th in turn. With counted, the event's CPU has been taken for
// so long, which its count says from the next event on with which the scheduler works there. It says whether there is
// such an event.
func (s slot) take(n int, taken time.Duration, counted bool) bool {
	at := 1 + n%(len(s.events)-1)
	cpu, counts := s.events[at].cpu, false
	for i := at; i < len(s.events); i++ {
		e := &s.events[i]
		e.at += uint64(taken)
		counts = counts || e.cpu == cpu && (e.kind == evRun || e.kind == evOff)
		if counted && counts && e.stolenOf() == cpu {
			e.stolen += uint32(taken)
		}
	}
	return counts
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func spin(d time.Duration) {
	for begun := time.Now(); time.Since(begun) < d; {
	}
}

// setPriority makes the current thread one that goes before all ordinary ones.
func setPriority(priority uint32) {
	_ = unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: priority}, 0)
}

func prefer() { setPriority(1) }

// occupy takes a CPU for a while, again and again.
func occupy(t *testing.T, cpu int, busy time.Duration) {
	var end atomic.Bool
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		pin(cpu)
		setPriority(10)
		for !end.Load() {
			wait := unix.NsecToTimespec(int64(4 * busy))
			_ = unix.Nanosleep(&wait, nil)
			spin(busy)
		}
	}()
	t.Cleanup(func() { end.Store(true); <-ended })
}

// throttled makes a control group that may run for a part of each period, and gives what puts a thread into it.
func throttled(t *testing.T, quota, period time.Duration) (join func()) {
	t.Helper()
	group := filepath.Join("/sys/fs/cgroup/cpu", "nearfar-inside-"+strconv.Itoa(os.Getpid()))
	if _, err := os.Stat(filepath.Join(filepath.Dir(group), "cpu.cfs_quota_us")); err != nil {
		t.Skipf("there is no hierarchy of control groups (version 1) for CPU time: %v", err)
	}
	must(t, os.Mkdir(group, 0o755))
	t.Cleanup(func() {
		// The thread that was in it has been told to end, and the kernel may still be freeing it.
		if err := tree.RemoveGroups(filepath.Base(group)); err != nil {
			t.Error(err)
		}
	})
	set := func(file string, value int64) error {
		return os.WriteFile(filepath.Join(group, file), []byte(strconv.FormatInt(value, 10)), 0o644)
	}
	must(t, set("cpu.cfs_period_us", period.Microseconds()))
	must(t, set("cpu.cfs_quota_us", quota.Microseconds()))
	must(t, set("cpu.shares", 1<<18)) // against all other programs
	return func() {
		if err := set("tasks", int64(unix.Gettid())); err != nil {
			t.Error(err)
		}
	}
}

// flood makes a CPU receive bursts of packets that are dear to receive.
func flood(t *testing.T, cpu int) {
	from, to := newSpace(t), newSpace(t)
	join(from, "eth0", to, "eth0")
	from.ip("addr add 10.8.0.1/24 dev eth0")
	to.ip("addr add 10.8.0.2/24 dev eth0")
	rules := "add table ip dear; add chain ip dear in { type filter hook input priority 0; };"
	for i := range 3000 {
		rules += fmt.Sprintf("add rule ip dear in udp dport %d drop;", 20000+i)
	}
	must(t, to.run("nft", rules))
	to.receiveOn(cpu)
	var end atomic.Bool
	ended := make(chan struct{})
	go from.do(func() {
		defer close(ended)
		pin(1 - cpu)
		setPriority(5)
		fd, _ := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
		defer func() { _ = unix.Close(fd) }()
		sink := socketAddress(netip.MustParseAddrPort("10.8.0.2:9"))
		for !end.Load() {
			for range 60 {
				_ = unix.Sendto(fd, make([]byte, 64), 0, sink)
			}
			wait := unix.NsecToTimespec(int64(4 * stallTime))
			_ = unix.Nanosleep(&wait, nil)
		}
	})
	t.Cleanup(func() { end.Store(true); <-ended })
}

// receiveOn has a CPU receive what arrives at eth0.
func (s *space) receiveOn(cpu int) {
	s.t.Helper()
	at := s.t.TempDir()
	s.do(func() {
		// The view of sysfs is that of the namespace in which it was mounted.
		err := unix.Unshare(unix.CLONE_NEWNS)
		if err == nil {
			err = unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
		}
		if err == nil {
			err = unix.Mount("sysfs", at, "sysfs", 0, "")
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(at, "class/net/eth0/queues/rx-0/rps_cpus"),
				[]byte(strconv.FormatInt(1<<cpu, 16)), 0o644)
		}
		if err != nil {
			s.t.Errorf("packets for a CPU: %v", err)
		}
	})
}
