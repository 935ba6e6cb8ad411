package database_test

import (
	"bytes"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"nearfar/internal/onhost/database"
)

// log keeps what PostgreSQL says.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// installed skips a test without PostgreSQL.
func installed(t *testing.T) {
	t.Helper()
	if _, err := database.Version(t.Context()); err != nil {
		t.Skip(err)
	}
}

// options are those of a PostgreSQL on a free port.
func options(t *testing.T) database.Options {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return database.Options{Listen: netip.MustParseAddrPort(l.Addr().String()), Password: "canary-ab12", Connections: 2}
}

// TestStart: PostgreSQL listens, keeps its password from command lines and messages, and uses the same data again. The
// user as whom it runs cannot reach the folder's parent, as in an agent's folder.
func TestStart(t *testing.T) {
	installed(t)
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "closed"))
	if err := os.Mkdir(os.TempDir(), 0o700); err != nil {
		t.Fatal(err)
	}
	o := options(t)
	var made [2]time.Time
	for i := range made {
		var said log
		s, err := database.Start(t.Context(), o, &said)
		if err != nil {
			t.Fatal(err)
		}
		awaitPort(t, o.Listen.String(), s, &said)
		if who := inCommandLines(o.Password); who != "" || strings.Contains(said.String(), o.Password) {
			t.Errorf("the password is in %s, or in the log:\n%s", who, said.String())
		}
		if os.Getuid() == 0 {
			wantNoSharedMemory(t)
		}
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
		select {
		case <-s.Ended():
		default:
			t.Error("it runs after it was stopped")
		}
		info, err := os.Stat(filepath.Join(os.TempDir(), "nearfar-database-0", "data", "PG_VERSION"))
		if err != nil {
			t.Fatal(err)
		}
		made[i] = info.ModTime()
	}
	if made[0] != made[1] {
		t.Error("the second start made the data anew")
	}
	if _, err := os.Stat(filepath.Join(os.TempDir(), "nearfar-database-0", "password")); !os.IsNotExist(err) {
		t.Errorf("the file of the password is left: %v", err)
	}
}

// wantNoSharedMemory wants the shared memory of the PostgreSQL that runs in a namespace of its own, where it ends with
// PostgreSQL, whatever ends that one.
func wantNoSharedMemory(t *testing.T) {
	t.Helper()
	lock, err := os.ReadFile(filepath.Join(os.TempDir(), "nearfar-database-0", "data", "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	// Its seventh line has the key and the number of the segment (System V).
	segment := strings.Fields(strings.Split(string(lock), "\n")[6])
	shared, err := os.ReadFile("/proc/sysvipc/shm")
	if err != nil || len(segment) != 2 {
		t.Fatalf("%v, %q", err, lock)
	}
	for line := range strings.Lines(string(shared)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == segment[0] && f[1] == segment[1] {
			t.Errorf("this namespace has its segment: %s", line)
		}
	}
}

// awaitPort waits until somebody listens.
func awaitPort(t *testing.T, address string, s *database.Server, said *log) {
	t.Helper()
	limit := time.After(time.Minute)
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		if c, err := net.Dial("tcp", address); err == nil {
			_ = c.Close()
			return
		}
		select {
		case <-again.C:
		case <-s.Ended():
			t.Fatalf("PostgreSQL ended:\n%s", said)
		case <-limit:
			t.Fatalf("nobody listens at %s:\n%s", address, said)
		}
	}
}

// inCommandLines names the processes whose command line has a text.
func inCommandLines(text string) (who string) {
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range all {
		if line, err := os.ReadFile(path); err == nil && bytes.Contains(line, []byte(text)) {
			who += " " + path
		}
	}
	return who
}

// TestTwoAtOnce: two PostgreSQL of a host have folders of their own.
func TestTwoAtOnce(t *testing.T) {
	installed(t)
	t.Setenv("TMPDIR", t.TempDir())
	for range 2 {
		var said log
		o := options(t)
		s, err := database.Start(t.Context(), o, &said)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Stop() })
		awaitPort(t, o.Listen.String(), s, &said)
	}
	found, err := filepath.Glob(filepath.Join(os.TempDir(), "nearfar-database-*", "data", "PG_VERSION"))
	if err != nil || len(found) != 2 {
		t.Errorf("%q, %v", found, err)
	}
}

// TestPortTaken: PostgreSQL that cannot listen ends, and says why.
func TestPortTaken(t *testing.T) {
	installed(t)
	t.Setenv("TMPDIR", t.TempDir())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	o := options(t)
	o.Listen = netip.MustParseAddrPort(l.Addr().String())
	var said log
	s, err := database.Start(t.Context(), o, &said)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-s.Ended():
	case <-time.After(time.Minute):
		t.Error("it goes on")
		_ = s.Stop()
	}
	if !strings.Contains(said.String(), "Address already in use") {
		t.Errorf("it said:\n%s", said.String())
	}
}

// TestFullDisk: where the data does not fit, initdb's reason is told, and no password is left.
func TestFullDisk(t *testing.T) {
	installed(t)
	small := t.TempDir()
	if err := syscall.Mount("small", small, "tmpfs", 0, "size=4m,mode=1777"); err != nil {
		t.Skipf("no small disk can be mounted: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(small, 0); err != nil {
			t.Error(err)
		}
	})
	t.Setenv("TMPDIR", small)
	_, err := database.Start(t.Context(), options(t), &log{})
	// PostgreSQL says either, by how much of a block there was room for.
	if err == nil || !strings.Contains(err.Error(), "No space left on device") &&
		!strings.Contains(err.Error(), "Check free disk space") {
		t.Errorf("%v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(small, "*", "password")); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// TestVersion: the version is that of the program which would be started.
func TestVersion(t *testing.T) {
	installed(t)
	got, err := database.Version(t.Context())
	if err != nil || !strings.HasPrefix(got, "postgres (PostgreSQL) ") {
		t.Errorf("%q, %v", got, err)
	}
}

// TestMissing: without the programs, the message says where they were looked for.
func TestMissing(t *testing.T) {
	if os.Getenv("NEARFAR_WITHOUT") != "" {
		_, err := database.Version(t.Context())
		if err == nil || err.Error() != database.Missing {
			t.Errorf("%v", err)
		}
		return
	}
	// The folders of distributions are hidden in mounts of its own.
	const hide = `for d in /usr/lib/postgresql /usr/pgsql-*; do
	[ ! -d "$d" ] || mount -t tmpfs none "$d" || exit 77
done
exec "$0" "$@"`
	cmd := exec.CommandContext(t.Context(), "unshare", "--mount", "sh", "-c", hide, os.Args[0],
		"-test.run=^TestMissing$", "-test.v")
	cmd.Env = append(os.Environ(), "NEARFAR_WITHOUT=1", "PATH=/usr/sbin:/usr/bin:/sbin:/bin")
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() == 77 || bytes.Contains(out, []byte("unshare failed")) {
		t.Skipf("folders cannot be hidden: %v: %s", err, out)
	}
	if err != nil || !bytes.Contains(out, []byte("--- PASS")) {
		t.Errorf("%v: %s", err, out)
	}
}
