package result

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// full is a record with as many entries and texts as the bounds allow, of the characters that take most bytes in
// JSON.
func full() Trial {
	t := Trial{Trial: 1, Error: "\x01", Facts: map[string]string{}, Treatment: map[string]string{}}
	for i := range MaxEntries {
		t.Metrics = append(t.Metrics, Metric{Name: RTT, Stat: P99999, Unit: Seconds,
			Value: -1.2345678901234567e-300, Scope: "\x01\x01"})
		t.Notes = append(t.Notes, "\x01")
		t.Facts[fmt.Sprint(i)] = "\x01"
	}
	for n := MaxTexts - t.textBytes(); n > 0; n = MaxTexts - t.textBytes() {
		t.Notes[n%MaxEntries] += strings.Repeat("\x01", min(n, MaxText-1))
	}
	return t
}

// TestBoundedRecordFitsALine: a record within the bounds of entries and texts is within the bound of the line.
func TestBoundedRecordFitsALine(t *testing.T) {
	trial := full()
	if err := trial.Check(); err != nil {
		t.Fatal(err)
	}
	line, err := json.Marshal(trial)
	if err != nil {
		t.Fatal(err)
	}
	if len(line) < MaxTexts || len(line) >= MaxLine {
		t.Errorf("%d bytes, which are to be fewer than %d", len(line), MaxLine)
	}
	trial.Bound()
	if trial.Error != "\x01" || len(trial.Metrics) != MaxEntries {
		t.Errorf("a record within the bounds was changed: %q, %d metrics", trial.Error, len(trial.Metrics))
	}
}

func TestBound(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Trial)
		says   string
	}{
		"metrics": {func(t *Trial) { t.Metrics = make([]Metric, MaxEntries+1) }, "10001 metrics"},
		"notes":   {func(t *Trial) { t.Notes = make([]string, 1_500_000) }, "1500000 notes"},
		"texts": {func(t *Trial) {
			t.Notes = strings.Split(strings.Repeat(strings.Repeat("x", MaxText)+" ", 2200),
				" ")
		}, "bytes of text"},
		"commands": {func(t *Trial) { t.Commands = []string{strings.Repeat("x", MaxTexts)} }, "bytes of text"},
	} {
		t.Run(name, func(t *testing.T) {
			trial := Trial{Trial: 7, Raw: []string{"raw/a"}, Error: "it broke"}
			c.change(&trial)
			if err := trial.Check(); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("says %v, want %q", err, c.says)
			}
			trial.Bound()
			if err := trial.Check(); err != nil {
				t.Errorf("still: %v", err)
			}
			if !strings.HasPrefix(trial.Error, "it broke; its output holds ") ||
				!strings.Contains(trial.Error, c.says) || len(trial.Metrics) > 0 {
				t.Errorf("%q, %d metrics", trial.Error, len(trial.Metrics))
			}
			if len(trial.Raw) != 1 {
				t.Error("the names of the files are gone")
			}
		})
	}
	long := Trial{Error: strings.Repeat("é", MaxText+1), Notes: []string{strings.Repeat("é", MaxText)}}
	long.Bound()
	if want := strings.Repeat("é", MaxText) + "..."; long.Error != want || len(long.Notes[0]) != 2*MaxText {
		t.Errorf("cut to %d and %d bytes", len(long.Error), len(long.Notes[0]))
	}
}
