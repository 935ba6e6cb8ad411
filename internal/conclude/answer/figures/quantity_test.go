package figures

import (
	"fmt"
	"testing"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// netperf has only the mean, a stream its goodput: the mean is not added twice, and not to trials without one.
func TestQuantitiesOfRecordedTrials(t *testing.T) {
	e := &experiment.Experiment{Imported: true}
	names := func(tool, definition string, metrics ...result.Metric) string {
		var all []string
		for _, q := range quantities(e, []result.Trial{{Tool: result.ToolVersion{Name: tool},
			Definition: definition, Metrics: metrics}}) {
			all = append(all, q.Name())
		}
		return fmt.Sprint(all)
	}
	rtt := func(stat string) result.Metric {
		return result.Metric{Name: result.RTT, Stat: stat, Unit: result.Seconds, Value: 1}
	}
	goodput := result.Metric{Name: result.Goodput, Unit: result.BitsPerSecond, Value: 1}
	for got, want := range map[string]string{
		names("sockperf", result.DefinitionRTT, rtt(result.Mean), rtt(result.P50),
			rtt(result.P99)): "[rtt mean rtt p50 rtt p99]",
		names("sockperf", result.DefinitionRTT, rtt(result.P50)):                  "[rtt p50]",
		names("netperf", result.DefinitionRTT, rtt(result.Mean), rtt(result.P50)): "[rtt mean]",
		names("latte", result.DefinitionRTT, rtt(result.Mean)):                    "[rtt mean]",
		names("iperf3", result.DefinitionSmoothedRTT, rtt(result.Mean), goodput):  "[goodput]",
		names("iperf3", result.DefinitionRate, goodput):                           "[goodput]",
		names("iperf3", result.DefinitionNone):                                    "[]",
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
