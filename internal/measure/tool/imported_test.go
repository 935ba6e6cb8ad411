package tool

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// importedSamples are outputs of tools that others ran.
func importedSamples() []sample {
	return slices.Concat(fortioSamples(), wrkSamples(), pgbenchSamples(), k8sNetperfSamples(), perftestSamples(),
		neperSamples(),
		uperfSamples(), pkbSamples(), flentSamples(), ctsTrafficSamples(), ncpsSamples())
}

// isOnlyRead says whether nearfar reads a tool's outputs and does not run it.
func isOnlyRead(name string) bool {
	return slices.ContainsFunc(importedPrograms(), func(p program) bool { return p.declared.Name == name })
}

// one reads a text that holds one run.
func one(t *testing.T, text string) Imported {
	t.Helper()
	found := several(t, text, 1)
	return found[0]
}

// several reads a text that holds n runs.
func several(t *testing.T, text string, n int) []Imported {
	t.Helper()
	found, err := Import([]byte(text), "")
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != n {
		t.Fatalf("%d runs found, want %d: %+v", len(found), n, found)
	}
	return found
}

func wantStarted(t *testing.T, run Imported, want string) {
	t.Helper()
	if got := run.Started.Format(time.RFC3339Nano); got != want {
		t.Errorf("started at %s, want %s", got, want)
	}
}

// newReaders are the tools that are only imported, and those that were at first.
func newReaders() []program {
	return append(importedPrograms(), fortioProgram(), wrkProgram(), pgbenchProgram())
}

// FuzzImported gives a text to every reader of them.
func FuzzImported(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, p := range newReaders() {
			found, err := Import(data, p.declared.Name)
			if err == nil && len(found) == 0 {
				t.Errorf("%s: neither a run nor an error", p.declared.Name)
			}
			for _, run := range found {
				sound(t, run.Measurement)
				if run.Err == nil && len(run.Metrics) == 0 {
					t.Errorf("%s: a run with neither a metric nor an error", p.declared.Name)
				}
			}
		}
	})
}

// A tool that is named answers for a text that it did not print.
func TestImportedNamed(t *testing.T) {
	for _, p := range newReaders() {
		found, err := Import([]byte("nonsense"), p.declared.Name)
		if err != nil || len(found) != 1 || found[0].Err == nil || !strings.Contains(found[0].Err.Error(), p.declared.Name) {
			t.Errorf("%s: %v, %v", p.declared.Name, found, err)
		}
	}
}
