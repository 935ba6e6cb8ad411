package tool

import (
	"strings"
	"testing"
)

const (
	neperOptions = "VERSION=\"1.0\"\nnum_flows=1\nnum_threads=1\ninterval=1.000000\nhost=10.0.0.2\ncontrol_port=12866\n" +
		"port=12867\nclient=1\ntcp_fastopen=0\ncongestion_control=\nrequest_size=64\nresponse_size=64\ntest_length=10\n" +
		"buffer_size=65536\ndelay=0\nasync_connect=0\nnoburst=0\ntotal_run_time=10\n"
	neperEnd = "invalid_secret_count=0\ntime_start=1306173.500000000\nutime_start=0.062141\nnivcsw_end=1028\n"
	neperRR  = neperOptions + neperEnd + "num_transactions=329605\nlatency_min=0.000019000\nlatency_max=0.008010000\n" +
		"latency_mean=0.000030300\nlatency_stddev=0.000086000\nlatency_p50=0.000026000\nlatency_p99=0.000068000\n" +
		"latency_p99.9=0.000100000\nlatency_p99.999=0.004000000\ntime_end=1306183.500000000\ncorrelation_coefficient=1.00\n" +
		"throughput=32960.50\nlocal_throughput=32960\nremote_throughput=32959\n"
	neperStreamOptions = "num_flows=2\nnum_threads=2\ncontrol_port=12866\nclient=1\ntcp_fastopen=0\ntest_length=10\n" +
		"edge_trigger=0\nbuffer_size=16384\nenable_read=0\nenable_write=1\ntotal_run_time=10\n"
)

func neperSamples() []sample {
	return []sample{
		{
			name: "neper rr", tool: "neper", protocol: "tcp", bytes: 64, reportedAs: "rtt", text: neperRR,
			want: map[string]float64{"rtt.mean": 30.3e-6, "rtt.stddev": 86e-6, "rtt.min": 19e-6, "rtt.max": 8.01e-3,
				"rtt.p50": 26e-6, "rtt.p99": 68e-6, "rtt.p99.9": 100e-6, "transaction_rate": 32960.5, "received": 329605},
			not: []string{"rtt.p99.999", "goodput"},
		},
		{
			name: "neper rr, an old version without latencies", tool: "neper", protocol: "tcp", bytes: 1, reportedAs: "rate",
			text: "$ ./tcp_crr -c -H 10.0.0.2\npercentiles=\ncontrol_port=12866\nresponse_size=1\nrequest_size=1\ntest_length=10\n" +
				"num_threads=1\nnum_flows=1\ntotal_run_time=10\n" + neperEnd + "num_transactions=50000\nnum_samples=10\n" +
				"throughput=5000.00\ncorrelation_coefficient=1.00\ntime_end=1306183.666374314\n",
			want: map[string]float64{"transaction_rate": 5000, "rtt.mean": 200e-6},
		},
		{
			name: "neper stream, the client sends", tool: "neper", protocol: "tcp", bytes: 16384, reportedAs: "rate",
			text: neperStreamOptions + neperEnd + "local_throughput=0\nremote_throughput=193669323769\n",
			want: map[string]float64{"goodput": 193669323769},
		},
		{
			name: "neper stream, both ways", tool: "neper", protocol: "tcp", bytes: 16384, reportedAs: "rate",
			text: neperStreamOptions + neperEnd + "throughput=9400.00\nthroughput_units=Mbit/s\nlocal_throughput=9400000000\n" +
				"remote_throughput=9300000000\n",
			want: map[string]float64{"goodput (download)": 9.4e9, "goodput (upload)": 9.3e9}, not: []string{"goodput"},
		},
		{
			name: "neper stream, an old version", tool: "neper", protocol: "udp", bytes: 1400, reportedAs: "rate",
			text: "server$ udp_stream -I 1\nnum_flows=1\nnum_threads=1\ncontrol_port=12866\nbuffer_size=1400\ntest_length=10\n" +
				"total_run_time=10\n" + neperEnd + "throughput=941.50\n",
			want: map[string]float64{"goodput": 941.5e6},
		},
		{
			name: "neper cut off", tool: "neper", protocol: "tcp", bytes: 64, reportedAs: "none", text: neperOptions,
			fails: "printed no throughput", not: []string{"rtt.mean"},
		},
	}
}

// TestNeperRuns: runs one after the other, without anything between them, and the output of a server.
func TestNeperRuns(t *testing.T) {
	second := strings.ReplaceAll(strings.ReplaceAll(neperRR, "32960.50", "30000.00"), "num_flows=1", "num_flows=8")
	server := strings.ReplaceAll(neperRR, "client=1", "client=0")
	runs := several(t, neperRR+second+server, 3)
	if runs[0].Facts["connections"] != "1" || runs[1].Facts["connections"] != "8" {
		t.Errorf("%v, %v", runs[0].Facts, runs[1].Facts)
	}
	if runs[0].Duration.Seconds() != 10 || runs[0].Mode != "rr" || runs[0].Tool.Version != "1.0" {
		t.Errorf("%v, mode %s, version %s", runs[0].Duration, runs[0].Mode, runs[0].Tool.Version)
	}
	for _, metric := range runs[2].Metrics {
		if metric.Name == "rtt" {
			t.Errorf("a server's %v", metric)
		}
	}
}
