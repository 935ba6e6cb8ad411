package runner

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"nearfar/internal/result"
)

// moved is a stage with a given core-to-core latency for each measurement.
type moved struct {
	*scene
	trips looks
	asked []string
}

func (m *moved) CoreToCore(client, server []int) (time.Duration, bool) {
	m.asked = append(m.asked, fmt.Sprint(client, server))
	return m.trips.next()
}

func TestDistanceIsRecorded(t *testing.T) {
	for name, c := range map[string]struct {
		trips []time.Duration
		want  map[string]string
	}{
		"both": {[]time.Duration{90, 440}, map[string]string{result.FactCoreToCoreBefore: "90ns",
			result.FactCoreToCoreAfter: "440ns"}},
		"only before": {[]time.Duration{90}, map[string]string{}},
		"never":       {nil, map[string]string{}},
	} {
		stage, facts := &moved{trips: c.trips}, map[string]string{}
		watchCoreToCore(stage, []int{3}, []int{1}).record(facts)
		if !maps.Equal(facts, c.want) {
			t.Errorf("%s: %v", name, facts)
		}
		for _, asked := range stage.asked {
			if asked != "[3] [1]" {
				t.Errorf("%s: asked for %s", name, asked)
			}
		}
	}
}
