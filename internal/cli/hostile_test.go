//go:build linux

package cli

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nearfar/internal/show/page"
)

// The limits of a verb that reads a hostile run directory. hostileTime is CPU time, because other tests run in
// parallel. hostileMemory does not count the pages of the program's file, which no input changes.
const (
	hostileTime   = 5 * time.Second
	hostileMemory = 300 << 20
	hostileWait   = 60 * time.Second
)

// hostileRun is a run directory that was manipulated to do harm.
type hostileRun struct {
	name string
	make func(run string) error
	// reads says that a report can be made anyway.
	reads bool
}

// insteadOf removes a file of the run and puts something else in its place.
func insteadOf(name string, put func(path string) error) func(string) error {
	return func(run string) error {
		path := filepath.Join(run, name)
		if err := os.RemoveAll(path); err != nil {
			return err
		}
		return put(path)
	}
}

func pipe(path string) error { return unix.Mkfifo(path, 0o644) }

func folder(path string) error { return os.Mkdir(path, 0o755) }

func linkTo(target string) func(string) error {
	return func(path string) error { return os.Symlink(target, path) }
}

func sparse(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := f.Truncate(3 << 30); err != nil {
		return err
	}
	return f.Close()
}

func holds(text string) func(string) error {
	return func(path string) error { return os.WriteFile(path, []byte(text), 0o644) }
}

// declares changes the manifest.
func declares(change func(experiment map[string]any)) func(string) error {
	return func(run string) error {
		name := filepath.Join(run, "run.json")
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		var m map[string]any
		if err := json.Unmarshal(data, &m); err != nil {
			return err
		}
		change(m["experiment"].(map[string]any))
		if data, err = json.Marshal(m); err != nil {
			return err
		}
		return os.WriteFile(name, data, 0o644)
	}
}

// everyHistogram replaces every histogram.
func everyHistogram(put func(path string) error) func(string) error {
	return func(run string) error {
		all, err := filepath.Glob(filepath.Join(run, "raw", "*.hdr"))
		if err != nil || len(all) == 0 {
			return fmt.Errorf("%d histograms, %w", len(all), err)
		}
		for _, path := range all {
			if err := insteadOf(filepath.Base(path), put)(filepath.Dir(path)); err != nil {
				return err
			}
		}
		return nil
	}
}

// fiveDigits returns a histogram with five digits of precision from 1 ns to the end of int64. The file is small, but
// a decoder that allocates all counts needs 6 million of 8 bytes.
func fiveDigits() string {
	plain := binary.BigEndian.AppendUint32(nil, 0x1c849303|0x10)
	body := binary.AppendVarint(binary.AppendVarint(nil, -1000), 5000)
	for _, v := range []uint32{uint32(len(body)), 0, 5} {
		plain = binary.BigEndian.AppendUint32(plain, v)
	}
	plain = binary.BigEndian.AppendUint64(plain, 1)
	plain = binary.BigEndian.AppendUint64(plain, 1<<62)
	plain = append(binary.BigEndian.AppendUint64(plain, 0), body...)
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	_, _ = z.Write(plain) // into memory: it cannot fail
	_ = z.Close()
	b := binary.BigEndian.AppendUint32(nil, 0x1c849304|0x10)
	b = binary.BigEndian.AppendUint32(b, uint32(packed.Len()))
	return base64.StdEncoding.EncodeToString(append(b, packed.Bytes()...))
}

// repeats writes a file with n times the unit in the middle. It does not build the text in memory: Linux counts the
// peak of the parent's memory as the child's.
func repeats(head, unit string, n int, tail string) func(string) error {
	return func(path string) error {
		f, err := os.Create(path)
		if err != nil {
			return err
		}
		w := bufio.NewWriter(f)
		_, err = w.WriteString(head)
		for range n {
			if err == nil {
				_, err = w.WriteString(unit)
			}
		}
		if err == nil {
			_, err = w.WriteString(tail)
		}
		return errors.Join(err, w.Flush(), f.Close())
	}
}

func hostileRuns() []hostileRun {
	const workloads = `{"nearfar":"v1","experiment":{"workloads":[`
	const blocks = `{"nearfar":"v1","experiment":{"schedule":{"blocks":NaN}}}`
	const trial = `{"trial":1,"block":1,"arm":"a","workload":"w","metrics":[`
	const nan = trial + `{"name":"rtt","stat":"p50","unit":"s","value":NaN}]}` + "\n"
	arm := func(e map[string]any) map[string]any { return e["arms"].([]any)[1].(map[string]any) }
	return []hostileRun{
		{"manifest-pipe", insteadOf("run.json", pipe), false},
		{"manifest-device", insteadOf("run.json", linkTo("/dev/zero")), false},
		{"manifest-loop", insteadOf("run.json", linkTo("run.json")), false},
		{"manifest-sparse", insteadOf("run.json", sparse), false},
		{"manifest-folder", insteadOf("run.json", folder), false},
		{"manifest-types", insteadOf("run.json", holds(`{"nearfar":"v1","experiment":{"arms":"all"}}`)), false},
		{"manifest-nan", insteadOf("run.json", holds(blocks)), false},
		{"manifest-huge", insteadOf("run.json", repeats(workloads, "{},", 3_000_000, "{}]}}")), false},
		{"manifest-deep", insteadOf("run.json", repeats("", `{"a":[`, 1_000_000, "")), false},
		{"no-arms", declares(func(e map[string]any) { e["arms"] = []any{} }), false},
		{"negative-blocks", declares(func(e map[string]any) { e["schedule"] = map[string]any{"blocks": -1} }), false},
		{"huge-blocks", declares(func(e map[string]any) { e["schedule"] = map[string]any{"blocks": 1 << 60} }), false},
		{"arm-elsewhere", declares(func(e map[string]any) { arm(e)["name"] = "/../../../../x" }), true},
		{"trials-pipe", insteadOf("trials.jsonl", pipe), false},
		{"trials-device", insteadOf("trials.jsonl", linkTo("/dev/zero")), false},
		{"trials-sparse", insteadOf("trials.jsonl", sparse), false},
		{"trials-folder", insteadOf("trials.jsonl", folder), false},
		{"trials-types", insteadOf("trials.jsonl", holds(`{"trial":[],"metrics":7}`+"\n")), false},
		{"trials-nan", insteadOf("trials.jsonl", holds(nan)), false},
		{"trials-huge", insteadOf("trials.jsonl", repeats(trial, "{},", 3_000_000, "{}]}\n")), false},
		{"trials-line", insteadOf("trials.jsonl", repeats(trial, strings.Repeat(" ", 1<<10), 20<<10, "]}\n")), false},
		{"trials-many", insteadOf("trials.jsonl", repeats("", "{}\n", 300_000, "")), false},
		{"histogram-pipe", everyHistogram(pipe), true},
		{"histogram-device", everyHistogram(linkTo("/dev/zero")), true},
		{"histogram-sparse", everyHistogram(sparse), true},
		{"histogram-digits", everyHistogram(holds(fiveDigits())), true},
		{"raw-pipe", insteadOf("raw", pipe), true},
		{"raw-elsewhere", insteadOf("raw", linkTo("/dev")), true},
	}
}

// bounded runs the program. It checks its CPU time and memory, and that it prints something.
func bounded(t *testing.T, dir string, args ...string) (said string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hostileWait)
	defer cancel()
	cmd := exec.CommandContext(ctx, "nearfar", args...)
	cmd.Dir = dir
	peak := filepath.Join(t.TempDir(), "peak")
	cmd.Env = append(os.Environ(), peakVariable+"="+peak, "XDG_CACHE_HOME="+filepath.Join(dir, "cache"), "HOME="+dir)
	output, _ := cmd.CombinedOutput() // the exit code is checked below
	what := strings.Join(args, " ")
	if ctx.Err() != nil {
		t.Errorf("%s hangs", what)
		return "", -1
	}
	withinBounds(t, what, cmd.ProcessState, peak)
	said = string(output)
	if strings.Contains(said, "goroutine ") || strings.Contains(said, "panic") {
		t.Errorf("%s panics:\n%.2000s", what, said)
	}
	if code = cmd.ProcessState.ExitCode(); len(said) == 0 && (code != 0 || !slices.Contains(args, "-o")) {
		t.Errorf("%s ends with %d and prints nothing", what, code)
	}
	return said, code
}

// withinBounds checks the CPU time of a program that has ended, and its peak of memory, which it wrote to a file.
func withinBounds(t *testing.T, what string, p *os.ProcessState, peak string) {
	t.Helper()
	if took := p.UserTime() + p.SystemTime(); took > hostileTime {
		t.Errorf("%s took %v", what, took)
	}
	if took := ownMemory(t, peak); took > hostileMemory {
		t.Errorf("%s took %d MiB", what, took>>20)
	}
}

// ownMemory is the peak of memory of a program that wrote its status to a file, in bytes, without the pages of the
// program's file.
func ownMemory(t *testing.T, peak string) int64 {
	t.Helper()
	status, err := os.ReadFile(peak)
	if err != nil {
		t.Error(err)
		return 0
	}
	var peakKB, fileKB int64
	for name, kilobytes := range map[string]*int64{"VmHWM:": &peakKB, "RssFile:": &fileKB} {
		_, after, _ := strings.Cut(string(status), name)
		if _, err := fmt.Sscan(after, kilobytes); err != nil {
			t.Errorf("%s %v in %s", name, err, status)
		}
	}
	return (peakKB - fileKB) << 10
}

// writeHostile makes a valid run called sound, and the hostile run in the same folder.
func writeHostile(t *testing.T, dir string, h hostileRun) {
	t.Helper()
	m := madeRun{
		arms: []string{"a", "b"}, workloads: []string{"w"}, blocks: 6, seed: 3, level: 1e-5, scatter: 0.01,
		observations: 2000,
	}
	for _, name := range []string{"sound", h.name} {
		if err := m.write(filepath.Join(dir, "runs", name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.make(filepath.Join(dir, "runs", h.name)); err != nil {
		t.Fatal(err)
	}
}

// TestHostileRuns: every verb that reads a run directory ends soon, in bounded memory, with a message, whatever the
// directory contains.
func TestHostileRuns(t *testing.T) {
	for _, h := range hostileRuns() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			writeHostile(t, dir, h)
			run := filepath.Join("runs", h.name)
			said, code := bounded(t, dir, "report", run)
			if (code == 0) != h.reads {
				t.Errorf("report ends with %d:\n%.500s", code, said)
			}
			if code != 0 && !strings.Contains(said, h.name) {
				t.Errorf("report does not name the run:\n%.500s", said)
			}
			if testing.Short() { // the other verbs read the run with the same functions
				return
			}
			bounded(t, dir, "compare", "runs/sound", run)
			bounded(t, dir, "gate", "runs/sound", run, "--fail-if", "* rtt.p50 > +50%")
			said, code = bounded(t, dir, "history", "runs")
			if code != 0 || !h.reads && !strings.Contains(said, h.name) {
				t.Errorf("history ends with %d:\n%.500s", code, said)
			}
			if said, code := bounded(t, dir, "run", "--resume", run); code != exitUsage {
				t.Errorf("run --resume ends with %d:\n%.500s", code, said)
			}
			bounded(t, dir, "import", "--run", "again", "--out", "imported", "--arm", "x="+run)
			for _, format := range []string{"html", "parquet-histograms"} {
				if !h.reads { // a report in any format ends as the first one
					break
				}
				bounded(t, dir, "report", "-f", format, "-o", "out", run)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "x*")); len(left) > 0 {
				t.Errorf("written elsewhere: %v", left)
			}
		})
	}
}

// TestHostileRunsAreListed: the list of the pages has every hostile run, with the error of those that cannot be read.
func TestHostileRunsAreListed(t *testing.T) {
	if err := page.Built(); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	for _, h := range hostileRuns() {
		writeHostile(t, dir, h)
	}
	cmd := exec.Command("nearfar", "serve", "--listen", "127.0.0.1:0", "runs")
	cmd.Dir = dir
	peak := filepath.Join(t.TempDir(), "peak")
	cmd.Env = append(os.Environ(), peakVariable+"="+peak)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }()
	var address string
	for lines := bufio.NewScanner(stderr); address == "" && lines.Scan(); {
		if _, after, ok := strings.Cut(lines.Text(), " at "); ok {
			address = after
		} else if strings.Contains(lines.Text(), "not built") {
			t.Skip(lines.Text())
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), hostileWait)
	defer cancel()
	var listing struct {
		Runs []struct{ ID, Path, Error string }
	}
	get := func(path string) []byte {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(address, "/")+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		data, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	if err := json.Unmarshal(get("/runs.json"), &listing); err != nil {
		t.Fatal(err)
	}
	if want := len(hostileRuns()) + 1; len(listing.Runs) != want {
		t.Errorf("%d runs are listed, want %d", len(listing.Runs), want)
	}
	for _, run := range listing.Runs {
		if strings.HasPrefix(run.Path, "manifest-") && run.Error == "" {
			t.Errorf("%s is listed without an error", run.Path)
		}
		get("/run/" + run.ID + "/data.json")
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // other tests check how it ends
	withinBounds(t, "serve", cmd.ProcessState, peak)
}
