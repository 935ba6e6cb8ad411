package steps

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nearfar/internal/declare/bisection"
)

// logFile is an empty file for what commands print.
func logFile(t *testing.T) *os.File {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(t.TempDir(), "place.log"), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// A command that fails skips a step, with its last words; one that cannot be run, or says that nothing can go on, is an
// error of another kind.
func TestPlace(t *testing.T) {
	log := logFile(t)
	for script, want := range map[string]struct {
		skip bool
		says string
	}{
		"exit 0": {},
		"echo building; echo 'no such target' >&2; exit 2": {true, "sh ended with exit status 2: no such target"},
		"exit 125":                    {true, "sh skips it"},
		"echo broken there; exit 125": {true, "sh skips it: broken there"},
		"exit 126":                    {false, "exit status 126"},
		"kill -9 $$":                  {false, "signal: killed"},
		"exit 1":                      {true, "sh ended with exit status 1"},
	} {
		err := Place(t.Context(), []string{"sh", "-c", script}, time.Minute, log)
		var skip *SkipError
		if (err != nil) != (want.says != "") || errors.As(err, &skip) != want.skip ||
			err != nil && !strings.Contains(err.Error(), want.says) {
			t.Errorf("%s: %v, want %q", script, err, want.says)
		}
		if err != nil && strings.HasSuffix(want.says, "status 1") && err.Error() != want.says {
			t.Errorf("%s: the words of an earlier command: %v", script, err)
		}
	}
	err := Place(t.Context(), []string{"/nowhere/place"}, time.Minute, log)
	if err == nil || errors.As(err, new(*SkipError)) {
		t.Errorf("a command that does not exist: %v", err)
	}
	kept, err := os.ReadFile(log.Name())
	if err != nil || !strings.Contains(string(kept), "building\n") {
		t.Errorf("the log has %q, %v", kept, err)
	}
}

// A command that takes too long skips the step, and ends with what it started. A service that it leaves behind does not
// keep it from ending.
func TestPlaceEnds(t *testing.T) {
	log := logFile(t)
	err := Place(t.Context(), []string{"sh", "-c", "sleep 600 & echo $!; wait"}, 200*time.Millisecond, log)
	if !errors.As(err, new(*SkipError)) || !strings.Contains(err.Error(), "took longer than 200ms") {
		t.Fatalf("too long: %v", err)
	}
	printed, err := os.ReadFile(log.Name())
	if err != nil {
		t.Fatal(err)
	}
	gone := func() bool { return exec.Command("kill", "-0", strings.TrimSpace(string(printed))).Run() != nil }
	for end := time.Now().Add(10 * time.Second); !gone(); {
		if time.Now().After(end) {
			t.Fatalf("process %s goes on", printed)
		}
	}
	began := time.Now()
	file := filepath.Join(t.TempDir(), "service.pid")
	err = Place(t.Context(), []string{"sh", "-c", `sleep 60 & echo $! >"$0"`, file}, time.Minute, log)
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it waited %v for a service", took)
	}
	pid, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := exec.Command("kill", strings.TrimSpace(string(pid))).Run(); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Place(ctx, []string{"sh", "-c", "exit 0"}, time.Minute, log); !errors.Is(err, context.Canceled) {
		t.Errorf("after an interrupt: %v", err)
	}
}

// repository makes a git repository with a merge: one - two - merge - four, with "aside" merged.
func repository(t *testing.T) (folder string) {
	t.Helper()
	folder = t.TempDir()
	for _, line := range []string{
		"init --quiet --initial-branch=main", "commit --quiet --allow-empty --message=one", "tag v1",
		"commit --quiet --allow-empty --message=two", "checkout --quiet -b side v1",
		"commit --quiet --allow-empty --message=aside", "checkout --quiet main",
		"merge --quiet --no-ff --message=merge side", "commit --quiet --allow-empty --message=four",
	} {
		args := []string{"-C", folder, "-c", "user.name=Test", "-c", "user.email=test@localhost", "-c",
			"commit.gpgsign=false"}
		cmd := exec.Command("git", append(args, strings.Split(line, " ")...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v: %s", line, err, out)
		}
	}
	return folder
}

// Commits go from good to bad along first parents, and names that are no way are refused.
func TestCommits(t *testing.T) {
	folder := repository(t)
	about := func(steps []bisection.Step) string {
		var all []string
		for _, s := range steps {
			all = append(all, s.About)
		}
		return strings.Join(all, ", ")
	}
	steps, err := Commits(t.Context(), folder, "v1", "main")
	if err != nil || about(steps) != "v1, two, merge, four" {
		t.Errorf("%s, %v", about(steps), err)
	}
	for _, s := range steps {
		if len(s.Name) < fullHash {
			t.Errorf("%s is no hash", s.Name)
		}
	}
	for says, ends := range map[string][2]string{
		"nowhere is no commit of":                 {"nowhere", "main"},
		"--all is no commit of":                   {"v1", "--all"},
		"side is not on the way of first parents": {"side", "main"},
		"no commit follows main on the way to v1": {"main", "v1"},
		"no commit follows v1 on the way to v1":   {"v1", "v1"},
	} {
		if _, err := Commits(t.Context(), folder, ends[0], ends[1]); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v: %v, want %q", ends, err, says)
		}
	}
}
