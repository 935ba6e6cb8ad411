package recordings

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"nearfar/internal/declare/result"
)

// TestBounds: long texts are shortened, and a trial with too many metrics is refused.
func TestBounds(t *testing.T) {
	long := strings.Repeat("ä", result.MaxText+1)
	trial := result.Trial{
		Tool: result.ToolVersion{Name: "iperf3", Version: long}, Mode: long, Protocol: long, Error: long,
		Notes: []string{long}, Facts: map[string]string{"mss": long},
		Metrics: []result.Metric{{Name: result.Goodput, Scope: long}},
	}
	f := File{trials: []result.Trial{trial}}
	if failed := f.bound(); len(failed) > 0 {
		t.Fatal(failed)
	}
	trial = f.trials[0]
	for _, text := range []string{
		trial.Tool.Version, trial.Mode, trial.Protocol, trial.Error, trial.Notes[0], trial.Facts["mss"],
		trial.Metrics[0].Scope,
	} {
		if n := utf8.RuneCountInString(text); n != result.MaxText+3 {
			t.Errorf("%d characters are left", n)
		}
	}
	f.trials[0].Metrics = make([]result.Metric, result.MaxEntries+1)
	if failed := f.bound(); len(failed) != 1 || !strings.Contains(failed[0].Error(), "10001 metrics") {
		t.Errorf("%v", failed)
	}
}

// TestFaultsBeyondABound: a file with which the files exceed a bound is not used, and its own faults are named too.
func TestFaultsBeyondABound(t *testing.T) {
	name := filepath.Join(t.TempDir(), "ping.txt")
	text := "20 packets transmitted, 20 received, 0% packet loss, time 19235ms\n" +
		"rtt min/avg/max/mdev = 0.718/0.969/2.137/0.299 ms\n"
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	faulty := func(File) []error { return []error{errors.New("a fault")} }
	err := Reader{ReadFile: os.ReadFile}.each(t.Context(), []Recording{{"a", name}}, 1, faulty, func(File) {
		t.Error("it is used")
	})
	if err == nil || !strings.Contains(err.Error(), "a fault\nthe files have more than") {
		t.Error(err)
	}
}

// TestFileChanges: what is copied into the run is what was read.
func TestFileChanges(t *testing.T) {
	name := filepath.Join(t.TempDir(), "ping.txt")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := Reader{ReadFile: os.ReadFile}
	text := "20 packets transmitted, 20 received, 0% packet loss, time 19235ms\n" +
		"rtt min/avg/max/mdev = 0.718/0.969/2.137/0.299 ms\n"
	write(text)
	read, err := r.read(Recording{"a", name})
	if err != nil {
		t.Fatal(err)
	}
	if data, err := r.readAgain(read); err != nil || string(data) != text {
		t.Errorf("got %q, %v", data, err)
	}
	write(text + "\n")
	if _, err := r.readAgain(read); err == nil || !strings.Contains(err.Error(), "was changed while") {
		t.Errorf("a changed file: %v", err)
	}
}
