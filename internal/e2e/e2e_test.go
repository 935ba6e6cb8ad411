//go:build linux

// Package e2e runs the built program on real components: namespaces, kernel datapaths, measuring tools.
//
// Tests that judge measured figures run alone, one after the other. All others call t.Parallel: they run beside each
// other when the first have ended. Most of their time they wait for trials that take a second and for processes that
// end.
package e2e

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/declare/result"
	"nearfar/internal/declare/rundir"
)

// program is the path of the nearfar binary that TestMain builds once for all tests. Every user can read it.
var program string

// besideEachOther is how many parallel tests run at a time for each CPU, unless -parallel is given.
const besideEachOther = 3

func TestMain(m *testing.M) {
	if percent := os.Getenv(burnVariable); percent != "" {
		if err := burn(percent); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if insideCluster() {
		return
	}
	if isAz() {
		os.Exit(runAz())
	}
	if isListing() {
		os.Exit(runListing())
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
	// Without symbols and DWARF, as released builds: linking takes half of the CPU time.
	build := exec.Command("go", "build", "-ldflags", "-s -w", "-o", program, "nearfar/cmd/nearfar")
	if out, err := build.CombinedOutput(); err != nil {
		return 1, fmt.Errorf("go build: %w\n%s", err, out)
	}
	if err := noClouds(filepath.Join(dir, "clouds")); err != nil {
		return 1, err
	}
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		if err := flag.Set("test.parallel", strconv.Itoa(besideEachOther*runtime.GOMAXPROCS(0))); err != nil {
			return 1, err
		}
	}
	return m.Run(), nil
}

// noClouds puts programs on PATH in place of this machine's own az, aws and gcloud, which would ask real clouds with
// the login of whoever runs the tests. A test that needs one of them puts its own before these.
func noClouds(folder string) error {
	if err := os.Mkdir(folder, 0o755); err != nil {
		return err
	}
	for _, name := range []string{"az", "aws", "gcloud"} {
		const script = "#!/bin/sh\necho 'no cloud is asked by tests' >&2\nexit 1\n"
		if err := os.WriteFile(filepath.Join(folder, name), []byte(script), 0o755); err != nil {
			return err
		}
	}
	return os.Setenv("PATH", folder+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// workspace makes a directory for the test, which every user may write to, and removes it at the end.
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

// write saves an experiment in the workspace and returns its path.
func write(t *testing.T, dir, text string) string {
	t.Helper()
	name := filepath.Join(dir, "experiment.yaml")
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

// nearfar runs the program in the directory and returns its standard output. Without a credential it runs as the
// caller's user.
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

// measure runs an experiment and returns its answer.
func measure(t *testing.T, experiment string, args ...string) answer.Answer {
	t.Helper()
	dir := workspace(t)
	args = append([]string{"run", "-f", "json", write(t, dir, experiment)}, args...)
	return answerOf(t, nearfar(t, dir, nil, args...), dir)
}

// answerOf reads the JSON that `nearfar run` printed in the directory.
func answerOf(t *testing.T, stdout []byte, dir string) answer.Answer {
	t.Helper()
	var a answer.Answer
	if err := json.Unmarshal(stdout, &a); err != nil {
		t.Fatalf("%v in %s", err, stdout)
	}
	a.Run = filepath.Join(dir, a.Run)
	return a
}

// shortWindow is what a trial says that had no CPU within its window, on a machine that many tests share.
var shortWindow = regexp.MustCompile(`^native: the window gives no figure: \S+ were asked for, \S+ passed on the ` +
	`client's clock, and \d+ (bytes were received|messages were received|transactions were completed) in it: ` +
	`a machine was too busy, or the path stood still \(`)

// trials reads the trials of an answer's run, as trialsOf does.
func trials(t *testing.T, a answer.Answer) []result.Trial {
	t.Helper()
	return trialsOf(t, a.Run)
}

// trialsOf reads the trials of a run. A trial with a short window is left out if a good one has replaced it.
func trialsOf(t *testing.T, run string) []result.Trial {
	t.Helper()
	dir, err := rundir.Open(run)
	if err != nil {
		t.Fatal(err)
	}
	all, err := dir.Trials()
	if err != nil {
		t.Fatal(err)
	}
	replaced := map[int]bool{} // by the number of the scheduled trial
	for _, tr := range all {
		if tr.Replaces != 0 && tr.Error == "" {
			replaced[tr.Replaces] = true
		}
	}
	return slices.DeleteFunc(all, func(tr result.Trial) bool {
		short := shortWindow.MatchString(tr.Error) && replaced[cmp.Or(tr.Replaces, tr.Trial)]
		if short {
			t.Logf("trial %d, %s %s is replaced: %s", tr.Trial, tr.Arm, tr.Workload, tr.Error)
		}
		return short
	})
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

// median returns the median over trials of a statistic of one arm and workload.
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
