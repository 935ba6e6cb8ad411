package tool

import "testing"

// fortioHTTP is a run over HTTP, with the keys and the order of fortio's structs.
const fortioHTTP = `{
  "RunType": "HTTP",
  "Labels": "far",
  "StartTime": "2025-03-04T05:06:07.5+01:00",
  "RequestedQPS": "8",
  "RequestedDuration": "exactly 1000 calls",
  "ActualQPS": 7.97,
  "ActualDuration": 12538231589,
  "NumThreads": 4,
  "Version": "1.57.3",
  "DurationHistogram": {
    "Count": 1000, "Min": 0.004, "Max": 0.04, "Sum": 15.9, "Avg": 0.0159, "StdDev": 0.008,
    "Data": [ {"Start": 0.004, "End": 0.04, "Percent": 100, "Count": 1000} ],
    "Percentiles": [ {"Percentile": 50, "Value": 0.0145}, {"Percentile": 99, "Value": 0.039},
      {"Percentile": 99.9, "Value": 0.0399} ]
  },
  "ErrorsDurationHistogram": { "Count": 3, "Min": 0.01, "Max": 0.01, "Sum": 0.03, "Avg": 0.01, "StdDev": 0, "Data": null },
  "Exactly": 1000, "Jitter": false, "RunID": 0, "ID": "2025-03-04-050607",
  "RetCodes": { "200": 997, "503": 3 },
  "URL": "http://10.0.0.2:8080/",
  "NumConnections": 1, "HTTP10": false, "H2": false, "DisableKeepAlive": false, "Payload": null,
  "Sizes": { "Count": 1000, "Min": 413, "Max": 413, "Sum": 413000, "Avg": 413, "StdDev": 0, "Data": null },
  "SocketCount": 4,
  "ConnectionStats": { "Count": 4, "Min": 0.001, "Max": 0.002, "Sum": 0.006, "Avg": 0.0015, "StdDev": 0, "Data": null }
}
`

func fortioSamples() []sample {
	return []sample{
		{
			name: "fortio http", text: fortioHTTP, tool: "fortio", protocol: "http", reportedAs: definitionFortio,
			want: map[string]float64{"response_time.mean": 0.0159, "response_time.stddev": 0.008, "response_time.min": 0.004,
				"response_time.max": 0.04, "response_time.p50": 0.0145, "response_time.p99": 0.039,
				"transaction_rate": 7.97, "sent": 1000, "received": 997, "connect_time.mean": 0.0015},
			not: []string{"rtt.mean", "response_time.p99.9"}, // one observation is beyond it
		},
		{
			name: "fortio echo over tcp", tool: "fortio", protocol: "tcp", bytes: 24, reportedAs: "rtt",
			text: `{"RunType": "TCP", "StartTime": "2025-03-04T05:06:07Z", "RequestedQPS": "max", "ActualQPS": 9000.5,
 "ActualDuration": 1000000000, "NumThreads": 1, "Version": "1.60.0", "DurationHistogram": {"Count": 9000, "Min": 0.00005,
 "Max": 0.002, "Sum": 0.99, "Avg": 0.00011, "StdDev": 0.00002, "Data": [], "Percentiles": [{"Percentile": 90, "Value": 0.00012}]},
 "Destination": "10.0.0.2:8078", "Payload": "AAAA", "RetCodes": {"OK": 9000}, "SocketCount": 1, "BytesSent": 216000,
 "BytesReceived": 216000}`,
			want: map[string]float64{"rtt.mean": 110e-6, "rtt.p90": 120e-6, "transaction_rate": 9000.5},
			not:  []string{"response_time.mean"},
		},
		{
			name: "fortio grpc, an old version", tool: "fortio", protocol: "grpc", reportedAs: definitionFortioGRPC,
			text: `{"RunType": "GRPC Ping Delay=0s", "Labels": "", "StartTime": "2018-04-03T16:32:58.895472681-07:00",
 "RequestedQPS": "8", "RequestedDuration": "5s", "ActualQPS": 7.5, "ActualDuration": 5285144740, "NumThreads": 8,
 "Version": "0.9.0", "DurationHistogram": {"Count": 40, "Min": 0.274, "Max": 0.28, "Sum": 11, "Avg": 0.277, "StdDev": 0.0016,
 "Data": [], "Percentiles": [{"Percentile": 50, "Value": 0.277}, {"Percentile": 75, "Value": 0.279},
 {"Percentile": 99, "Value": 0.2805}]}, "RetCodes": {"SERVING": 40}, "Streams": 1, "Ping": true}`,
			want: map[string]float64{"response_time.mean": 0.277, "response_time.p50": 0.277, "response_time.p75": 0.279},
			not:  []string{"response_time.p99"},
		},
		{
			name: "fortio, all requests failed", tool: "fortio", protocol: "https", reportedAs: definitionFortio,
			text: `{"RunType": "HTTP", "StartTime": "2025-03-04T05:06:07Z", "RequestedQPS": "8", "ActualQPS": 8,
 "ActualDuration": 1000000000, "NumThreads": 1, "DurationHistogram": {"Count": 8, "Min": 3, "Max": 3, "Sum": 24, "Avg": 3,
 "StdDev": 0, "Data": []}, "RetCodes": {"-1": 8}, "URL": "https://10.0.0.2/"}`,
			fails: "all of its 8 requests failed (-1: 8)", not: []string{"response_time.mean"},
		},
		{
			name: "fortio without a request", tool: "fortio", protocol: "http", reportedAs: definitionFortio,
			text:  `{"RunType": "HTTP", "RequestedQPS": "8", "NumThreads": 0, "DurationHistogram": null, "error": true, "message": "no such host"}`,
			fails: "no such host",
		},
		{
			name: "fortio cut off", tool: "fortio", reportedAs: "none", text: fortioHTTP[:300], fails: "cut off",
		},
	}
}

func TestFortio(t *testing.T) {
	run := one(t, fortioHTTP)
	wantStarted(t, run, "2025-03-04T04:06:07.5Z")
	for fact, want := range map[string]string{
		"connections": "4", "schedule": "constant 8/s", "errors": "3", "response_bytes": "413",
	} {
		if got := run.Facts[fact]; got != want {
			t.Errorf("%s is %q, want %q", fact, got, want)
		}
	}
	if run.Duration.Seconds() != 12.538231589 || run.Tool.Version != "1.57.3" || run.Mode != "rr" {
		t.Errorf("%v, version %s, mode %s", run.Duration, run.Tool.Version, run.Mode)
	}
	// An array of results, as a script that collects them writes it.
	several(t, "["+fortioHTTP+",\n"+fortioSamples()[1].text+"]", 2)
}
