package export

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	hdrhistogram "github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/go-cmp/cmp"

	"nearfar/internal/base/hdr"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/declare/rundir"
	"nearfar/internal/kits/pythontest"
)

// hostile has characters that are special in formats, terminals and pages.
const hostile = "a\"b\\c\nd\r<script>alert(1)</script>\x1b[31m,=1+1 \u00e4\u4e16\u202e"

// newRun makes a run directory with this name, the trials and the files of histograms.
func newRun(t *testing.T, name string, trials []result.Trial,
	histograms map[string]*hdrhistogram.Histogram) *rundir.Dir {
	t.Helper()
	parent := t.TempDir()
	made, err := rundir.Create(parent, rundir.Manifest{
		Nearfar: "v1", Seed: 1, State: rundir.Complete, Started: time.Date(2026, 11, 21, 19, 22, 0, 0, time.UTC),
		Experiment: &experiment.Experiment{Name: "overlay", Baseline: "l2", Arms: []experiment.Arm{{Name: "l2"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for file, h := range histograms {
		encoded, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := made.WriteRaw(file, encoded); err != nil {
			t.Fatal(err)
		}
	}
	for _, trial := range trials {
		if err := made.Append(trial); err != nil {
			t.Fatal(err)
		}
	}
	if err := made.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(parent, name)
	if err := os.Rename(made.Path, path); err != nil {
		t.Fatal(err)
	}
	run, err := rundir.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func rtt(stat string, value float64) result.Metric {
	return result.Metric{Name: result.RTT, Stat: stat, Unit: result.Seconds, Value: value}
}

// trialsOfAllKinds has a trial with all fields, one that failed, and an imported one with few fields and a hostile
// name.
func trialsOfAllKinds() []result.Trial {
	bytes := 1024
	return []result.Trial{
		{
			Trial: 1, Block: 1, Arm: "l2", Workload: "rr-1k", Repeat: 2, Replaces: 7, Deployment: 3,
			Tool: result.ToolVersion{Name: "native", Version: "0.1.0"}, Mode: "rr", Protocol: "tcp",
			MessageBytes: &bytes, Started: time.Date(2026, 11, 21, 19, 22, 1, 123456789, time.UTC),
			DurationSeconds: 2.000000123,
			ReportedAs:      "rtt", Definition: "rtt", Histogram: "raw/1.hdr",
			Set: map[string]string{"wait": "spin", "congestion": "bbr"},
			Metrics: []result.Metric{rtt("p50", 8.31e-6), rtt("p99", 1.0/3e4),
				{Name: "transaction_rate", Unit: "1/s", Value: 120000.5},
				{Name: "cpu", Unit: "1", Value: 0.5, Scope: "client"}},
		},
		{Trial: 2, Block: 1, Arm: "vxlan", Workload: "rr-1k", Tool: result.ToolVersion{Name: "native"},
			Error: "no reply in 5 s", Metrics: []result.Metric{}},
		{Trial: 3, Arm: hostile, Workload: "ping", Tool: result.ToolVersion{Name: "ping"}, Protocol: "icmp",
			ReportedAs: "rtt", Definition: "rtt",
			Metrics: []result.Metric{rtt("mean", 5.2e-4)}, Histogram: "raw/3.hdr"},
	}
}

type parquetFile struct {
	Columns      [][2]string       `json:"columns"`
	Metadata     map[string]string `json:"metadata"`
	LargestGroup int               `json:"largest_group"`
	Rows         [][]any           `json:"rows"`
}

// readParquet reads a file with DuckDB.
func readParquet(t *testing.T, data []byte) parquetFile {
	t.Helper()
	name := filepath.Join(t.TempDir(), "x.parquet")
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
	var read parquetFile
	if err := json.Unmarshal(pythontest.Run(t, "testdata/read_parquet.py", name), &read); err != nil {
		t.Fatal(err)
	}
	return read
}

// All values are exactly those of trials.jsonl, unknown values are null, and each row has the name of its run.
func TestDuckDBReadsTrials(t *testing.T) {
	a, b := newRun(t, "a", trialsOfAllKinds(), nil), newRun(t, "b", trialsOfAllKinds()[:1], nil)
	var file bytes.Buffer
	if err := Trials(&file, "1.2.3", []*rundir.Dir{a, b}); err != nil {
		t.Fatal(err)
	}
	read := readParquet(t, file.Bytes())
	columns := [][2]string{
		{"run", "VARCHAR"}, {"experiment", "VARCHAR"}, {"trial", "BIGINT"}, {"block", "BIGINT"}, {"arm", "VARCHAR"},
		{"workload", "VARCHAR"},
		{"tool", "VARCHAR"}, {"tool_version", "VARCHAR"}, {"mode", "VARCHAR"}, {"protocol", "VARCHAR"},
		{"message_bytes", "BIGINT"},
		{"started", "TIMESTAMP WITH TIME ZONE"}, {"duration_seconds", "DOUBLE"}, {"reported_as", "VARCHAR"},
		{"definition", "VARCHAR"},
		{"metric", "VARCHAR"}, {"stat", "VARCHAR"}, {"unit", "VARCHAR"}, {"scope", "VARCHAR"}, {"value", "DOUBLE"},
		{"error", "VARCHAR"}, {"set", "VARCHAR"},
		{"repeat", "BIGINT"}, {"replaces", "BIGINT"}, {"deployment", "BIGINT"},
	}
	if diff := cmp.Diff(columns, read.Columns); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"nearfar.version": "1.2.3", "nearfar.table": "trials", "nearfar.schema": "1"},
		read.Metadata); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
	var want [][]any
	for _, run := range []*rundir.Dir{a, b} {
		trials, err := run.Trials()
		if err != nil {
			t.Fatal(err)
		}
		for _, trial := range trials {
			want = append(want, wantRows(filepath.Base(run.Path), trial)...)
		}
	}
	if diff := cmp.Diff(want, read.Rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

// wantRows gives the expected rows of a trial, as they are decoded from JSON.
func wantRows(run string, t result.Trial) (rows [][]any) {
	var size, started any
	if t.MessageBytes != nil {
		size = float64(*t.MessageBytes)
	}
	if !t.Started.IsZero() {
		started = float64(t.Started.UnixMicro())
	}
	set := ""
	if t.Set != nil {
		set = "congestion=bbr; wait=spin"
	}
	row := func(metric, stat, unit, scope string, value any) {
		rows = append(rows, []any{
			run, "overlay", float64(t.Trial), float64(t.Block), t.Arm, t.Workload, t.Tool.Name, t.Tool.Version, t.Mode,
			t.Protocol, size, started,
			t.DurationSeconds, t.ReportedAs, t.Definition, metric, stat, unit, scope, value, t.Error, set,
			float64(t.Repeat), float64(t.Replaces), float64(max(t.Deployment, 1)),
		})
	}
	for _, m := range t.Metrics {
		row(m.Name, m.Stat, m.Unit, m.Scope, m.Value)
	}
	if len(t.Metrics) == 0 {
		row("", "", "", "", nil)
	}
	return rows
}

// sampleHistogram has times from 0 to 7 s, in nanoseconds.
func sampleHistogram(t *testing.T) *hdrhistogram.Histogram {
	t.Helper()
	h := hdrhistogram.New(1, 100_000_000_000, 3)
	for i := range int64(20_000) {
		if err := h.RecordValue(i * i * i % 7_000_000_000); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// The buckets have the recorded bounds and counts, and together they hold all times.
func TestDuckDBReadsHistograms(t *testing.T) {
	h := sampleHistogram(t)
	run := newRun(t, "a", trialsOfAllKinds(),
		map[string]*hdrhistogram.Histogram{"1.hdr": h, "3.hdr": hdrhistogram.New(1, 1000, 3)})
	var file bytes.Buffer
	if err := Histograms(&file, "1.2.3", []*rundir.Dir{run}); err != nil {
		t.Fatal(err)
	}
	read := readParquet(t, file.Bytes())
	columns := [][2]string{
		{"run", "VARCHAR"}, {"experiment", "VARCHAR"}, {"trial", "BIGINT"}, {"block", "BIGINT"}, {"arm", "VARCHAR"},
		{"workload", "VARCHAR"},
		{"definition", "VARCHAR"}, {"lower_seconds", "DOUBLE"}, {"upper_seconds", "DOUBLE"}, {"count", "BIGINT"},
	}
	if diff := cmp.Diff(columns, read.Columns); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}
	var want [][]any
	total := int64(0)
	for _, bar := range h.Distribution() {
		if bar.Count > 0 {
			want = append(want, []any{"a", "overlay", 1., 1., "l2", "rr-1k", "rtt", float64(bar.From) / 1e9,
				float64(bar.To) / 1e9, float64(bar.Count)})
			total += bar.Count
		}
	}
	if total != 20_000 || len(want) < 1000 {
		t.Fatalf("the sample has %d times in %d buckets", total, len(want))
	}
	if diff := cmp.Diff(want, read.Rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

// Row groups have a limited size, so that memory does not grow with the number of rows.
func TestRowGroupsAreBounded(t *testing.T) {
	var file bytes.Buffer
	out := newParquetWriter[bucketRow](&file, "histograms", "x")
	const rows = 2*rowsPerGroup + 5
	for i := range rows {
		if err := out.add(bucketRow{Run: "a", Count: int64(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.close(); err != nil {
		t.Fatal(err)
	}
	read := readParquet(t, file.Bytes())
	if len(read.Rows) != rows || read.LargestGroup > rowsPerGroup {
		t.Errorf("%d rows, the largest group has %d; want %d and at most %d", len(read.Rows), read.LargestGroup, rows,
			rowsPerGroup)
	}
	for i, row := range read.Rows {
		if row[9] != float64(i) {
			t.Fatalf("row %d holds %v", i, row[9])
		}
	}
}

// Another implementation of HdrHistogram reads the same buckets from the file of a trial's histogram.
func TestPythonReadsHistograms(t *testing.T) {
	h := sampleHistogram(t)
	run := newRun(t, "a", trialsOfAllKinds(), map[string]*hdrhistogram.Histogram{"1.hdr": h})
	var read []struct {
		Count   int64      `json:"count"`
		Buckets [][3]int64 `json:"buckets"`
	}
	if err := json.Unmarshal(pythontest.Run(t, "testdata/read_hdr.py", filepath.Join(run.Path, "raw", "1.hdr")),
		&read); err != nil {
		t.Fatal(err)
	}
	var want [][3]int64
	for _, bar := range h.Distribution() {
		if bar.Count > 0 {
			want = append(want, [3]int64{bar.From, bar.To, bar.Count})
		}
	}
	if len(read) != 1 || read[0].Count != h.TotalCount() {
		t.Fatalf("read %+v", read)
	}
	if diff := cmp.Diff(want, read[0].Buckets); diff != "" {
		t.Errorf("buckets (-want +got):\n%s", diff)
	}
}

func TestRunsOfOneNameAreRefused(t *testing.T) {
	a, b := newRun(t, "a", trialsOfAllKinds(), nil), newRun(t, "a", trialsOfAllKinds(), nil)
	if err := Trials(&bytes.Buffer{}, "x", []*rundir.Dir{a, b}); err == nil ||
		!strings.Contains(err.Error(), "both called a") {
		t.Errorf("got %v", err)
	}
}

// The error names a histogram that cannot be read. Files outside of the run directory are not read.
func TestHistogramsThatCannotBeRead(t *testing.T) {
	trial := trialsOfAllKinds()[0]
	for name, c := range map[string]struct{ file, content, want string }{
		"missing": {"raw/none.hdr", "", "no such file"},
		"outside": {"../../../../../../etc/passwd", "", "escapes"},
		"no HDR":  {"raw/x.hdr", "not a histogram", "raw/x.hdr"},
		"folder":  {"raw", "", "is not a regular file"},
		"large":   {"raw/x.hdr", strings.Repeat("A", hdr.MaxFile+1), "at most"},
	} {
		t.Run(name, func(t *testing.T) {
			trial.Histogram = c.file
			run := newRun(t, "a", []result.Trial{trial}, nil)
			if c.content != "" {
				if err := os.WriteFile(filepath.Join(run.Path, c.file), []byte(c.content), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			err := Histograms(&bytes.Buffer{}, "x", []*rundir.Dir{run})
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "trial 1") {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// docs/export.md explains each column.
func TestColumnsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../../docs/export.md")
	if err != nil {
		t.Fatal(err)
	}
	var trials, histograms bytes.Buffer
	run := newRun(t, "a", nil, nil)
	if err := Trials(&trials, "x", []*rundir.Dir{run}); err != nil {
		t.Fatal(err)
	}
	if err := Histograms(&histograms, "x", []*rundir.Dir{run}); err != nil {
		t.Fatal(err)
	}
	columns := slices.Concat(readParquet(t, trials.Bytes()).Columns, readParquet(t, histograms.Bytes()).Columns)
	for _, column := range columns {
		if !strings.Contains(string(text), "`"+column[0]+"`") {
			t.Errorf("docs/export.md does not explain %s", column[0])
		}
	}
}

// The queries in docs/export.md run and find rows.
func TestExamplesOfThePage(t *testing.T) {
	trials := trialsOfAllKinds()[:1]
	other := trials[0]
	other.Trial, other.Arm, other.Histogram = 2, "vxlan", ""
	run := newRun(t, "a", append(trials, other), map[string]*hdrhistogram.Histogram{"1.hdr": sampleHistogram(t)})
	dir := t.TempDir()
	for name, write := range map[string]func(*os.File) error{
		"trials.parquet":     func(f *os.File) error { return Trials(f, "x", []*rundir.Dir{run}) },
		"histograms.parquet": func(f *os.File) error { return Histograms(f, "x", []*rundir.Dir{run}) },
	} {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(write(f), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if got := string(pythontest.Run(t, "testdata/run_sql.py", "../../../docs/export.md", dir)); got != "2\n1\n1\n" {
		t.Errorf("the examples gave %q rows", got)
	}
}
