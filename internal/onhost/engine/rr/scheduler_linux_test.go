//go:build !portable && !race

package rr

import (
	"bufio"
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"nearfar/internal/onhost/engine/observe"
	"nearfar/internal/onhost/engine/process"
	"nearfar/internal/onhost/engine/timing"
	"nearfar/internal/onhost/engine/wire"
)

var (
	textOf = regexp.MustCompile(`^TEXT (.+)\(SB\)`)
	callOf = regexp.MustCompile(`\t(?:CALL|JMP|BL|B) (\S+)\(SB\)`)

	voluntary = regexp.MustCompile(`\nvoluntary_ctxt_switches:\t(\d+)`)
)

// callsIn gives for each function of a program's packages what it calls, from the machine code.
func callsIn(t *testing.T, program, packages string) map[string][]string {
	t.Helper()
	out, err := exec.Command("go", "tool", "objdump", "-s", packages, program).Output()
	if err != nil {
		t.Fatal(err)
	}
	calls, in := map[string][]string{}, ""
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if m := textOf.FindStringSubmatch(lines.Text()); m != nil {
			in = m[1]
			calls[in] = nil
		} else if m := callOf.FindStringSubmatch(lines.Text()); m != nil && m[1] != in &&
			!slices.Contains(calls[in], m[1]) {
			calls[in] = append(calls[in], m[1])
		}
	}
	return calls
}

// TestLoopsDoWithoutTheRuntime: the functions that a loop calls after it has left the scheduler do not check their
// stack, do not allocate, and do not tell the collector of pointers. An index out of bounds ends the program either
// way. With timestamps the UDP loops do not leave the scheduler.
func TestLoopsDoWithoutTheRuntime(t *testing.T) {
	const engine = "nearfar/internal/onhost/engine/"
	allowed := regexp.MustCompile(`^runtime\.(entersyscallblock|exitsyscall|nanotime.*|panic.*|goPanic.*)$|\(\*(StampedSocket|stampedServer)\)`)
	for _, arch := range []string{"amd64", "arm64"} {
		t.Run(arch, func(t *testing.T) {
			program := filepath.Join(t.TempDir(), "loops")
			// As scripts/dist.sh builds it.
			build := exec.Command("go", "build", "-trimpath", "-o", program, "./testdata/loops")
			build.Env = append(os.Environ(), "GOARCH="+arch, "CGO_ENABLED=0")
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			calls := callsIn(t, program,
				`^(nearfar/internal/onhost/engine/\w+|syscall|internal/runtime/syscall/linux)\.`)
			reached := map[string]string{} // from where
			var follow func(string)
			follow = func(f string) {
				called, known := calls[f]
				if !known {
					t.Errorf("%s, called by %s, is not in the listing", f, reached[f])
				}
				for _, c := range called {
					if _, seen := reached[c]; seen || allowed.MatchString(c) {
						continue
					}
					reached[c] = f
					if strings.HasPrefix(c, "runtime.") {
						t.Errorf("%s calls %s", f, c)
						continue
					}
					follow(c)
				}
			}
			var loops []string
			for f, called := range calls {
				if slices.Contains(called, "runtime.entersyscallblock") {
					loops = append(loops, strings.TrimPrefix(f, engine+"rr."))
					follow(f)
				}
			}
			slices.Sort(loops)
			want := []string{"(*crrClient).run", "(*crrServer).run", "(*tcpClient).run", "(*tcpServer).run",
				"(*udpClient).run", "(*udpServer).run"}
			if !slices.Equal(loops, want) {
				t.Errorf("these leave the scheduler: %q, want %q", loops, want)
			}
			for _, f := range []string{engine + "sys.(*Socket).Read", "syscall.RawSyscall6"} {
				if _, seen := reached[f]; !seen {
					t.Errorf("%s was not looked at: %v", f, reached)
				}
			}
		})
	}
}

// TestCollectorBesideLoops: the garbage collector runs while loops are outside the scheduler, and they lose nothing.
func TestCollectorBesideLoops(t *testing.T) {
	var answered atomic.Int64
	collecting := func(c *net.TCPConn) {
		for request := make([]byte, 64); ; {
			if _, err := c.Read(request); err != nil {
				return
			}
			// Before the answer is out, so that nobody can have recorded it yet.
			if answered.Add(1)%500 == 0 {
				runtime.GC()
			}
			if _, err := c.Write(request); err != nil {
				return
			}
		}
	}
	r, h := newTCPClient(rrPeer(t, collecting), 64, 64, wire.LoopAssembly), observe.NewHistogram()
	<-process.OnThread(nil, func() {
		for h.Count() < 4*observe.MomentsLen {
			if _, ok := r.run(h, timing.Now()+int64(50*time.Millisecond)); !ok {
				t.Error(r.err())
				return
			}
		}
	})
	if h.Count() != answered.Load() {
		t.Errorf("%d transactions were recorded, %d answered", h.Count(), answered.Load())
	}
}

// TestSchedulerSleepsBesideLoops: while a loop runs, the threads of the runtime sleep. They wake up 100 times a second
// otherwise.
func TestSchedulerSleepsBesideLoops(t *testing.T) {
	const most = 40
	for _, name := range []string{"rr-tcp", "rr-udp", "crr"} {
		t.Run(name, func(t *testing.T) {
			tr := hotTransactor(t, hotParams()[name])
			least := 1 << 30
			for try := 0; try < 12 && least > most; try++ { // what other tests have left may wake up in some
				var own, woken int
				<-process.OnThread(nil, func() {
					if _, ok := tr.run(nil, timing.Now()+int64(100*time.Millisecond)); !ok {
						t.Error(tr.err())
					}
					own = switches(t, "/proc/thread-self")
					before := allSwitches(t)
					if _, ok := tr.run(nil, timing.Now()+int64(time.Second)); !ok {
						t.Error(tr.err())
					}
					woken = allSwitches(t) - before
					own = switches(t, "/proc/thread-self") - own
				})
				least = min(least, woken-own)
			}
			t.Logf("others woke up %d times a second", least)
			if least > most {
				t.Errorf("other threads wake up %d times a second", least)
			}
		})
	}
}

// allSwitches is how often the process's threads have gone to sleep.
func allSwitches(t *testing.T) (n int) {
	t.Helper()
	threads, err := filepath.Glob("/proc/self/task/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range threads {
		n += switches(t, thread)
	}
	return n
}

// switches is how often a thread has gone to sleep; 0 if it has ended.
func switches(t *testing.T, thread string) int {
	t.Helper()
	status, err := os.ReadFile(filepath.Join(thread, "status"))
	if err != nil {
		return 0
	}
	m := voluntary.FindSubmatch(status)
	if m == nil {
		t.Fatalf("no voluntary_ctxt_switches in %s", status)
	}
	n, err := strconv.Atoi(string(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	return n
}
