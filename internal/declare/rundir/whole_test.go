package rundir

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nearfar/internal/declare/result"
)

func TestWholeRoundTrip(t *testing.T) {
	parent := filepath.Join(t.TempDir(), "runs")
	trials := []result.Trial{trial(1), trial(2)}
	raw := []RawFile{RawOf(RawName("00001-near-ping.txt"), []byte("printed\n"))}
	want := manifest()
	want.State = Complete
	for _, name := range []string{"20261121T192200Z-overlay", "20261121T192200Z-overlay-2"} {
		path, err := CreateWhole(t.Context(), parent, want, trials, raw)
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
		printed, err := os.ReadFile(filepath.Join(path, "raw", "00001-near-ping.txt"))
		if err != nil || string(printed) != "printed\n" {
			t.Errorf("raw output: %q, %v", printed, err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o755 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
	}
	// A measured run of the same second gets another name, too.
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

// After an error nothing is left behind.
func TestWholeOrNotAtAll(t *testing.T) {
	long := trial(1)
	long.Error = strings.Repeat("x", result.MaxTexts)
	for name, c := range map[string]struct {
		trials []result.Trial
		raw    []RawFile
		says   string
	}{
		"a raw file that cannot be written": {
			[]result.Trial{trial(1)}, []RawFile{RawOf(RawName("a"), nil), RawOf("raw/no/such/directory", nil)}, "no such file",
		},
		"a trial that is too long": {[]result.Trial{long}, nil, "bytes of text"},
	} {
		t.Run(name, func(t *testing.T) {
			parent := t.TempDir()
			path, err := CreateWhole(t.Context(), parent, manifest(), c.trials, c.raw)
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

// A run whose first file cannot be written leaves no directory that looks like a run.
func TestCreateWholeOrNotAtAll(t *testing.T) {
	parent := t.TempDir()
	m := manifest()
	m.Hosts = []byte("{") // no JSON: run.json cannot be written
	if d, err := Create(parent, m); err == nil {
		t.Errorf("made %s", d.Path)
	}
	if left, err := os.ReadDir(parent); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// Runs that begin at the same time get names of their own.
func TestCreateAtTheSameTime(t *testing.T) {
	parent := t.TempDir()
	var all sync.WaitGroup
	paths := make([]string, 16)
	for i := range paths {
		all.Go(func() {
			d, err := Create(parent, manifest())
			if err != nil {
				t.Error(err)
				return
			}
			paths[i] = d.Path
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	slices.Sort(paths)
	if names := slices.Compact(paths); len(names) != 16 {
		t.Errorf("16 runs have the names %q", names)
	}
}

// TestAbandonedDirectoriesAreRemoved: the next CreateWhole removes the directories of killed processes, and keeps the
// directories that other processes are making.
func TestAbandonedDirectoriesAreRemoved(t *testing.T) {
	parent := t.TempDir()
	for _, name := range []string{hiddenPrefix + "1/raw", hiddenPrefix + "2/raw", hiddenPrefix + "3", ".newer"} {
		if err := os.MkdirAll(filepath.Join(parent, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	held, err := hold(filepath.Join(parent, hiddenPrefix+"2"), false)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip("directories cannot be locked here")
	}
	if err != nil {
		t.Fatal(err)
	}
	path, err := CreateWhole(t.Context(), parent, manifest(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(parent)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	// The third is new, so that the process that made it may be about to lock it.
	want := []string{hiddenPrefix + "2", hiddenPrefix + "3", ".newer", filepath.Base(path)}
	if !cmp.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
	if err := held.Close(); err != nil {
		t.Error(err)
	}
}

// TestInterruptedWhole: an interrupt leaves nothing behind.
func TestInterruptedWhole(t *testing.T) {
	parent := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	raw := []RawFile{RawOf(RawName("a"), []byte("printed"))}
	_, err := CreateWhole(ctx, parent, manifest(), []result.Trial{trial(1)}, raw)
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if left, err := os.ReadDir(parent); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
