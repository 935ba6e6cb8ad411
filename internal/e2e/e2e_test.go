//go:build linux

// Package e2e runs the built program on real components: namespaces, kernel datapaths, measuring tools.
package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"nearfar/internal/answer"
	"nearfar/internal/result"
	"nearfar/internal/rundir"
)

// program is where TestMain has built nearfar, readable by every user.
var program string

func TestMain(m *testing.M) {
	if percent := os.Getenv(burnVariable); percent != "" {
		if err := burn(percent); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	code, err := buildAndRun(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func buildAndRun(m *testing.M) (code int, err error) {
	dir, err := os.MkdirTemp("", "nearfar-e2e-")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := os.Chmod(dir, 0o755); err != nil {
		return 1, err
	}
	program = filepath.Join(dir, "nearfar")
	if out, err := exec.Command("go", "build", "-o", program, "nearfar/cmd/nearfar").CombinedOutput(); err != nil {
		return 1, fmt.Errorf("go build: %w\n%s", err, out)
	}
	return m.Run(), nil
}

// workspace is a directory of the test's own, which the user that runs nearfar may write to.
func workspace(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "nearfar-run-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

// write puts an experiment into the workspace.
func write(t *testing.T, dir, text string) string {
	t.Helper()
	name := filepath.Join(dir, "experiment.yaml")
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

// nearfar runs the program in the directory and gives its standard output; credential is nil for the caller's user.
func nearfar(t *testing.T, dir string, credential *syscall.Credential, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: credential}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("nearfar %s: %v\n%s", strings.Join(args, " "), err, stderr.Bytes())
	}
	return stdout.Bytes()
}

// measure runs an experiment and gives its answer.
func measure(t *testing.T, experiment string, args ...string) answer.Answer {
	t.Helper()
	dir := workspace(t)
	return answerOf(t, nearfar(t, dir, nil, append([]string{"run", "-f", "json", write(t, dir, experiment)}, args...)...), dir)
}

func answerOf(t *testing.T, stdout []byte, dir string) answer.Answer {
	t.Helper()
	var a answer.Answer
	if err := json.Unmarshal(stdout, &a); err != nil {
		t.Fatalf("%v in %s", err, stdout)
	}
	a.Run = filepath.Join(dir, a.Run)
	return a
}

// trials reads the trials of an answer's run.
func trials(t *testing.T, a answer.Answer) []result.Trial {
	t.Helper()
	dir, err := rundir.Open(a.Run)
	if err != nil {
		t.Fatal(err)
	}
	all, err := dir.Trials()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// wantNoFailures fails the test with the reason of each failed trial.
func wantNoFailures(t *testing.T, a answer.Answer) {
	t.Helper()
	for _, tr := range trials(t, a) {
		if tr.Error != "" {
			t.Errorf("trial %d, %s %s: %s", tr.Trial, tr.Arm, tr.Workload, tr.Error)
		}
	}
}

// median gives an arm's figure of a workload's quantity.
func median(t *testing.T, a answer.Answer, arm, workload, metric, stat string) float64 {
	t.Helper()
	for _, f := range a.Arms {
		if f.Arm == arm && f.Workload == workload && f.Metric == metric && f.Stat == stat {
			return f.Median
		}
	}
	t.Fatalf("no %s %s of %s in %s: %+v", metric, stat, workload, arm, a.Arms)
	return 0
}
