package cli

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nearfar/internal/conclude/history"
	"nearfar/internal/declare/rundir/rundirtest"
)

var updateHistory = flag.Bool("update-history", false, "rewrite the golden files of history")

// writeHistory makes the runs of twenty nights in the directory runs of a new working directory. An arm has a hostile
// name.
func writeHistory(t *testing.T) (parent string) {
	t.Helper()
	parent = t.TempDir()
	t.Chdir(parent)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(parent, "cache"))
	t.Setenv("LC_ALL", "C")
	rundirtest.TwentyNights(t, "runs", "=cmd|'/C calc'!A0 <script>\x1b[31m")
	return parent
}

// command runs the command line and returns its output.
func command(t *testing.T, wantCode int, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, errors bytes.Buffer
	if code := Main(args, strings.NewReader(""), &out, &errors); code != wantCode {
		t.Fatalf("nearfar %s: exit code %d, want %d\n%s", strings.Join(args, " "), code, wantCode, errors.String())
	}
	return out.String(), errors.String()
}

// TestHistoryGolden: each format, with a change, another version of a tool and a hostile name.
func TestHistoryGolden(t *testing.T) {
	golden, err := filepath.Abs(filepath.Join("testdata", "history"))
	if err != nil {
		t.Fatal(err)
	}
	writeHistory(t)
	for _, format := range []string{"terminal", "markdown", "csv", "json"} {
		t.Run(format, func(t *testing.T) {
			got, _ := command(t, exitDone, "history", "-f", format)
			name := filepath.Join(golden, format+".txt")
			if *updateHistory {
				if err := os.MkdirAll(golden, 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if strings.Contains(got, "\x1b") {
				t.Error("the output has an escape character")
			}
			if format == "terminal" {
				for line := range strings.Lines(got) {
					if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 80 {
						t.Errorf("a line of %d columns: %s", n, line)
					}
				}
			}
		})
	}
}

// TestHistoryFormats: the JSON has the change at its position. The CSV has a row for each run and no formula.
func TestHistoryFormats(t *testing.T) {
	writeHistory(t)
	out, _ := command(t, exitDone, "history", "--arm", "l2", "-f", "json", "runs")
	var d history.Document
	if err := json.Unmarshal([]byte(out), &d); err != nil {
		t.Fatal(err)
	}
	if len(d.Series) != 1 || len(d.Series[0].Points) != 20 || len(d.Series[0].Changes) != 1 ||
		d.Series[0].Changes[0].Point != 8 || d.Series[0].Machine != "bench-1" {
		t.Errorf("%+v", d)
	}
	differs := d.Series[0].Points[8].Differs
	if len(differs) != 1 || differs[0] != "tool: native 0.2.0, was native 0.1.0" {
		t.Errorf("differs %q", differs)
	}
	out, _ = command(t, exitDone, "history", "-f", "csv", "--since", "2026-11-05", "--limit", "3")
	rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if err != nil || len(rows) != 1+2*3 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for _, row := range rows {
		for _, cell := range row {
			if strings.HasPrefix(cell, "=") {
				t.Errorf("%q is a formula", cell)
			}
		}
	}
	command(t, exitDone, "history", "-o", "out.txt", "-f", "markdown")
	if text, err := os.ReadFile("out.txt"); err != nil || !strings.Contains(string(text), "| started") {
		t.Errorf("out.txt: %q, %v", text, err)
	}
}

// TestHistoryUsage: the message of each mistake says what would be right.
func TestHistoryUsage(t *testing.T) {
	parent := writeHistory(t)
	entries, err := os.ReadDir("runs")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		want string
		args []string
	}{
		{"no such file", []string{"nowhere"}},
		{"is a single run", []string{filepath.Join(parent, "runs", entries[0].Name())}},
		{"use one of terminal, markdown, csv, json", []string{"-f", "html"}},
		{"--limit 0", []string{"--limit", "0"}},
		{"write a date such as", []string{"--since", "yesterday"}},
		{`there are "=cmd`, []string{"--arm", "l3"}},
		{"write a metric, and its statistic", []string{"--metric", "p99"}},
		{`there are "failures", "rtt.p50"`, []string{"--metric", "rtt.p99"}},
		{"--push is gone, nearfar has no database: copy the runs of all machines into one folder",
			[]string{"--push", "runs"}},
		{"--db is gone", []string{"--db", "postgres://me:geheim@x/y"}},
		{"name it: nearfar history FOLDER", []string{"--db=postgres://me:geheim@x/y", "--push", "runs"}},
		{"accepts at most 1 arg", []string{"a", "b"}},
	} {
		_, stderr := command(t, exitUsage, append([]string{"history"}, c.args...)...)
		if !strings.Contains(strings.Join(strings.Fields(stderr), " "), c.want) || strings.Contains(stderr, "geheim") {
			t.Errorf("%v: %s", c.args, stderr)
		}
	}
	if help, _ := command(t, exitDone, "history", "--help"); strings.Contains(help, "--push") {
		t.Errorf("the help has a flag that is gone:\n%s", help)
	}
}

// TestHistoryWithoutACache: without a cache directory, no file is written into the directory of runs.
func TestHistoryWithoutACache(t *testing.T) {
	writeHistory(t)
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("HOME", "")
	out, _ := command(t, exitDone, "history", "--arm", "l2", "-f", "json")
	if !strings.Contains(out, `"changes": [`) {
		t.Error(out)
	}
	entries, err := os.ReadDir("runs")
	if err != nil || len(entries) != 20 {
		t.Errorf("%d entries in runs, %v", len(entries), err)
	}
}

// TestReportForOtherPrograms: report exports several runs into one file, and leaves no incomplete file.
func TestReportForOtherPrograms(t *testing.T) {
	writeHistory(t)
	runs, err := filepath.Glob(filepath.Join("runs", "*"))
	if err != nil {
		t.Fatal(err)
	}
	command(t, exitDone, append([]string{"report", "-f", "parquet", "-o", "x.parquet"}, runs...)...)
	data, err := os.ReadFile("x.parquet")
	if magic := []byte("PAR1"); err != nil || !bytes.HasPrefix(data, magic) || !bytes.HasSuffix(data, magic) {
		t.Errorf("x.parquet is not a parquet file: %v", err)
	}
	// The same is written to a pipe.
	if out, _ := command(t, exitDone, "report", "-f", "parquet", runs[0]); !strings.HasPrefix(out, "PAR1") {
		t.Errorf("%.20q", out)
	}
	out, _ := command(t, exitDone, append([]string{"report", "-f", "openmetrics"}, runs...)...)
	if strings.Count(out, "\nnearfar_run_info{") != len(runs) ||
		!strings.HasSuffix(out, "# EOF\n") || strings.Contains(out, "\x1b") {
		t.Error(out)
	}
	name := filepath.Join(runs[0], "trials.jsonl")
	if err := os.WriteFile(name, []byte("{}\nnot json\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, stderr := command(t, exitFailed, "report", "-f", "parquet", "-o", "broken.parquet", runs[0])
	if !strings.Contains(stderr, "trials.jsonl:2") {
		t.Error(stderr)
	}
	if _, err := os.Stat("broken.parquet"); !os.IsNotExist(err) {
		t.Errorf("an incomplete file was left: %v", err)
	}
	command(t, exitUsage, "report", "-f", "parquet", "-o", "x.parquet", "nowhere")
	_, stderr = command(t, exitUsage, "run", "-f", "parquet", "x.yaml")
	if !strings.Contains(stderr, "nearfar report") {
		t.Error(stderr)
	}
}
