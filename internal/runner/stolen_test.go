package runner

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"nearfar/internal/result"
)

// looks are the results of successive calls; nothing when they are used up.
type looks []time.Duration

func (l *looks) next() (time.Duration, bool) {
	if len(*l) == 0 {
		return 0, false
	}
	now := (*l)[0]
	*l = (*l)[1:]
	return now, true
}

// stealing is a stage with a given steal time for each call.
type stealing struct {
	*scene
	stolen looks
	asked  []int
}

func (r *stealing) Stolen(cpus []int) (time.Duration, bool) {
	r.asked = cpus
	return r.stolen.next()
}

func TestStolenTimeIsRecorded(t *testing.T) {
	stage := &stealing{stolen: []time.Duration{3 * time.Second, 3*time.Second + 50*time.Millisecond}}
	steal := watchSteal(stage, []int{3}, []int{1, 3})
	if !slices.Equal(stage.asked, []int{1, 3}) {
		t.Errorf("asked for CPUs %v, want 1 and 3", stage.asked)
	}
	steal.started = steal.started.Add(-time.Second)
	facts := map[string]string{}
	steal.record(facts)
	share, err := strconv.ParseFloat(facts[result.FactStolen], 64)
	if err != nil || share > 0.05 || share < 0.02 { // a second has passed, or somewhat more
		t.Errorf("50 ms of a second are %q (%v)", facts[result.FactStolen], err)
	}
}

func TestStolenTimeThatIsNotKnown(t *testing.T) {
	for name, stolen := range map[string][]time.Duration{"never": nil, "only before": {time.Second},
		"less than before": {time.Second, 0}} {
		stage := &stealing{stolen: stolen}
		facts := map[string]string{}
		watchSteal(stage, nil, []int{1}).record(facts)
		if len(facts) > 0 || stage.asked != nil {
			t.Errorf("%s: %v, of CPUs %v", name, facts, stage.asked)
		}
	}
}
