package tool

import "testing"

const uperfStream = "Starting 2 threads running profile:stream-tcp-16384-16384-2 ...   0.10 seconds\n" +
	"Txn1          0 /   1.01(s) =            0           2op/s\rTxn2     3.37GB /  30.25(s) =   957.36Mb/s       15049op/s \n" +
	"Txn3          0 /   0.00(s) =            0      315326op/s \n" +
	"-------------------------------------------------------------------------------\n" +
	"Total    3.37GB /  32.26(s) =   897.71Mb/s       14223op/s \n\n" +
	"Netstat statistics for this run\n-------------------------------------------------------------------------------\n" +
	"Nic       opkts/s     ipkts/s      obits/s      ibits/s\neth0        76398       41125   923.23Mb/s    21.72Mb/s \n" +
	"-------------------------------------------------------------------------------\n\nRun Statistics\n" +
	"Hostname            Time       Data   Throughput   Operations      Errors\n" +
	"-------------------------------------------------------------------------------\n" +
	"172.16.100.221    32.46s     3.20GB   847.45Mb/s       437584        0.00\n" +
	"master            32.26s     3.37GB   897.71Mb/s       462736        0.00\n" +
	"-------------------------------------------------------------------------------\n" +
	"Difference(%)     -0.62%      5.04%        5.60%        5.44%       0.00%\n\n"

func uperfSamples() []sample {
	return []sample{
		{
			name: "uperf stream", tool: "uperf", protocol: "tcp", bytes: 16384, reportedAs: "rate", text: uperfStream,
			want: map[string]float64{"goodput": 847.45e6}, not: []string{"rtt.mean"},
		},
		{
			name: "uperf rr, raw", tool: "uperf", protocol: "udp", bytes: 64, reportedAs: "rate",
			text: "Starting 1 processes running profile:rr-udp-64-64-1 ...   0.00 seconds\n" +
				"timestamp_ms:1644254624628.0000 name:Txn1 nr_bytes:0 nr_ops:0\ntimestamp_ms:1644254624629.0000 name:Txn1 nr_bytes:0 nr_ops:1\n" +
				"timestamp_ms:1644254624700.0000 name:Txn2 nr_bytes:0 nr_ops:0\ntimestamp_ms:1644254625700.0000 name:Txn2 nr_bytes:1280000 nr_ops:20000\n" +
				"timestamp_ms:1644254626700.0000 name:Txn2 nr_bytes:2560000 nr_ops:40000\ntimestamp_ms:1644254626701.0000 name:Total nr_bytes:2560000 nr_ops:40003\n",
			want: map[string]float64{"transaction_rate": 10000, "rtt.mean": 100e-6}, not: []string{"goodput"},
		},
		{
			name: "uperf rr with averages", tool: "uperf", reportedAs: "rtt",
			text: "$ uperf -m netperf.xml -a\nStarting 1 threads running profile:netperf ...   0.00 seconds\n" +
				"Total    1.00GB /  32.26(s) =   265.71Mb/s       14223op/s \n\n" +
				"Txn                Count         avg         cpu         max         min \n-----\n" +
				"Txn0                   1    107.04us      0.00ns    107.04us    107.04us \n" +
				"Txn1              866453     34.61us      0.00ns      4.11ms     22.93us \n" +
				"Txn2                   1      1.00us      0.00ns      1.00us      1.00us \n\n",
			want: map[string]float64{"rtt.mean": 34.61e-6, "rtt.max": 4.11e-3, "rtt.min": 22.93e-6},
		},
		{
			name: "uperf, a profile of one's own", tool: "uperf", reportedAs: "rate",
			text: "Starting 4 threads running profile:ldap ...   0.01 seconds\nTotal    195.31MB /  32.31(s) =    50.70Mb/s       24764op/s \n",
			want: map[string]float64{"goodput": 50.7e6},
		},
		{
			name: "uperf without a server", tool: "uperf", reportedAs: "none",
			text:  "$ uperf -m iperf.xml\nError connecting to 10.0.0.9: Connection refused\nStarting 0 threads running profile:iperf ...\n",
			fails: "Connection refused",
		},
		{
			name: "uperf cut off", tool: "uperf", protocol: "tcp", bytes: 16384, reportedAs: "none", text: uperfStream[:180],
			fails: "cut off", not: []string{"goodput"},
		},
	}
}

func TestUperf(t *testing.T) {
	run := one(t, uperfSamples()[1].text)
	wantStarted(t, run, "2022-02-07T17:23:44.7Z")
	if run.Mode != "rr" || run.Facts["connections"] != "1" || run.Duration.Seconds() != 2 {
		t.Errorf("%s, %v, %v", run.Mode, run.Facts, run.Duration)
	}
	if run = one(t, uperfSamples()[3].text); run.Mode != "" || run.Facts["setting"] != "ldap" {
		t.Errorf("%s, %v", run.Mode, run.Facts)
	}
}
