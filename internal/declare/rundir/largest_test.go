package rundir

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"nearfar/internal/declare/check"
	"nearfar/internal/declare/result"
)

// TestWhatIsWrittenIsRead: every manifest and every trial is either refused when it is written, or can be read again.
// Each field has values around every bound.
func TestWhatIsWrittenIsRead(t *testing.T) {
	texts := func(n, length int) map[string]string {
		all := map[string]string{}
		for i := range n {
			all[fmt.Sprint(i)] = strings.Repeat("x", length)
		}
		return all
	}
	numbers := func(n int) json.RawMessage {
		return json.RawMessage("[" + strings.TrimSuffix(strings.Repeat("1,", n), ",") + "]")
	}
	manifests := map[string]func(m *Manifest){
		"no change":          func(*Manifest) {},
		"hosts within":       func(m *Manifest) { m.Hosts = numbers(maxManifestValues / 2) },
		"hosts at the bound": func(m *Manifest) { m.Hosts = numbers(maxManifestValues) },
		"hosts of 450,000":   func(m *Manifest) { m.Hosts = numbers(450_000) },
		"hosts nested": func(m *Manifest) {
			m.Hosts = json.RawMessage(strings.Repeat("[", 2000) + strings.Repeat("]", 2000))
		},
		"hosts long": func(m *Manifest) {
			m.Hosts = json.RawMessage(`"` + strings.Repeat("x", MaxManifest) + `"`)
		},
		"hosts almost as long": func(m *Manifest) {
			m.Hosts = json.RawMessage(`"` + strings.Repeat("x", MaxManifest-9000) + `"`)
		},
		"earlier":        func(m *Manifest) { m.Earlier = numbers(450_000) },
		"versions":       func(m *Manifest) { m.Versions = texts(maxManifestValues+1, 0) },
		"a long version": func(m *Manifest) { m.Versions = texts(1, MaxManifest) },
		"skipped":        func(m *Manifest) { m.Skipped = texts(maxManifestValues+1, 1) },
		"versions of hosts": func(m *Manifest) {
			m.HostVersions = map[string]result.HostVersions{"near": {Client: texts(maxManifestValues, 1)}}
		},
		"machine": func(m *Manifest) { m.Machine = strings.Repeat("\x01", MaxManifest/6) },
	}
	for name, change := range manifests {
		t.Run(name, func(t *testing.T) {
			m := manifest()
			change(&m)
			path, err := CreateWhole(t.Context(), t.TempDir(), m, nil, nil)
			if err != nil {
				if strings.HasPrefix(name, "hosts") || name == "no change" {
					t.Errorf("facts of hosts cost the run: %v", err)
				}
				t.Logf("refused: %.200v", err)
				return
			}
			d, err := Open(path)
			if err != nil {
				t.Fatalf("it was written and cannot be read: %v", err)
			}
			if left := d.Manifest().HostsLeftOut; left != "" {
				t.Log(left)
			}
		})
	}
	trials := map[string]func(t *result.Trial){
		"metrics":       func(t *result.Trial) { t.Metrics = make([]result.Metric, result.MaxEntries) },
		"more metrics":  func(t *result.Trial) { t.Metrics = make([]result.Metric, result.MaxEntries+1) },
		"notes":         func(t *result.Trial) { t.Notes = make([]string, result.MaxEntries) },
		"commands":      func(t *result.Trial) { t.Commands = make([]string, result.MaxEntries) },
		"facts":         func(t *result.Trial) { t.Facts = texts(result.MaxEntries, 200) },
		"more text":     func(t *result.Trial) { t.Facts = texts(result.MaxEntries, 250) },
		"an error":      func(t *result.Trial) { t.Error = strings.Repeat("\x01", result.MaxTexts-1000) },
		"settings":      func(t *result.Trial) { t.Set = texts(maxTrialValues, 1) },
		"long settings": func(t *result.Trial) { t.Set = texts(1, result.MaxLine) },
		"judgements":    func(t *result.Trial) { t.Expect = make([]check.Judgement, maxTrialValues/3) },
		"all": func(t *result.Trial) {
			t.Metrics, t.Notes = make([]result.Metric, result.MaxEntries), make([]string, result.MaxEntries)
			t.Commands, t.Facts = make([]string, result.MaxEntries), texts(result.MaxEntries, 100)
			t.Expect = make([]check.Judgement, 9000)
		},
	}
	for name, change := range trials {
		t.Run("trial: "+name, func(t *testing.T) {
			d, err := Create(t.TempDir(), manifest())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = d.Close() }()
			one := trial(1)
			change(&one)
			if err := d.Append(one); err != nil {
				t.Logf("refused: %.200v", err)
				return
			}
			if read, err := d.Trials(); err != nil || len(read) != 1 {
				t.Fatalf("it was written and cannot be read: %v", err)
			}
		})
	}
}

// TestTrialsEndAtTheBound: trials.jsonl does not grow beyond what is read.
func TestTrialsEndAtTheBound(t *testing.T) {
	d, err := Create(t.TempDir(), manifest())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	if err := d.trials.Truncate(MaxTrials - 10); err != nil { // a sparse file
		t.Fatal(err)
	}
	if err := d.Append(trial(1)); err == nil || !strings.Contains(err.Error(), "the run ends here") {
		t.Errorf("says %v", err)
	}
}
