package rundir

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/measure/tool"
)

// outside makes a directory with a file. untouched fails the test if either was changed.
func outside(t *testing.T) (file string, untouched func()) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "precious")
	if err := os.WriteFile(file, []byte("precious"), 0o644); err != nil {
		t.Fatal(err)
	}
	return file, func() {
		t.Helper()
		if data, err := os.ReadFile(file); err != nil || string(data) != "precious" {
			t.Errorf("the file outside holds %q, %v", data, err)
		}
		if entries, err := os.ReadDir(filepath.Dir(file)); err != nil || len(entries) != 1 {
			t.Errorf("beside the file outside: %v, %v", entries, err)
		}
	}
}

// closed makes a run directory with one trial and closes it.
func closed(t *testing.T) string {
	t.Helper()
	d := create(t)
	if err := d.Append(trial(1)); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	return d.Path
}

// replaceWithLink puts a link in the place of a name of a run directory.
func replaceWithLink(t *testing.T, target, name string) {
	t.Helper()
	if err := os.RemoveAll(name); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, name); err != nil {
		t.Skip(err)
	}
}

// TestLinksAreNotFollowedForWriting: no file outside a run directory is written, whatever links the directory contains.
func TestLinksAreNotFollowedForWriting(t *testing.T) {
	for _, name := range []string{nextName, rawName, trialsName, manifestName} {
		t.Run(name, func(t *testing.T) {
			file, untouched := outside(t)
			path := closed(t)
			target := file
			if name == rawName {
				target = filepath.Dir(file)
			}
			replaceWithLink(t, target, filepath.Join(path, name))
			d, err := Resume(path, tool.Declared())
			if name != nextName {
				if err == nil {
					t.Error("it can be resumed")
				}
				untouched()
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := d.WriteRaw("00002-l2-rr.client.out", []byte("printed")); err != nil {
				t.Error(err)
			}
			if err := d.Update(func(m *Manifest) { m.State = Complete }); err != nil {
				t.Error(err)
			}
			if err := d.Close(); err != nil {
				t.Error(err)
			}
			untouched()
		})
	}
}

// TestLinkMadeDuringARun: a directory that is replaced with a link during a run is not followed.
func TestLinkMadeDuringARun(t *testing.T) {
	file, untouched := outside(t)
	d := create(t)
	replaceWithLink(t, filepath.Dir(file), filepath.Join(d.Path, rawName))
	if _, err := d.WriteRaw("a", []byte("printed")); err == nil {
		t.Error("written through a link")
	}
	untouched()
}

func TestRawNames(t *testing.T) {
	d := create(t)
	for _, name := range []string{"", ".", "..", "../x", "/x", "a/b", "00001-/../../../../x-rr.client.out"} {
		if _, err := d.WriteRaw(name, []byte("x")); err == nil {
			t.Errorf("%q is a name", name)
		}
	}
}

// TestResumeChecksTheExperiment: Resume refuses experiments that Open accepts but that cannot be measured.
func TestResumeChecksTheExperiment(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*experiment.Experiment)
		says   string
	}{
		"a path as an arm's name": {
			func(e *experiment.Experiment) { e.Arms[1].Name = "/../../../../x" }, "no name of an arm",
		},
		"negative blocks":  {func(e *experiment.Experiment) { e.Schedule.Blocks = -1 }, "blocks"},
		"huge blocks":      {func(e *experiment.Experiment) { e.Schedule.Blocks = 1 << 60 }, "blocks"},
		"no arms":          {func(e *experiment.Experiment) { e.Arms = nil }, "no arms"},
		"no hosts":         {func(e *experiment.Experiment) { e.Arms[0].Lab = nil }, "no hosts"},
		"an endless trial": {func(e *experiment.Experiment) { e.Workloads[0].Duration = 1 << 62 }, "duration"},
	} {
		t.Run(name, func(t *testing.T) {
			d := create(t)
			if err := d.Update(func(m *Manifest) { c.change(m.Experiment) }); err != nil {
				t.Fatal(err)
			}
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := Resume(d.Path, tool.Declared()); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("says %v, want %q", err, c.says)
			}
		})
	}
}

// TestHugeContents: files that would need more memory than any run are refused before they are decoded.
func TestHugeContents(t *testing.T) {
	many := func(text string, n int) string { return strings.Repeat(text+",", n) + text }
	manifests := map[string]string{
		"workloads": `{"nearfar":"v1","experiment":{"name":"x","workloads":[` + many("{}", maxManifestValues) + `]}}`,
		"hosts":     `{"nearfar":"v1","hosts":[` + many("0", maxManifestValues) + `]}`,
	}
	for name, content := range manifests {
		path := closed(t)
		if err := os.WriteFile(filepath.Join(path, manifestName), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path); err == nil || !strings.Contains(err.Error(), "at most 300000 are read") {
			t.Errorf("%s: %v", name, err)
		}
	}
	lines := map[string]struct{ line, says string }{
		"metrics": {fmt.Sprintf(`{"trial":1,"metrics":[%s]}`, many("{}", result.MaxEntries)), "10001 metrics"},
		"braces":  {fmt.Sprintf(`{"trial":1,"metrics":[%s]}`, many("{}", maxTrialValues)), "more than 200000 values"},
		"nested":  {`{"trial":1,"other":` + strings.Repeat("[", maxTrialValues+1) + `}`, "more than 200000 values"},
		"text":    {fmt.Sprintf(`{"trial":1,"error":"%s"}`, strings.Repeat("x", result.MaxTexts+1)), "bytes of text"},
		"line":    {strings.Repeat(" ", result.MaxLine+1), "a line of more than"},
	}
	for name, c := range lines {
		path := closed(t)
		if err := os.WriteFile(filepath.Join(path, trialsName), []byte(c.line+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		d, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		_, err = d.Trials()
		if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "trials.jsonl:1: ") {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
}

// TestStructure: characters inside strings do not count.
func TestStructure(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, `{}`: 1, `{"a":[1,2,{}]}`: 5, `"{[,"`: 0, `"\"{","a"`: 1, `"\\",{`: 2, `"torn {`: 0, `"torn\`: 0,
	} {
		if got := structure([]byte(text)); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
}

// TestAppendRefusesTooLargeTrials: a record that could not be read again is not written.
func TestAppendRefusesTooLargeTrials(t *testing.T) {
	d := create(t)
	long := trial(1)
	long.Metrics = make([]result.Metric, 1_560_000)
	if err := d.Append(long); err == nil || !strings.Contains(err.Error(), "1560000 metrics") {
		t.Errorf("appended: %v", err)
	}
	long.Bound()
	if err := d.Append(long); err != nil {
		t.Fatal(err)
	}
	trials, err := d.Trials()
	if err != nil || len(trials) != 1 || !strings.Contains(trials[0].Error, "1560000 metrics") {
		t.Errorf("read %+v, %v", trials, err)
	}
}

// TestLongLastLine: an incomplete line that is longer than any trial is refused, and only its end is read.
func TestLongLastLine(t *testing.T) {
	path := closed(t)
	if err := os.Truncate(filepath.Join(path, trialsName), 3<<30); err != nil {
		t.Skip(err)
	}
	_, err := Resume(path, tool.Declared())
	if err == nil || !strings.Contains(err.Error(), "the last line has more than") {
		t.Error(err)
	}
	d, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Trials(); err == nil || !strings.Contains(err.Error(), "at most") {
		t.Error(err)
	}
}
