package rundir

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nearfar/internal/result"
)

func TestWholeRoundTrip(t *testing.T) {
	parent := filepath.Join(t.TempDir(), "runs")
	trials := []result.Trial{trial(1), trial(2)}
	raw := []RawFile{{RawName("00001-near-ping.txt"), []byte("printed\n")}}
	want := manifest()
	want.State = Complete
	for _, name := range []string{"20261121T192200Z-overlay", "20261121T192200Z-overlay-2"} {
		path, err := CreateWhole(parent, want, trials, raw)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Base(path) != name {
			t.Errorf("the directory is called %s, want %s", filepath.Base(path), name)
		}
		d, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, d.Manifest()); diff != "" {
			t.Errorf("run.json (-want +got):\n%s", diff)
		}
		got, err := d.Trials()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(trials, got); diff != "" {
			t.Errorf("trials.jsonl (-want +got):\n%s", diff)
		}
		if printed, err := os.ReadFile(filepath.Join(path, "raw", "00001-near-ping.txt")); err != nil || string(printed) != "printed\n" {
			t.Errorf("raw output: %q, %v", printed, err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o755 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
	}
	// A run that is measured within the same second gets a name of its own, too.
	d, err := Create(parent, manifest())
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if got := filepath.Base(d.Path); got != "20261121T192200Z-overlay-3" {
		t.Errorf("the third is called %s", got)
	}
}

// Whatever goes wrong, nothing is left behind.
func TestWholeOrNotAtAll(t *testing.T) {
	long := trial(1)
	long.Error = strings.Repeat("x", maxLine)
	for name, c := range map[string]struct {
		trials []result.Trial
		raw    []RawFile
		says   string
	}{
		"a raw file that cannot be written": {[]result.Trial{trial(1)}, []RawFile{{RawName("a"), nil}, {"raw/no/such/directory", nil}}, "no such file"},
		"a trial that is too long":          {[]result.Trial{long}, nil, "at most"},
	} {
		t.Run(name, func(t *testing.T) {
			parent := t.TempDir()
			path, err := CreateWhole(parent, manifest(), c.trials, c.raw)
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%q, %v", path, err)
			}
			left, err := os.ReadDir(parent)
			if err != nil || len(left) != 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}
