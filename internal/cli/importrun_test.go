package cli

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/rundir"
	"nearfar/internal/measure/recordings"
)

// put writes a file below a new directory and returns its path.
func put(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// importedRun imports a run into a new directory. It returns the output and the run's directory, "" for none.
func importedRun(t *testing.T, args ...string) (code int, stdout, stderr, run string) {
	t.Helper()
	out := t.TempDir()
	code, stdout, stderr = runImport("", append([]string{"--run", "try", "--out", out}, args...)...)
	entries, err := os.ReadDir(out)
	if err != nil || len(entries) > 1 {
		t.Fatalf("%v, %v", entries, err)
	}
	if len(entries) == 1 {
		run = filepath.Join(out, entries[0].Name())
	}
	return code, stdout, stderr, run
}

func pingOf(mean float64) string {
	return fmt.Sprintf("20 packets transmitted, 20 received, 0%% packet loss, time 19235ms\n"+
		"rtt min/avg/max/mdev = 0.718/%.3f/2.137/0.299 ms\n", mean)
}

func TestImportRun(t *testing.T) {
	near, far := put(t, "near.txt", pingOf(0.969)), put(t, "far.txt", pingOf(1.902)+"\n"+pingOf(1.904))
	code, stdout, stderr, run := importedRun(t,
		"--arm", "near="+near, "--arm", "far="+far, "--question", "How far?", "-f", "json")
	if code != exitDone || stderr != "" {
		t.Fatalf("exit %d, %s", code, stderr)
	}
	var a answer.Answer
	if err := json.Unmarshal([]byte(stdout), &a); err != nil {
		t.Fatal(err)
	}
	if a.Run != run || !a.Imported || a.Baseline != "near" || a.Question != "How far?" || a.Trials != 3 ||
		a.State != rundir.Complete {
		t.Errorf("%+v", a)
	}
	if len(a.Comparisons) != 1 || a.Comparisons[0].Difference == nil || a.Comparisons[0].Workload != "ping-icmp" {
		t.Fatalf("%+v", a.Comparisons)
	}
	if got := *a.Comparisons[0].Difference; got < 0.933e-3 || got > 0.935e-3 {
		t.Errorf("difference %g, want 0.934 ms", got)
	}
	d, err := rundir.Open(run)
	if err != nil {
		t.Fatal(err)
	}
	if m := d.Manifest(); !m.Experiment.Imported || m.Experiment.Name != "try" || m.State != rundir.Complete ||
		m.Started.IsZero() || m.Versions["nearfar"] == "" {
		t.Errorf("%+v", m)
	}
	trials, err := d.Trials()
	if err != nil || len(trials) != 3 {
		t.Fatalf("%d trials, %v", len(trials), err)
	}
	for i, want := range []struct{ arm, raw string }{{"near", near}, {"far", far}, {"far", far}} {
		trial := trials[i]
		if trial.Trial != i+1 || trial.Block != 0 || trial.Arm != want.arm || trial.Workload != "ping-icmp" ||
			len(trial.Raw) != 1 {
			t.Errorf("%+v", trial)
		}
		copied, err := os.ReadFile(filepath.Join(run, trial.Raw[0]))
		original, _ := os.ReadFile(want.raw)
		if err != nil || !bytes.Equal(copied, original) {
			t.Errorf("trial %d: %s is not a copy: %v", trial.Trial, trial.Raw[0], err)
		}
	}
}

// TestImportRunWrong: every mistake has a message, and no run directory is made.
func TestImportRunWrong(t *testing.T) {
	ping, letter := put(t, "ping.txt", pingOf(1)), put(t, "letter.txt", "Dear all,\n")
	missing := filepath.Join(t.TempDir(), "missing.txt")
	empty := t.TempDir()
	for name, c := range map[string]struct {
		args []string
		code int
		says string
	}{
		"missing file": {[]string{"--arm", "near=" + ping, "--arm", "far=" + missing}, exitFailed, missing},
		"unrecognised": {
			[]string{"--arm", "near=" + ping, "--arm", "far=" + letter}, exitFailed, letter + ": no output of sockperf",
		},
		"empty directory": {[]string{"--arm", "near=" + empty}, exitFailed, "contains no files"},
		"arm twice": {
			[]string{"--arm", "near=" + ping, "--arm", "near=" + ping}, exitUsage, `"near" is given twice`,
		},
		"no baseline": {
			[]string{"--arm", "near=" + ping, "--baseline", "far"}, exitUsage,
			`the baseline "far" is no arm: the arms are near`,
		},
		"no arm":        {[]string{ping}, exitUsage, "belongs to no arm"},
		"no arm at all": {nil, exitUsage, "no file is named"},
		"name of the run": {
			[]string{"--run", "../x", "--arm", "near=" + ping}, exitUsage, `"../x" is no name of a run`,
		},
		"name of an arm":     {[]string{"--arm", "a b=" + ping}, exitUsage, `"a b" is no name of an arm`},
		"name of a workload": {[]string{"--workload", "=cmd()", "--arm", "near=" + ping}, exitUsage, "--workload"},
		"no name":            {[]string{"--run", "", "--arm", "near=" + ping}, exitUsage, "--run needs a name"},
		"both forms":         {[]string{"--json", "--arm", "near=" + ping}, exitUsage, "-f json"},
		"format":             {[]string{"-f", "pdf", "--arm", "near=" + ping}, exitUsage, "--format pdf"},
		"tool": {
			[]string{"--tool", "perf", "--arm", "near=" + ping}, exitUsage, `--tool "perf": use one of `,
		},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr, run := importedRun(t, c.args...)
			if code != c.code || !strings.Contains(stderr, c.says) || stdout != "" || run != "" {
				t.Errorf("exit %d, run %q\n%s\n%s", code, run, stdout, stderr)
			}
		})
	}
	for _, flag := range []string{
		"--baseline=near", "--question=x", "--workload=x", "--out=x", "--format=json", "--output=x",
	} {
		code, _, stderr := runImport("", flag, ping)
		if code != exitUsage || !strings.Contains(stderr, "goes with --run") {
			t.Errorf("%s without --run: exit %d, %s", flag, code, stderr)
		}
	}
}

// TestImportRunInterrupted: an interrupt leaves no run directory.
func TestImportRunInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	out := filepath.Join(t.TempDir(), "runs")
	a := &app{stdin: strings.NewReader(""), stdout: &bytes.Buffer{}, stderr: &bytes.Buffer{}}
	o := importRunOptions{Plan: recordings.Plan{Name: "try", Arms: []string{"near"}}, out: out,
		report: reportOptions{format: "terminal"}}
	named := []recordings.Recording{{Arm: "near", File: put(t, "ping.txt", pingOf(1))}}
	err := a.importRun(ctx, named, recordings.Reader{ReadFile: a.readFile}, o)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(out); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s exists: %v", out, err)
	}
}

// TestImportNamesHostileFiles: messages escape the names of files in a directory, which may be hostile.
func TestImportNamesHostileFiles(t *testing.T) {
	dir := filepath.Dir(put(t, "a\x1b[2J\u202e.txt", "Dear all,\n"))
	code, _, stderr, _ := importedRun(t, "--arm", "near="+dir)
	if code != exitFailed || !strings.Contains(stderr, "no output of sockperf") ||
		strings.ContainsAny(stderr, "\x1b\u202e") {
		t.Errorf("exit %d, %q", code, stderr)
	}
}

// TestImportRunFailed: failed runs become trials with an error. The exit code is 1 if every trial failed.
func TestImportRunFailed(t *testing.T) {
	refused := put(t, "refused.txt", "iperf3: error - unable to connect to server: Connection refused\n")
	code, stdout, stderr, run := importedRun(t, "--arm", "near="+refused)
	const want = "every trial failed; the first: iperf3: unable to connect"
	if code != exitFailed || run == "" || !strings.Contains(stderr, want) || !strings.Contains(stdout, "No answer") {
		t.Errorf("exit %d, run %q\n%s\n%s", code, run, stdout, stderr)
	}
	code, stdout, _, _ = importedRun(t, "--arm", "near="+refused, "--arm", "far="+put(t, "ping.txt", pingOf(1)))
	if code != exitDone || !strings.Contains(stdout, "failed-trials (near iperf3-stream)") {
		t.Errorf("exit %d\n%s", code, stdout)
	}
}

// TestImportRunRefuses: an imported run follows the same rules as a measured one, also with one name for all workloads.
func TestImportRunRefuses(t *testing.T) {
	ping := put(t, "ping.txt", pingOf(1))
	sockperf := put(t, "sockperf.txt", "sockperf: == version #3.7-no.git ==\n[ 0] IP = 10.0.0.1 PORT = 11111 # TCP\n"+
		"sockperf: [Total Run] RunTime=1.000 sec; Warm up time=400 msec; SentMessages=9; ReceivedMessages=9\n"+
		"sockperf: ====> avg-rtt=94.790 (std-dev=9.300)\nsockperf: Summary: Round trip is 94.790 usec\n")
	for _, args := range [][]string{nil, {"--workload", "latency"}} {
		args = append(args, "--arm", "near="+ping, "--arm", "far="+sockperf, "-f", "json")
		code, stdout, stderr, run := importedRun(t, args...)
		var a answer.Answer
		if err := json.Unmarshal([]byte(stdout), &a); err != nil || code != exitDone || run == "" {
			t.Fatalf("exit %d, %v, %s", code, err, stderr)
		}
		if len(a.Comparisons) == 0 {
			t.Error("no comparison is listed")
		}
		for _, c := range a.Comparisons {
			if c.Difference != nil || c.Verdict != figures.NotComparable {
				t.Errorf("ping is compared with TCP: %+v", c)
			}
		}
	}
}

// TestImportRunHostile: the content of a file cannot control a terminal, a page, a spreadsheet or a file name, and
// cannot use much memory.
func TestImportRunHostile(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("<script>alert(1)</script>\x1b[2J", 400_000) // 12 MB of one line
	hostile := "iperf3: error - \x1b]0;title\x07\x1b[31mred <script>alert(1)</script> \u202e \x00\x08 end\n" +
		long + "\n" +
		"Protocol TCP\x1b[2J=cmd()<script>\nMsgSize(byte) 4\nIterations 65000\nLatency(usec) 88.80\nCPU(%) =cmd()\n" +
		"SO_SNDBUF <script>x</script>\n" +
		"sockperf: == version #" + strings.Repeat("9", 9000) + "\n" +
		"sockperf: ERROR: =cmd|' /C calc'!A0 \x1b[31m" + long[:8000] + "\n\x00\x00" + pingOf(1)
	file := put(t, "=cmd()\x1b[2J<script>.txt", hostile)
	code, stdout, stderr, run := importedRun(t, "--arm", "near="+file, "--arm", "far="+put(t, "far.txt", hostile))
	if code != exitDone || run == "" {
		t.Fatalf("exit %d, %.300s", code, stderr)
	}
	checkHarmless(t, "terminal", stdout+stderr)
	for _, format := range []string{"markdown", "csv", "json"} {
		var out, errs bytes.Buffer
		if code := Main([]string{"report", "-f", format, run}, strings.NewReader(""), &out, &errs); code != exitDone {
			t.Fatalf("%s: exit %d, %.300s", format, code, errs.String())
		}
		checkHarmless(t, format, out.String())
	}
	checkHarmlessRun(t, run)
}

// checkHarmless checks that the output is short, and has nothing that a reader of the format executes.
func checkHarmless(t *testing.T, format, printed string) {
	t.Helper()
	if len(printed) > 64<<10 {
		t.Errorf("%s: %d bytes are printed", format, len(printed))
	}
	for _, r := range printed {
		if r < ' ' && r != '\n' || r >= 0x7f && r < 0xa0 || r == 0x202e && format != "json" {
			t.Fatalf("%s prints the control character %U", format, r)
		}
	}
	if format != "terminal" && strings.Contains(printed, "<script>") {
		t.Errorf("%s prints a tag:\n%.2000s", format, printed)
	}
	if format != "csv" {
		return
	}
	rows, err := csv.NewReader(strings.NewReader(printed)).ReadAll()
	if err != nil || len(rows) < 2 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for _, row := range rows {
		for _, field := range row {
			_, err := strconv.ParseFloat(field, 64)
			if err != nil && strings.ContainsAny(field[:min(1, len(field))], "=+-@\t\r") {
				t.Errorf("a formula: %q", field)
			}
		}
	}
}

// checkHarmlessRun checks that the file names in a run directory have only safe characters, and that its files are
// small.
func checkHarmlessRun(t *testing.T, run string) {
	t.Helper()
	raw, err := os.ReadDir(filepath.Join(run, "raw"))
	if err != nil || len(raw) != 2 {
		t.Fatalf("%d raw files, %v", len(raw), err)
	}
	for _, entry := range raw {
		if strings.Trim(entry.Name(), "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") != "" {
			t.Errorf("a raw file is called %q", entry.Name())
		}
	}
	for _, name := range []string{"run.json", "trials.jsonl"} {
		data, err := os.ReadFile(filepath.Join(run, name))
		if err != nil || len(data) > 64<<10 || !utf8.Valid(data) {
			t.Errorf("%s has %d bytes, %v", name, len(data), err)
		}
	}
}
