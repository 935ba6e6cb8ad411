package runner

import (
	"context"
	"strings"
	"testing"

	"nearfar/internal/declare/result"
	"nearfar/internal/measure/tool"
)

// chatty is a tool whose output holds more than any trial can have.
type chatty struct{ clocked }

func (chatty) Parse(tool.Output) (result.Measurement, error) {
	return result.Measurement{
		Metrics: make([]result.Metric, 1_560_000), Notes: []string{strings.Repeat("x", 5000)},
		Definition: result.DefinitionRTT,
	}, nil
}

// TestTooMuchFailsTheTrial: a trial whose record would be too large fails with a reason, and its output is kept.
func TestTooMuchFailsTheTrial(t *testing.T) {
	k := &kept{raw: map[string]string{}}
	e := twoArms(1)
	s := &scene{client: prints("all of it")}
	r := New(e, tools{chatty{}}, s.hosts(e), DefaultLimits(), nil)
	if err := r.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := r.Run(context.Background(), k, nil); err != nil {
		t.Fatal(err)
	}
	if len(k.trials) != 2 {
		t.Fatalf("%d trials", len(k.trials))
	}
	for _, trial := range k.trials {
		if want := "its output holds 1560000 metrics; a trial can have 10000"; trial.Error != want ||
			len(trial.Metrics) > 0 {
			t.Errorf("%q with %d metrics, want %q", trial.Error, len(trial.Metrics), want)
		}
		if err := trial.Check(); err != nil {
			t.Error(err)
		}
		if len(trial.Raw) == 0 || !strings.Contains(k.raw[strings.TrimPrefix(trial.Raw[0], "raw/")], "all of it") {
			t.Errorf("the output is not kept: %q of %v", trial.Raw, k.raw)
		}
	}
}
