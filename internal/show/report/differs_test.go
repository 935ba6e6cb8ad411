package report

import (
	"fmt"
	"strings"
	"testing"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/environment"
)

// differing is an answer with differences between hosts of each kind.
func differing() answer.Answer {
	a := answer.Answer{
		Ran:   answer.Ran{Baseline: "near"},
		Words: answer.Words{Verdict: "Nothing was measured."},
		Hosts: environment.Hosts{Differs: []environment.Differing{
			{Arm: "far", Side: "client", Fact: "kernel", Name: "kernel", Baseline: "6.8.0-1015-azure",
				Value: "6.1.0-28-amd64", Matters: true},
			{Arm: "far", Side: "server", Fact: "kernel", Name: "kernel", Baseline: "6.8.0-1015-azure",
				Value: "6.1.0-28-amd64", Matters: true},
			{Arm: "far", Side: "server", Fact: "device.rings.rx", Name: "ring rx", Baseline: "1024", Value: "512"},
			{Arm: "far", Side: "server", Fact: "where.zone", Name: "zone", Baseline: "1", Value: "2", Matters: true,
				Declared: true},
			{Arm: "evil", Side: "server", Fact: "model", Name: "CPU", Matters: true,
				Baseline: "Intel(R) Xeon(R) Platinum 8370C CPU @ 2.80GHz", Value: "\x1b[31m<script>| AMD EPYC 7763"},
		}},
	}
	for i := range 20 {
		a.Differs = append(a.Differs, environment.Differing{Arm: "far", Side: "server", Baseline: "on", Value: "off",
			Fact: fmt.Sprint("device.offloads.f", i), Name: fmt.Sprint("offload f", i)})
	}
	return a
}

// Other differences between the hosts are a short table in reports for people, without the differences that the file
// declares. JSON has all.
func TestDiffers(t *testing.T) {
	for _, format := range []string{"terminal", "markdown"} {
		text := written(t, differing(), Options{Format: format})
		golden(t, "differs."+format, text)
		checkHarmless(t, format, text)
	}
	if text := written(t, differing(), Options{Format: "json"}); strings.Count(text, `"fact":`) != 25 {
		t.Errorf("JSON does not have all:\n%s", text)
	}
	declared := differing()
	declared.Differs = declared.Differs[3:4]
	for _, a := range []answer.Answer{declared, {Ran: answer.Ran{Baseline: "near"}}} {
		if text := written(t, a, Options{}); strings.Contains(text, "What else differs") {
			t.Errorf("a table without rows:\n%s", text)
		}
	}
}
