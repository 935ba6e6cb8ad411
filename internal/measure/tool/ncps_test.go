package tool

import (
	"strings"
	"testing"
)

const ncpsRun = "   T(sec)        N   Pend   Failed   IOFail   Conn/s  Close/s RXkbyte/s TXkbyte/s  RT/i    c0/i c0rtt/i    cR/i  cRrtt/i\n" +
	"    1.001        0   1600        0        0  24152.0  22552.0   24151.0   24153.0     0   24152   10543       0        0 \n" +
	"    2.001        0   1600        7        0  32069.0  32069.0   32069.0   32069.0     0   32069    9567       0        0 REP\n\n" +
	"=== CMDLINE: ./ncps -c 10.1.0.5 -r 16 -bp 9800 -np 16 -N 1600 -P 1600 -D 0 -M 1 -i 1 -wt 30 -t 330\n\n=== VERSION 1.1\n\n" +
	"###RXGBPS 0.65\n###TXGBPS 0.65\n\n=== Time (ms) to Nth connection establishment for first 12500 connections:\n" +
	"===       N   T(ms)     CPS\n===   10000     400   25000\n===   12500     512   24416\n\n###ENDCPS 24416\n\n" +
	"###CPS,10000:400,12500:512\n\n=== SYN RTT (us) stats for first 12500 connections:\n" +
	"===      P25   Median     Mean      P75      P90      P95      P99    P99.9   P99.99\n" +
	"===     3424     6221    18737    10893    17628    24607    54222  2027000  4057000\n\n" +
	"###SYNRTT,25:3424,Median:6221,Mean:18737,75:10893,90:17628,95:24607,99:54222,99.9:2027000,99.99:4057000\n\n" +
	"=== Percentage of connections with retransmits in the first 12500 connections: 3.2825%\n" +
	"=== Average retransmit count per connection (excluding 0-retransmit cases): 1.1436\n\n" +
	"###REXMIT,rtconnpercentage:3.2825,rtperconn:1.1436\n"

func ncpsSamples() []sample {
	return []sample{
		{
			name: "ncps", tool: "ncps", protocol: "tcp", reportedAs: definitionNcps, text: ncpsRun,
			want: map[string]float64{"transaction_rate": 24416, "received": 12500, "connect_time.mean": 18737e-6,
				"connect_time.p25": 3424e-6, "connect_time.p50": 6221e-6, "connect_time.p99": 54222e-6,
				"connect_time.p99.9": 2.027},
			not: []string{"connect_time.p99.99", "rtt.mean"},
		},
		{
			name: "cps cut off", tool: "ncps", protocol: "tcp", reportedAs: "none",
			text:  "# ./cps -c -r 16 10.7.0.6,0,10.7.0.8,7201,100,100,0,1 -i 10 -wt 0 -t 60\n" + ncpsRun[:400],
			fails: "no summary", not: []string{"transaction_rate"},
		},
	}
}

func TestNcps(t *testing.T) {
	old := strings.ReplaceAll(ncpsRun, "./ncps -c 10.1.0.5 -r 16 -bp 9800 -np 16 -N 1600 -P 1600 -D 0 -M 1",
		"/opt/cps -c -r 16 10.7.0.6,0,10.7.0.8,7201,100,200,0,1")
	runs := several(t, ncpsRun+old, 2)
	for i, want := range []string{"1600", "3200"} {
		if got := runs[i].Facts["connections"]; got != want || runs[i].Duration.Seconds() != 0.512 || len(runs[i].Notes) != 1 {
			t.Errorf("%s connections, want %s; %v, %v", got, want, runs[i].Duration, runs[i].Notes)
		}
	}
	if f := runs[0].Facts; f["threads"] != "16" || f["side"] != "client" || f["connections_with_retransmits_percent"] != "3.2825" {
		t.Errorf("%v", f)
	}
}
