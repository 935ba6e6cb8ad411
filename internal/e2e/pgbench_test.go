//go:build linux

package e2e

import (
	"bytes"
	"context"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"nearfar/internal/declare/result"
)

// ofDatabase is an experiment that measures a database of the user's on loopback.
const ofDatabase = `
nearfar: v1
name: database
hosts: {here: {local: {}, address: 127.0.0.1}}
arms: {own: {client: here, server: here}}
workloads:
  - {name: select, tool: pgbench, script: select-only, duration: 1s}
  - {name: update, tool: pgbench, script: simple-update, connect: per-request, concurrency: 4, duration: 1s}
schedule: {blocks: 1, seed: 1, retries: 0}
`

// protectedDatabase starts a PostgreSQL whose user bench has a password. It gives the port.
func protectedDatabase(t *testing.T, password string) string {
	t.Helper()
	bin, data := database(t)
	rules := "local all all trust\nhost all all all scram-sha-256\n"
	if err := os.WriteFile(filepath.Join(data, "pg_hba.conf"), []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	_ = l.Close()
	as := func(ctx context.Context, words ...string) *exec.Cmd {
		return exec.CommandContext(ctx, "setpriv", append([]string{"--reuid=postgres", "--regid=postgres",
			"--clear-groups"}, words...)...)
	}
	// Its shared memory is in its folder: other tests look for what nearfar leaves in /dev/shm.
	server := as(t.Context(), filepath.Join(bin, "postgres"), "-F", "-D", data, "-h", "127.0.0.1", "-k", data, "-p", port,
		"-c", "dynamic_shared_memory_type=mmap")
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Wait() }) // the end of the test's context kills it
	set := as(t.Context(), "sh", "-c", `until "$1/pg_isready" -q -h "$2" -p "$3"; do sleep 0.1; done
exec "$1/psql" -q -h "$2" -p "$3" -U bench -d bench -f -`, "sh", bin, data, port)
	set.Stdin = strings.NewReader("ALTER USER bench PASSWORD '" + password + "';\n")
	if out, err := set.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return port
}

// TestPgbench: pgbench measures a database of the user's, whose password stays out of all files and outputs, and a
// wrong one is said in the database's words.
func TestPgbench(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("PostgreSQL starts as another user only if that user's files can be made")
	}
	need(t, "postgresql", "pgbench")
	const canary = "canary-c41d7a"
	port := protectedDatabase(t, canary)
	for _, password := range []string{canary, "other-" + canary} {
		dir := workspace(t)
		cmd := exec.Command(program, "run", "--force", "-f", "json", write(t, dir, ofDatabase))
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "HOME="+dir, "PGPORT="+port, "PGUSER=bench", "PGDATABASE=bench",
			"PGPASSWORD="+password)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		wantNowhere(t, dir, canary, append(out, stderr.Bytes()...))
		a := answerOf(t, out, dir)
		if password != canary {
			for _, trial := range trials(t, a) {
				if !strings.Contains(trial.Error, "password authentication failed") || len(trial.Metrics) > 0 {
					t.Errorf("%s with a wrong password: %q, %v", trial.Workload, trial.Error, trial.Metrics)
				}
			}
			continue
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, stderr.Bytes())
		}
		wantNoFailures(t, a)
		for _, trial := range trials(t, a) {
			mean, _ := trial.Value(result.ResponseTime, result.Mean)
			rate, _ := trial.Value(result.TransactionRate, "")
			clients, connects := 1., false
			if trial.Workload == "update" {
				clients, connects = 4, true
			}
			// By Little's law, at most so many transactions are under way.
			if under := mean * rate; mean <= 0 || rate <= 0 || under > 1.1*clients {
				t.Errorf("%s: %v/s of %v s", trial.Workload, rate, mean)
			}
			if _, ok := trial.Value(result.ConnectTime, result.Mean); ok != connects || trial.Tool.Version == "" {
				t.Errorf("%s: connect time is there %v, version %q", trial.Workload, ok, trial.Tool.Version)
			}
		}
	}
}

// wantNowhere wants a text in no file of a folder, and not in what was printed.
func wantNowhere(t *testing.T, dir, text string, printed []byte) {
	t.Helper()
	if bytes.Contains(printed, []byte(text)) {
		t.Errorf("it is printed: %s", printed)
	}
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if files++; bytes.Contains(content, []byte(text)) {
			t.Errorf("%s has it", path)
		}
		return err
	})
	if err != nil || files < 4 {
		t.Errorf("%d files, %v", files, err)
	}
}
