package tool

import "testing"

const wrkHead = "Running 10s test @ http://10.0.0.2:8080/\n  4 threads and 64 connections\n"

const wrk2Long = "$ wrk2 -t2 -c100 -d30s -R2000 --latency http://10.0.0.2:80/index.html\n" +
	"Running 30s test @ http://10.0.0.2:80/index.html\n  2 threads and 100 connections\n" +
	"  Thread calibration: mean lat.: 1.234ms, rate sampling interval: 10ms\n" +
	"  Thread calibration: mean lat.: 1.250ms, rate sampling interval: 10ms\n" +
	"  Thread Stats   Avg      Stdev     Max   +/- Stdev\n" +
	"    Latency     1.12ms  510.33us   9.87ms   78.00%\n    Req/Sec     1.06k   210.00     3.44k    80.00%\n" +
	"  Latency Distribution (HdrHistogram - Recorded Latency)\n" +
	" 50.000%    1.05ms\n 75.000%    1.40ms\n 90.000%    1.80ms\n 99.000%    3.10ms\n 99.900%    6.20ms\n" +
	" 99.990%    8.90ms\n 99.999%    9.80ms\n100.000%    9.87ms\n\n  Detailed Percentile spectrum:\n" +
	"       Value   Percentile   TotalCount 1/(1-Percentile)\n\n       0.123     0.000000            1         1.00\n" +
	"       1.050     0.500000        19900         2.00\n#[Mean    =        1.120, StdDeviation   =        0.510]\n" +
	"#[Max     =        9.872, Total count    =        39800]\n#[Buckets =           27, SubBuckets     =         2048]\n" +
	"----------------------------------------------------------\n\n" +
	"  Latency Distribution (HdrHistogram - Uncorrected Latency (measured without taking delayed starts into account))\n" +
	" 50.000%    0.95ms\n 99.000%    2.10ms\n100.000%    8.00ms\n" +
	"#[Max     =        8.000, Total count    =        39800]\n" +
	"----------------------------------------------------------\n  60017 requests in 30.01s, 19.81MB read\n" +
	"Requests/sec:   1999.90\nTransfer/sec:    676.14KB\n"

func wrkSamples() []sample {
	return []sample{
		{
			name: "wrk", tool: "wrk", protocol: "http", reportedAs: definitionWrk,
			text: wrkHead + "  Thread Stats   Avg      Stdev     Max   +/- Stdev\n    Latency     1.05ms  452.11us   1.50s    85.12%\n" +
				"    Req/Sec    15.12k     1.02k   17.89k    70.25%\n  Latency Distribution\n     50%    0.98ms\n     75%    1.21ms\n" +
				"     90%    1.55ms\n     99%    2.89ms\n  602345 requests in 10.00s, 650.12MB read\n" +
				"  Socket errors: connect 0, read 3, write 0, timeout 1\n  Non-2xx or 3xx responses: 12\n" +
				"Requests/sec:  60213.45\nTransfer/sec:     64.99MB\n",
			want: map[string]float64{"response_time.mean": 1.05e-3, "response_time.stddev": 452.11e-6, "response_time.max": 1.5,
				"response_time.p50": 0.98e-3, "response_time.p75": 1.21e-3, "response_time.p90": 1.55e-3,
				"response_time.p99": 2.89e-3, "transaction_rate": 60213.45, "received": 602345},
			not: []string{"rtt.mean", "response_time.p100"},
		},
		{
			name: "wrk2", tool: "wrk2", protocol: "http", reportedAs: definitionWrk2, text: wrk2Long,
			want: map[string]float64{"response_time.mean": 1.12e-3, "response_time.max": 9.87e-3, "response_time.p50": 1.05e-3,
				"response_time.p99": 3.1e-3, "response_time.p99.9": 6.2e-3, "transaction_rate": 1999.9},
			not: []string{"response_time.p99.99", "response_time.p99.999", "response_time.p100"},
		},
		{
			name: "wrk over https, without --latency", tool: "wrk", protocol: "https", reportedAs: definitionWrk,
			text: "Running 1m test @ https://10.0.0.2/\n  1 threads and 1 connections\n" +
				"  Thread Stats   Avg      Stdev     Max   +/- Stdev\n    Latency   679.89us  820.95us  26.34ms   99.79%\n" +
				"    Req/Sec    10.56k   803.29    17.78k    68.55%\n  599984 requests in 1.00m, 38.34MB read\n" +
				"Requests/sec:   9999.77\nTransfer/sec:    654.28KB\n",
			want: map[string]float64{"response_time.mean": 679.89e-6, "transaction_rate": 9999.77},
			not:  []string{"response_time.p50"},
		},
		{
			name: "wrk without an answer", tool: "wrk", protocol: "http", reportedAs: "none",
			text: wrkHead + "  Thread Stats   Avg      Stdev     Max   +/- Stdev\n    Latency     0.00us    0.00us   0.00us    -nan%\n" +
				"    Req/Sec     0.00      0.00     0.00      -nan%\n  0 requests in 5.02s, 0.00B read\n" +
				"  Socket errors: connect 64, read 0, write 0, timeout 0\nRequests/sec:      0.00\nTransfer/sec:       0.00B\n",
			fails: "no request was answered (64 errors", not: []string{"response_time.mean", "transaction_rate"},
		},
		{
			name: "wrk, every answer an error", tool: "wrk", protocol: "http", reportedAs: "none",
			text: wrkHead + "  Thread Stats   Avg      Stdev     Max   +/- Stdev\n    Latency     1.05ms  452.11us  12.34ms   85.12%\n" +
				"    Req/Sec    15.12k     1.02k   17.89k    70.25%\n  100 requests in 10.00s, 1.00MB read\n" +
				"  Non-2xx or 3xx responses: 100\nRequests/sec:     10.00\nTransfer/sec:    102.40KB\n",
			fails: "all 100 responses", not: []string{"response_time.mean"},
		},
		{
			name: "wrk cut off", tool: "wrk", protocol: "http", reportedAs: "none", text: wrkHead, fails: "cut off",
		},
	}
}

func TestWrk(t *testing.T) {
	run := one(t, wrk2Long)
	if run.Facts["connections"] != "100" || run.Facts["schedule"] != "constant 2000/s" || run.Mode != "load" {
		t.Errorf("mode %s, %v", run.Mode, run.Facts)
	}
	if s := run.Duration.Seconds(); s < 30 || s > 30.02 {
		t.Errorf("%v s", s)
	}
	if run = one(t, "unable to connect to 10.0.0.9:80 Connection refused\n"+wrkHead); run.Err == nil {
		t.Error("no error")
	}
}
