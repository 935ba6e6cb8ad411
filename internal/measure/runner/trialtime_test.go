package runner

import (
	"strings"
	"testing"
	"time"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/measure/tool"
)

// Without hosts the duration of a trial comes from its plan and its background's. What the tool cannot do is an error.
func TestTakes(t *testing.T) {
	tools := tool.All("")
	w := experiment.Workload{Tool: "native", Mode: experiment.RR, Protocol: experiment.TCP, IP: 6, Request: 64,
		Response: 64, Duration: time.Second, Warmup: time.Second / 2}
	alone, err := TrialTime(w, tools)
	if err != nil || alone < 1500*time.Millisecond+overhead || alone > 3*time.Second {
		t.Errorf("takes %v (%v)", alone, err)
	}
	w.Background = &experiment.Workload{Tool: "native", Mode: experiment.Stream, Protocol: experiment.TCP,
		Connections: 2, Warmup: time.Second / 2}
	if beside, err := TrialTime(w, tools); err != nil || beside < alone+overhead+w.Background.Warmup {
		t.Errorf("with a background it takes %v, alone %v (%v)", beside, alone, err)
	}
	for want, w := range map[string]experiment.Workload{
		"unknown tool": {Tool: "nothing"},
		"as much as it received": {Tool: "sockperf", Mode: experiment.RR, Protocol: experiment.TCP, Request: 64, Response: 65,
			Duration: time.Second},
		"the background: ping cannot run beside": {Tool: "native", Mode: experiment.RR, Protocol: experiment.TCP,
			Request: 64, Response: 64, Duration: time.Second,
			Background: &experiment.Workload{Tool: "ping"}},
	} {
		if _, err := TrialTime(w, tools); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", w, err, want)
		}
	}
}
