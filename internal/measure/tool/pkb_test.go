package tool

import (
	"fmt"
	"strings"
	"testing"
)

const pkbInternal = "|cloud:GCP|,|ip_type:internal|,|perfkitbenchmarker_version:v1.15.0-1|,|receiving_zone:us-central1-b|," +
	"|sending_thread_count:1|,|sending_zone:us-central1-a|"

// pkbLines are samples of one test, each with its unit.
func pkbLines(test, labels string, figures ...string) string {
	var b strings.Builder
	for i, figure := range figures {
		parts := strings.Split(figure, "=")
		value, unit, _ := strings.Cut(parts[1], " ")
		fmt.Fprintf(&b, `{"metric": %q, "value": %s, "unit": %q, "timestamp": 1700000%d.25, "test": %q, "official": false, `+
			`"owner": "", "product_name": "PerfKitBenchmarker", "run_uri": "abc", "sample_uri": "s%d", "labels": %q}`+"\n",
			parts[0], value, unit, 100+i, test, i, labels)
	}
	return b.String()
}

func pkbSamples() []sample {
	return []sample{
		{
			name: "pkb netperf rr", tool: "pkb", protocol: "tcp", reportedAs: "rate",
			text: pkbLines("netperf", pkbInternal, "start_time=1700000000.5 sec", "end_time=1700000060.5 sec",
				"TCP_RR_Transaction_Rate=4000 transactions_per_second", "TCP_RR_Latency_p50=274 us", "TCP_RR_Latency_p99=371 us",
				"TCP_RR_Latency_min=200 us", "TCP_RR_Latency_max=400 us", "TCP_RR_Latency_stddev=189.82 us",
				"TCP_RR_Latency_Histogram=0 us", "TCP_RR_Latency_p99.999=399 us", "End to End Runtime=440 seconds"),
			want: map[string]float64{"transaction_rate": 4000, "rtt.mean": 250e-6, "rtt.p50": 274e-6, "rtt.p99": 371e-6,
				"rtt.min": 200e-6, "rtt.max": 400e-6, "rtt.stddev": 189.82e-6},
			not: []string{"rtt.p99.999", "goodput"},
		},
		{
			name: "pkb netperf stream of several", tool: "pkb", protocol: "tcp", reportedAs: "rate",
			text: pkbLines("netperf", strings.Replace(pkbInternal, "count:1", "count:8", 1), "TCP_STREAM_Throughput_p50=900 Mbits/sec",
				"TCP_STREAM_Throughput_total=7200.5 Mbits/sec", "TCP_STREAM_Throughput_8streams=7200.5 Mbits/sec"),
			want: map[string]float64{"goodput": 7200.5e6},
		},
		{
			name: "pkb ping", tool: "pkb", protocol: "icmp", reportedAs: "rtt",
			text: pkbLines("ping", "|ip_type:external|", "Min Latency=0.5 ms", "Average Latency=0.7 ms", "Max Latency=2.5 ms",
				"Latency Std Dev=0.1 ms"),
			want: map[string]float64{"rtt.min": 0.5e-3, "rtt.mean": 0.7e-3, "rtt.max": 2.5e-3, "rtt.stddev": 0.1e-3},
		},
		{
			name: "pkb iperf, metadata as an object", tool: "pkb", protocol: "udp", reportedAs: "rate",
			text: `{"metric": "UDP Throughput", "value": 850.25, "unit": "Mbits/sec", "metadata": {"ip_type": "internal", ` +
				`"sending_thread_count": 2}, "timestamp": 1700000000.0, "test": "iperf", "run_uri": "abc"}`,
			want: map[string]float64{"goodput": 850.25e6},
		},
		{
			name: "pkb, the benchmark failed", tool: "pkb", protocol: "udp", reportedAs: "none",
			text:  pkbLines("netperf", pkbInternal, "UDP_RR_Transaction_Rate=0 transactions_per_second", "UDP_RR_Latency_p50=0 us"),
			fails: "the rate is 0", not: []string{"rtt.p50"},
		},
		{
			name: "pkb, another benchmark", tool: "pkb", reportedAs: "none",
			text: pkbLines("coremark", "", "Coremark Score=44145.2 score", "End to End Runtime=277 seconds"), fails: "the first is of coremark",
		},
	}
}

// TestPkbExecutions: samples of several executions, with and without times, become a trial each.
func TestPkbExecutions(t *testing.T) {
	external := strings.Replace(pkbInternal, "internal", "external", 1)
	rr := []string{"TCP_RR_Transaction_Rate=4000 transactions_per_second", "TCP_RR_Latency_p50=274 us"}
	timed := append([]string{"start_time=1700000000.5 sec", "end_time=1700000060.5 sec"}, rr...)
	text := pkbLines("netperf", external, rr...) + pkbLines("netperf", pkbInternal, rr...) +
		strings.ReplaceAll(pkbLines("netperf", pkbInternal, rr...), "4000", "4001") + pkbLines("netperf", pkbInternal, timed...)
	runs := several(t, text, 4)
	for i, want := range []string{"netperf external", "netperf internal", "netperf internal", "netperf internal"} {
		if got := runs[i].Facts["setting"]; got != want || len(runs[i].Metrics) != 3 {
			t.Errorf("%q, want %q: %v", got, want, runs[i].Metrics)
		}
	}
	wantStarted(t, runs[0], "2023-11-14T22:15:00.25Z")
	wantStarted(t, runs[3], "2023-11-14T22:13:20.5Z")
	if runs[3].Duration.Seconds() != 60 || runs[3].Facts["sending_zone"] != "us-central1-a" {
		t.Errorf("%v, %v", runs[3].Duration, runs[3].Facts)
	}
}
