package tool

import (
	"testing"

	"nearfar/internal/declare/result"
)

const k8sNetperfHead = "Driver,Profile,Same node,Host Network,VM mode,Service,External Server,UDN Info,Bridge Info," +
	"SR-IOV Info,Macvlan Info,Localnet Info,Duration,Parallelism,# of Samples,Message Size,Burst," +
	"Confidence metric - low,Confidence metric - high,Avg Throughput,Throughput Metric,99%tile Observed Latency,Latency Metric\n"

func k8sNetperfSamples() []sample {
	return []sample{
		{
			name: "k8s-netperf rr", tool: "k8s-netperf", protocol: "tcp", bytes: 1024, reportedAs: "rate",
			text: k8sNetperfHead + "netperf,TCP_RR,false,false,false,false,false,,,,,,10,1,3,1024,0,6582.5,12085.4,10000.000000,OP/s,451.33,usec\n",
			want: map[string]float64{"transaction_rate": 10000, "rtt.mean": 100e-6, "rtt.p99": 451.33e-6},
		},
		{
			name: "k8s-netperf rr with a burst", tool: "k8s-netperf", protocol: "tcp", bytes: 64, reportedAs: "rtt",
			text: k8sNetperfHead + "netperf,TCP_RR,false,true,false,false,false,,,,,,10,1,1,64,2,0,0,17101.856667,OP/s,119.5,usec\n",
			want: map[string]float64{"transaction_rate": 17101.856667, "rtt.p99": 119.5e-6}, not: []string{"rtt.mean"},
		},
		{
			name: "k8s-netperf stream, an old version", tool: "k8s-netperf", protocol: "tcp", bytes: 8192, reportedAs: "rate",
			text: "Profile,Same node,Host Network,Service,Duration,Parallelism,# of Samples,Message Size,Avg Throughput," +
				"Throughput Metric,99%tile Observed Latency,Latency Metric\nTCP_STREAM,false,false,false,10,2,3,8192,4437.520000,Mb/s,30,usec\n",
			want: map[string]float64{"goodput": 4437.52e6}, not: []string{"rtt.p99"},
		},
		{
			name: "k8s-netperf crr by uperf", tool: "k8s-netperf", protocol: "tcp", bytes: 1024, reportedAs: "rate",
			text: k8sNetperfHead + "uperf,TCP_CRR,false,false,false,false,false,,,,,,10,1,3,1024,0,1,2,2223.696667,,4682.666,usec\n",
			want: map[string]float64{"transaction_rate": 2223.696667}, not: []string{"rtt.p99"},
		},
		{
			name: "k8s-netperf, all samples failed", tool: "k8s-netperf", protocol: "udp", bytes: 1024, reportedAs: "none",
			text:  k8sNetperfHead + "iperf3,UDP_STREAM,false,false,false,false,false,,,,,,10,1,3,1024,0,0,0,NaN,Mb/s,0,usec\n",
			fails: "all samples failed", not: []string{"goodput"},
		},
		{
			name: "k8s-netperf json", tool: "k8s-netperf", protocol: "udp", bytes: 1472, reportedAs: "rate",
			text: `[{"uuid": "k8s-netperf", "timestamp": "2026-02-03T04:05:06Z", "hostNetwork": false, "driver": "iperf3", "parallelism": 1,
 "profile": "UDP_STREAM", "duration": 10, "service": false, "local": false, "virt": false, "acrossAZ": true, "samples": 3,
 "messageSize": 1472, "burst": 0, "throughput": 1200.5, "latency": 0, "tputMetric": "Mb/s", "ltcyMetric": "usec",
 "tcpRetransmits": 0, "udpLossPercent": 0.25, "toolVersion": "v0.1.30", "metadata": {"kernel": "5.14"}, "confidence": [1, 2]}]`,
			want: map[string]float64{"goodput": 1200.5e6, "loss": 0.0025}, not: []string{"retransmits", "rtt.p99"},
		},
	}
}

// TestK8sNetperfRows: each row is a trial, and rows of different settings are told apart.
func TestK8sNetperfRows(t *testing.T) {
	row := "netperf,TCP_STREAM,%,10,1,3,1024,0,861.9,885.2,873.606667,Mb/s,3.3,usec\n"
	text := k8sNetperfHead
	settings := map[string]string{
		"false,false,false,false,false,,,,,": "netperf", "false,true,false,false,false,,,,,": "netperf hostnet",
		"true,false,true,true,true,ud n,,,,": "netperf samenode svc vm ext udn=ud_n",
	}
	for _, columns := range []string{
		"false,false,false,false,false,,,,,", "false,true,false,false,false,,,,,", "true,false,true,true,true,ud n,,,,",
	} {
		text += row[:len("netperf,TCP_STREAM,")] + columns + row[len("netperf,TCP_STREAM,%"):]
	}
	runs := several(t, text+"netperf,TCP_RR,false,false,fal", 4)
	for i, columns := range []string{
		"false,false,false,false,false,,,,,", "false,true,false,false,false,,,,,", "true,false,true,true,true,ud n,,,,",
	} {
		if got := runs[i].Facts[result.FactSetting]; got != settings[columns] || runs[i].Err != nil {
			t.Errorf("%s is %q (%v), want %q", columns, got, runs[i].Err, settings[columns])
		}
	}
	if runs[3].Err == nil {
		t.Error("a row that is cut off is no error")
	}
	wantStarted(t, one(t, k8sNetperfSamples()[5].text), "2026-02-03T04:05:06Z")
}
