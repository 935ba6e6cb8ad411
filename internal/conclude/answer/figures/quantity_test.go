package figures

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// Each mode has its few quantities, and others that stand beside them.
func TestQuantities(t *testing.T) {
	metrics := func(tool, mode, definition string, m ...result.Metric) []result.Trial {
		return []result.Trial{{Tool: result.ToolVersion{Name: tool}, Mode: mode, Definition: definition, Metrics: m}}
	}
	seconds := func(name, stat string) result.Metric {
		return result.Metric{Name: name, Stat: stat, Unit: result.Seconds, Value: 1}
	}
	rtt := func(stat string) result.Metric { return seconds(result.RTT, stat) }
	goodput := result.Metric{Name: result.Goodput, Unit: result.BitsPerSecond, Value: 1}
	behind := result.Metric{Name: result.Goodput, Unit: result.BitsPerSecond, Value: 1, Scope: "background"}
	behindUp, behindDown := behind, behind
	behindUp.Scope, behindDown.Scope = "background upload", "background download"
	transactions := result.Metric{Name: result.TransactionRate, Unit: result.PerSecond, Value: 1}
	loss := result.Metric{Name: result.Loss, Unit: result.One, Value: 0}
	loaded := []result.Metric{seconds(result.ServiceTime, result.P50), seconds(result.ServiceTime, result.P99),
		seconds(result.ResponseTime, result.P50), seconds(result.ResponseTime, result.P99), transactions, loss}
	own := func(name, stat string) result.Metric {
		return result.Metric{Name: name, Stat: stat, Unit: result.One,
			BetterIf: result.BetterIfOf(result.BetterHigher)}
	}
	for _, c := range []struct {
		name         string
		trials       []result.Trial
		want, beside string
	}{
		{"rr", metrics("native", "rr", result.DefinitionRTT, rtt(result.Mean), rtt(result.P50), rtt(result.P99),
			transactions), "rtt p50, rtt p99", ""},
		{"netperf", metrics("netperf", "rr", result.DefinitionRTT, rtt(result.Mean), rtt(result.P50), rtt(result.P99)),
			"rtt mean", ""},
		{"ping with few probes", metrics("ping", "ping", result.DefinitionRTT, rtt(result.Mean)), "rtt mean", ""},
		{"a stream with smoothed round trips",
			metrics("iperf3", "stream", result.DefinitionSmoothedRTT, rtt(result.Mean), goodput), "goodput", ""},
		{"a load", metrics("native", "load", result.DefinitionResponseTime, loaded...),
			"response_time p50, response_time p99, loss", "transaction_rate"},
		{"a load with few requests", metrics("native", "load", result.DefinitionResponseTime,
			seconds(result.ResponseTime, result.Mean), transactions),
			"response_time mean", "transaction_rate"},
		{"sockperf's load", metrics("sockperf", "load", result.DefinitionRTT, rtt(result.P50)), "rtt p50", ""},
		{"messages", metrics("native", "messages", result.DefinitionRate,
			result.Metric{Name: result.MessageRate, Unit: result.PerSecond}, goodput, loss), "message_rate", "loss"},
		{"rr beside a stream", metrics("native", "rr", result.DefinitionRTT, rtt(result.P50), behind), "rtt p50",
			"goodput of the background"},
		{"rr beside a stream both ways", metrics("native", "rr", result.DefinitionRTT, rtt(result.P50),
			behindUp, behindDown), "rtt p50",
			"goodput of the background upload, goodput of the background download"},
		{"a background does not make a stream", metrics("native", "rr", result.DefinitionRTT, behind), "",
			"goodput of the background"},
		{"a program of its own", metrics("command", "command", "as printed by bench", own("tps", ""), own("page", result.Mean),
			own("page", result.P50), own("page", result.P90), own("page", result.P99), own("few", result.Mean),
			own("few", result.Max), rtt(result.P50)), "tps, page p50, page p99, few mean", ""},
		{"nothing", nil, "", ""},
	} {
		names := func(of []Quantity) string {
			var all []string
			for _, q := range of {
				all = append(all, q.Name())
			}
			return strings.Join(all, ", ")
		}
		if got := names(Quantities(c.trials)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if got := names(Beside(c.trials)); got != c.beside {
			t.Errorf("%s: beside it %s, want %s", c.name, got, c.beside)
		}
	}
}

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

// The better side of a figure of a program's own is what the experiment says, and of a canonical one what its name
// says.
func TestBetterSide(t *testing.T) {
	for _, c := range []struct {
		q             Quantity
		verdict, want string
	}{
		{Quantity{Metric: result.RTT}, Higher, "baseline"}, {Quantity{Metric: result.Goodput}, Higher, "arm"},
		{Quantity{Metric: "tps", BetterIf: result.BetterHigher}, Higher, "arm"},
		{Quantity{Metric: "tps", BetterIf: result.BetterHigher}, Lower, "baseline"},
		{Quantity{Metric: "page", BetterIf: result.BetterLower}, Lower, "arm"},
		{Quantity{Metric: "page", BetterIf: result.BetterLower}, "no-difference", ""},
	} {
		if got := BetterSide(c.q, c.verdict); got != c.want {
			t.Errorf("%+v %s: %q, want %q", c.q, c.verdict, got, c.want)
		}
	}
	worst, ok := Quantity{Metric: "tps", BetterIf: result.BetterHigher}.Worst()
	if !ok || !math.IsInf(worst, -1) {
		t.Errorf("the worst tps is %v, %v", worst, ok)
	}
}
