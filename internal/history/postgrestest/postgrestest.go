//go:build unix

// Package postgrestest starts a PostgreSQL server for a test.
package postgrestest

import (
	"context"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Password is the database user's.
const Password = "open sesame"

// patience is how long the server may take to start, pause how long to wait between two attempts to connect.
const (
	patience = time.Minute
	pause    = 50 * time.Millisecond
)

// Start starts a server as StartUnset does, and sets PGPASSWORD for the test.
func Start(t *testing.T) (address string) {
	t.Helper()
	address = StartUnset(t)
	t.Setenv("PGPASSWORD", Password)
	return address
}

// WithPassword returns the address with the password in it.
func WithPassword(address string) string {
	return strings.Replace(address, "nearfar@", url.UserPassword("nearfar", Password).String()+"@", 1)
}

// StartUnset starts a server that listens on a Unix socket only and asks for a password, and returns the address of a
// database. The server ends with the test. It does not set PGPASSWORD, which a parallel test cannot. With -short, the
// test is skipped.
func StartUnset(t *testing.T) (address string) {
	t.Helper()
	if testing.Short() {
		t.Skip("no PostgreSQL with -short")
	}
	// Not t.TempDir: the path of a socket must be short.
	dir, err := os.MkdirTemp("", "nearfar-pg-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	passwords := filepath.Join(dir, "password")
	if err := os.WriteFile(passwords, []byte(Password+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	attributes := unprivileged(t, dir)
	environment := []string{"PATH=" + os.Getenv("PATH")}
	data := filepath.Join(dir, "data")
	initialise := exec.CommandContext(t.Context(), program(t, "initdb"), "-D", data, "-U", "nearfar",
		"-A", "scram-sha-256", "--pwfile", passwords, "-E", "UTF8", "--locale=C", "--no-sync")
	initialise.Dir, initialise.SysProcAttr, initialise.Env = dir, attributes, environment
	if out, err := initialise.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	var log strings.Builder
	// The test's own context ends before the cleanup, and would kill the server before it is shut down.
	server := exec.CommandContext(context.WithoutCancel(t.Context()), program(t, "postgres"), "-D", data, "-k", dir,
		"-c", "listen_addresses=", "-c", "fsync=off")
	server.Dir, server.SysProcAttr, server.Env = dir, attributes, environment
	server.Stdout, server.Stderr = &log, &log
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Process.Signal(syscall.SIGINT); err != nil {
			t.Error(err)
		}
		if err := server.Wait(); err != nil {
			t.Errorf("the server ended with %v\n%s", err, log.String())
		}
	})
	address = "postgres://nearfar@/postgres?host=" + url.QueryEscape(dir)
	await(t, WithPassword(address))
	return address
}

// await waits until the server answers.
func await(t *testing.T, address string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		connection, err := pgx.Connect(ctx, address)
		if err == nil {
			if err := connection.Close(ctx); err != nil {
				t.Fatal(err)
			}
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("the server does not answer after %v: %v", patience, err)
		case <-time.After(pause):
		}
	}
}

// unprivileged gives the attributes of a process without root's rights, because PostgreSQL refuses to run as root. If
// the test runs as root, it uses the user nobody, who gets the directory.
func unprivileged(t *testing.T, dir string) *syscall.SysProcAttr {
	t.Helper()
	if os.Getuid() != 0 {
		return &syscall.SysProcAttr{}
	}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		t.Fatal(err)
	}
	uid, err := strconv.ParseUint(nobody.Uid, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	gid, err := strconv.ParseUint(nobody.Gid, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, int(uid), int(gid)); err != nil {
		t.Fatal(err)
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
}

// program finds a program of PostgreSQL in PATH, or in Debian's folders for its versions.
func program(t *testing.T, name string) string {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if err != nil || len(found) == 0 {
		t.Fatalf("%s is missing: scripts/install-tools.sh test installs it", name)
	}
	slices.Sort(found)
	return found[len(found)-1]
}
