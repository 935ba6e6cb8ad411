package database

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
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
	"time"

	"golang.org/x/sys/unix"
)

const (
	// initTime is how long making the data may take, and stopTime how long PostgreSQL may take to end.
	initTime = 60 * time.Second
	stopTime = time.Second
	// mostFolders is how many PostgreSQL can run at once on a host.
	mostFolders = 8
	// askAgain is how long after PostgreSQL did not listen it is asked again.
	askAgain = 20 * time.Millisecond
)

// A Server is a PostgreSQL that runs.
type Server struct {
	cmd    *exec.Cmd
	folder *folder
	ended  chan struct{}
	listen netip.AddrPort
}

// Start starts PostgreSQL. Its data is made by the first trial on a host, and used by all. It does not wait until
// connections are taken. What PostgreSQL says goes to log.
func Start(ctx context.Context, o Options, log io.Writer) (*Server, error) {
	programs, err := find()
	if err != nil {
		return nil, err
	}
	who, err := account()
	if err != nil {
		return nil, err
	}
	f, err := claim(os.TempDir(), who)
	if err != nil {
		return nil, err
	}
	if err := f.prepare(ctx, programs, o); err != nil {
		f.release()
		return nil, err
	}
	cmd := exec.Command(filepath.Join(programs, "postgres"), arguments(f, o)...) //nolint:noctx // Stop ends it
	s := &Server{cmd: cmd, folder: f, ended: make(chan struct{}), listen: o.Listen}
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if err := f.start(s.cmd); err != nil {
		f.release()
		return nil, fmt.Errorf("starting PostgreSQL: %w", err)
	}
	go func() {
		_ = s.cmd.Wait() // its log says why
		f.release()
		close(s.ended)
	}()
	return s, nil
}

// Ended is closed when PostgreSQL has ended.
func (s *Server) Ended() <-chan struct{} { return s.ended }

// AwaitListening returns when PostgreSQL listens, or when it has ended before.
func (s *Server) AwaitListening(ctx context.Context) error {
	again := time.NewTicker(askAgain)
	defer again.Stop()
	for {
		var d net.Dialer
		if c, err := d.DialContext(ctx, "tcp", s.listen.String()); err == nil {
			return c.Close()
		}
		select {
		case <-again.C:
		case <-s.ended:
			return errors.New("PostgreSQL ended before it listened")
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Stop ends PostgreSQL, whatever its connections do.
func (s *Server) Stop() error {
	for _, signal := range []os.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGKILL} {
		if err := s.cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return err
		}
		select {
		case <-s.ended:
			return nil
		case <-time.After(stopTime):
		}
	}
	return errors.New("PostgreSQL did not end")
}

// arguments are those of postgres. Nothing of the data has to survive the machine, so that nothing is synced. Its
// shared memory is in its folder, which is removed, and not in /dev/shm.
func arguments(f *folder, o Options) []string {
	set := []string{
		"listen_addresses=" + o.Listen.Addr().String(), "port=" + strconv.Itoa(int(o.Listen.Port())),
		"unix_socket_directories=.", "max_connections=" + strconv.Itoa(o.Connections+10), "fsync=off", "autovacuum=off",
		"shared_buffers=16MB", "dynamic_shared_memory_type=mmap", "password_encryption=scram-sha-256",
		"log_min_messages=log",
	}
	if len(o.Certificate) > 0 {
		set = append(set, "ssl=on", "ssl_cert_file="+certificateFile, "ssl_key_file="+certificateFile,
			"ssl_min_protocol_version=TLSv1.3")
	}
	args := []string{"-D", f.data()}
	for _, one := range set {
		args = append(args, "-c", one)
	}
	return args
}

// The files of a folder.
const (
	dataFolder      = "data"
	passwordFile    = "password"
	madeFile        = "made"
	certificateFile = "certificate.pem" // below the data
)

// A folder holds the data of one PostgreSQL. It is locked by whoever uses it.
type folder struct {
	path string
	lock *os.File
	who  user
	// inner is the path by which PostgreSQL sees the folder.
	inner string
}

// claim finds a folder that nobody uses, or makes one.
func claim(parent string, who user) (*folder, error) {
	for n := range mostFolders {
		path := filepath.Join(parent, fmt.Sprintf("nearfar-database-%d", n))
		if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
			return nil, fmt.Errorf("making a folder for PostgreSQL: %w", err)
		}
		lock, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		err = unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if errors.Is(err, unix.EWOULDBLOCK) {
			_ = lock.Close()
			continue
		}
		f := &folder{path: path, lock: lock, who: who, inner: path}
		if err == nil {
			err = f.give(path)
		}
		if err != nil {
			f.release()
			return nil, fmt.Errorf("taking a folder for PostgreSQL: %w", err)
		}
		if who.other && !reachable(parent) {
			f.inner = hidden
		}
		return f, nil
	}
	return nil, fmt.Errorf("%d PostgreSQL run on this host", mostFolders)
}

func (f *folder) release() { _ = f.lock.Close() }

// data is the data as PostgreSQL sees it.
func (f *folder) data() string { return filepath.Join(f.inner, dataFolder) }

// give gives a file to the user as whom PostgreSQL runs.
func (f *folder) give(path string) error {
	if !f.who.other {
		return nil
	}
	return os.Chown(path, f.who.uid, f.who.gid)
}

// prepare makes the data, unless an earlier trial of the run has. A run has one password.
func (f *folder) prepare(ctx context.Context, programs string, o Options) error {
	sum := sha256.Sum256(append([]byte(o.Password+"\n"), o.Certificate...))
	mark := hex.EncodeToString(sum[:])
	made := filepath.Join(f.path, madeFile)
	if is, err := os.ReadFile(made); err == nil && string(is) == mark {
		return nil
	}
	_ = os.Remove(made)
	if err := os.RemoveAll(filepath.Join(f.path, dataFolder)); err != nil {
		return err
	}
	if err := f.initialise(ctx, programs, o.Password); err != nil {
		return err
	}
	if err := f.configure(o); err != nil {
		return err
	}
	return os.WriteFile(made, []byte(mark), 0o600)
}

// initialise runs initdb.
func (f *folder) initialise(ctx context.Context, programs, password string) (err error) {
	secret := filepath.Join(f.path, passwordFile)
	if err := f.write(secret, []byte(password+"\n")); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(secret)) }()
	ctx, cancel := context.WithTimeout(ctx, initTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(programs, "initdb"), "-D", f.data(), "-U", User,
		"--pwfile="+filepath.Join(f.inner, passwordFile), "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C",
		"--no-sync", "--wal-segsize=1")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.WaitDelay = stopTime
	if err := f.start(cmd); err != nil {
		return fmt.Errorf("starting initdb: %w", err)
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, why(said.String()))
	}
	return nil
}

// why finds the line in which a program says what went wrong, and the hint that follows it.
func why(said string) string {
	lines := strings.Split(strings.TrimSpace(said), "\n")
	for i, line := range lines {
		if !strings.Contains(line, "error:") && !strings.Contains(line, "FATAL:") && !strings.Contains(line, "PANIC:") {
			continue
		}
		if i+1 < len(lines) {
			if _, hint, found := strings.Cut(lines[i+1], "HINT:"); found {
				line += " (" + strings.TrimSpace(hint) + ")"
			}
		}
		return strings.TrimSpace(line)
	}
	return lines[len(lines)-1]
}

// configure lets the user in from every address, with the password alone.
func (f *folder) configure(o Options) error {
	kind := "host"
	if len(o.Certificate) > 0 {
		kind = "hostssl"
	}
	rules := fmt.Sprintf("local all all scram-sha-256\n%[1]s all %[2]s 0.0.0.0/0 scram-sha-256\n"+
		"%[1]s all %[2]s ::/0 scram-sha-256\n", kind, User)
	if err := f.write(filepath.Join(f.path, dataFolder, "pg_hba.conf"), []byte(rules)); err != nil {
		return err
	}
	if len(o.Certificate) == 0 {
		return nil
	}
	return f.write(filepath.Join(f.path, dataFolder, certificateFile), o.Certificate)
}

// write writes a file that only PostgreSQL's user reads.
func (f *folder) write(path string, content []byte) error {
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return err
	}
	return f.give(path)
}
