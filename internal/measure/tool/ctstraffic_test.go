package tool

import "testing"

func ctsTrafficSamples() []sample {
	return []sample{
		{
			name: "ctstraffic, both ways", tool: "ctstraffic", protocol: "tcp", reportedAs: "rate",
			text: "\ufeffTimeSlice,SendBps,RecvBps,In-Flight,Completed,NetError,DataError\r\n0.000,0,0,1,0,0,0\r\n" +
				"5.000,20000000,120000000,8,0,0,0\r\n10.000,30000000,100000000,8,0,0,0\r\n",
			want: map[string]float64{"goodput (sent)": 200e6, "goodput (received)": 880e6}, not: []string{"goodput"},
		},
		{
			name: "ctstraffic push, console", tool: "ctstraffic", protocol: "tcp", reportedAs: "rate",
			text: "C:\\tools>ctsTraffic.exe -target:10.0.0.2 -pattern:push -connections:8\n\n" +
				" TimeSlice      SendBps      RecvBps  In-Flight  Completed  NetError  DataError \n" +
				"      0.002            0            0          8          0         0          0\n" +
				"      5.002       1.2x^9           12          8          0         0          0\n" +
				"     10.002    800000000           12          8          0         1          0\n\n" +
				"  Historic Connection Statistics (all connections over the complete lifetime)  \n" +
				"-------------------------------------------------------------------------------\n" +
				"  SuccessfulConnections [7]   NetworkErrors [1]   ProtocolErrors [0]\n\n" +
				"  Total Bytes Recv : 120\n  Total Bytes Sent : 10000000000\n  Total Time : 10002 ms.\n",
			want: map[string]float64{"goodput": 8e9 * 10 / 10.002},
		},
		{
			name: "ctstraffic, totals alone", tool: "ctstraffic", protocol: "tcp", reportedAs: "rate",
			text: "  SuccessfulConnections [8]   NetworkErrors [0]   ProtocolErrors [0]\n\n" +
				"  Total Bytes Recv : 1000000000\n  Total Bytes Sent : 64\n  Total Time : 10000 ms.\n",
			want: map[string]float64{"goodput": 800e6},
		},
		{
			name: "ctstraffic udp", tool: "ctstraffic", protocol: "udp", reportedAs: "rate",
			text: "TimeSlice,Bits/Sec,Streams,Completed,Dropped,Repeated,Errors\n1.000,25000000,4,95,5,1,0\n2.000,25000000,4,100,0,0,0\n",
			want: map[string]float64{"goodput": 25e6, "received": 195, "lost": 5, "duplicates": 1, "loss": 0.025},
		},
		{
			name: "ctstraffic without a connection", tool: "ctstraffic", protocol: "tcp", reportedAs: "none",
			text:  "TimeSlice,SendBps,RecvBps,In-Flight,Completed,NetError,DataError\n5.000,0,0,0,0,8,0\n",
			fails: "connections failed", not: []string{"goodput"},
		},
		{
			name: "ctstraffic cut off", tool: "ctstraffic", protocol: "tcp", reportedAs: "none",
			text: "TimeSlice,SendBps,RecvBps,In-Flight,Completed,NetError,DataError\n5.00", fails: "cut off",
		},
	}
}

func TestCtsTraffic(t *testing.T) {
	run := one(t, ctsTrafficSamples()[1].text)
	if run.Facts["connections"] != "8" || run.Facts["side"] != "sender" || len(run.Notes) != 1 || run.Duration.Seconds() != 10.002 {
		t.Errorf("%v, %v, %v", run.Facts, run.Notes, run.Duration)
	}
}
