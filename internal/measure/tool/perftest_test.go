package tool

import "testing"

const (
	perftestRule = "---------------------------------------------------------------------------------------\n"
	perftestSet  = " Dual-port       : OFF\t\tDevice         : mlx5_0\n Number of qps   : 1\t\tTransport type : IB\n" +
		" Connection type : RC\t\tUsing SRQ      : OFF\n TX depth        : 1\n Mtu             : 4096[B]\n Link type       : IB\n" +
		" rdma_cm QPs\t : OFF\n Data ex. method : Ethernet\n" + perftestRule +
		" local address: LID 0x01 QPN 0x0215 PSN 0x79fcd6\n remote address: LID 0x04 QPN 0x020f PSN 0x17e736\n" + perftestRule
	perftestLat = " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   " +
		"99% percentile[usec]   99.9% percentile[usec] \n"
	perftestBW = " #bytes     #iterations    BW peak[MiB/sec]    BW average[MiB/sec]   MsgRate[Mpps]\n"
)

// perftestTitle is what the program prints before the table.
func perftestTitle(title string) string {
	return perftestRule + "                    " + title + "\n" + perftestSet
}

func perftestSamples() []sample {
	return []sample{
		{
			name: "perftest write latency", tool: "perftest", protocol: "rdma-write", bytes: 2, reportedAs: "half-rtt",
			text: perftestTitle("RDMA_Write Latency Test") + perftestLat +
				" 2       1000          0.81           2.58         0.85  \t       0.86        \t0.06\t\t0.89 \t\t2.58   \n" + perftestRule,
			want: map[string]float64{"rtt.min": 1.62e-6, "rtt.max": 5.16e-6, "rtt.p50": 1.70e-6, "rtt.mean": 1.72e-6,
				"rtt.p99": 1.78e-6},
			not: []string{"rtt.p99.9", "rtt.stddev"},
		},
		{
			name: "perftest read latency", tool: "perftest", protocol: "rdma-read", bytes: 2, reportedAs: "rtt",
			text: perftestTitle("RDMA_Read Latency Test") + perftestLat +
				"Conflicting CPU frequency values detected: 2400.000000 != 1873.463000. CPU Frequency is not max.\n" +
				" 2       10001         1.76           6.12         1.79                1.80             0.06            1.88                    6.12\n",
			want: map[string]float64{"rtt.p50": 1.79e-6, "rtt.mean": 1.80e-6, "rtt.p99.9": 6.12e-6},
		},
		{
			name: "perftest send latency by time", tool: "perftest", protocol: "rdma-send", bytes: 64, reportedAs: "half-rtt",
			text: perftestTitle("Send Latency Test") + " #bytes        #iterations       t_avg[usec]    tps average\n" +
				" 64            1000000            2.50           200000.00\n",
			want: map[string]float64{"rtt.mean": 5e-6, "transaction_rate": 200000},
		},
		{
			name: "perftest bandwidth", tool: "perftest", protocol: "rdma-send", bytes: 65536, reportedAs: "rate",
			text: perftestTitle("Send BW Test") + perftestBW +
				" 65536      130030           0.00               2708.88\t\t     0.043342\n" + perftestRule,
			want: map[string]float64{"goodput": 2708.88 * (8 << 20), "message_rate": 43342}, not: []string{"rtt.mean"},
		},
		{
			name: "perftest bandwidth in Gb, both ways", tool: "perftest", protocol: "rdma-write", bytes: 8388608, reportedAs: "rate",
			text: perftestTitle("RDMA_Write Bidirectional BW Test") +
				" #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n" +
				" 8388608    5000             197.10             196.92\t\t     0.002934\n",
			want: map[string]float64{"goodput": 196.92e9, "message_rate": 2934},
		},
		{
			name: "perftest without a connection", tool: "perftest", protocol: "rdma-write", reportedAs: "none",
			text:  "$ ib_write_lat -d mlx5_0 10.0.0.9\nCouldn't connect to 10.0.0.9:18515\nUnable to open file descriptor for socket connection\n" + perftestTitle("RDMA_Write Latency Test"),
			fails: "Couldn't connect",
		},
		{
			name: "perftest, a table alone", tool: "perftest", bytes: 2, reportedAs: "none",
			text:  perftestLat + " 2       1000          1.76           6.12         1.79                1.80             0.06            1.88                    6.12\n",
			fails: "does not say which program", not: []string{"rtt.mean"},
		},
		{
			name: "perftest json", tool: "perftest", protocol: "rdma-write", bytes: 65536, reportedAs: "rate",
			text: `{
"test_info": {
"test": "RDMA_Write_BW_Test",
"Dual_port": "OFF",
"Device": "mlx5_0",
"Number_of_qps": 4,
"Connection_type": "RC",
"Mtu": 4096
},
"results": {
"MsgSize": 65536,
"n_iterations": 5000,
"BW_peak": 92.10,
"BW_average": 92.00,
"MsgRate": 0.175476
}
}`,
			want: map[string]float64{"goodput": 92e9, "message_rate": 175476},
		},
	}
}

// TestPerftestSizes: with -a each size is a trial.
func TestPerftestSizes(t *testing.T) {
	runs := several(t, "# ib_send_lat -a 172.16.1.28\n"+perftestTitle("Send Latency Test")+
		" #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]\n"+
		" 2       1000          2.57           15.38        2.66\n 4       1000          2.49           9.48         2.54\n"+
		" 8       1000          2.49\n"+perftestRule, 3)
	for i, want := range []int{2, 4} {
		if run := runs[i]; run.MessageBytes != want || run.Err != nil || len(run.Metrics) != 3 {
			t.Errorf("%d B, %v, %v", run.MessageBytes, run.Err, run.Metrics)
		}
	}
	if runs[2].Err == nil {
		t.Error("a row that is cut off is no error")
	}
	if run := runs[0]; run.Facts["connections"] != "1" || run.Facts["setting"] != "rc" || run.Facts["device"] != "mlx5_0" {
		t.Errorf("%v", run.Facts)
	}
}
