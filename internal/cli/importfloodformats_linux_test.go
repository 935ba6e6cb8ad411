package cli

import (
	"bytes"
	"compress/gzip"
	"os"
	"strings"
)

// within writes a text with a part that is repeated until the file has its size.
func within(head, part, tail string) func(path string, size int) error {
	return func(path string, size int) error {
		n := (size - len(head) - len(tail)) / len(part)
		return os.WriteFile(path, []byte(head+strings.Repeat(part, n)+tail), 0o600)
	}
}

// floodsOfFormats are files of tools that are only imported.
func floodsOfFormats() []flood {
	return []flood{
		{name: "deep fortio", make: within(`{"RunType":`, "[", ""), says: "its JSON is cut off", trial: true},
		{name: "percentiles of fortio", make: within(
			`{"RunType":"HTTP","RequestedQPS":"8","DurationHistogram":{"Count":9,"Percentiles":[`, `{},`, `{}]}}`),
			says: "larger than any that it writes", trial: true},
		{name: "percentiles of wrk", make: numbered("Running 10s test @ http://a/\n", " %d%%  1.00ms\n"),
			says: "cut off", trial: true},
		{name: "rows of k8s-netperf", make: numbered("Profile,Same node,Host Network,Service,Avg Throughput,Throughput "+
			"Metric,Latency\n", "TCP_STREAM,false,false,false,%d,Mb/s,1\n"), says: ""},
		{name: "rows of perftest", make: numbered("RDMA_Write BW Test\n#bytes #iterations BW average[MiB/sec] MsgRate[Mpps]\n",
			"2 %d 1.00 1.00\n"), says: ""},
		// As trials they are read. A run has a workload for each number of flows, and refuses so many.
		{name: "options of neper", make: numbered("", "num_flows=%d\n"), says: "workloads: at most 100", trial: true},
		{name: "counts of uperf", make: numbered("Starting 1 threads running profile:x ...\n",
			"timestamp_ms:1.0 name:Txn%d nr_bytes:0 nr_ops:1\n"), says: "cut off", trial: true},
		{name: "samples of pkb", make: numbered("",
			`{"metric":"TCP_RR_Transaction_Rate","value":%d,"unit":"x","test":"netperf","labels":""}`+"\n"), says: ""},
		{name: "values of flent", make: within(`{"metadata":{"NAME":"x"},"x_values":[],"results":{"Ping (ms) ICMP":[`, "1,", "1]}}"),
			says: "flent: its file is larger", trial: true},
		{name: "series of flent", make: numbered(`{"metadata":{"NAME":"x"},"x_values":[],"results":{`, `"TCP upload::%d":[1],`),
			says: ""},
		{name: "intervals of ctstraffic", make: numbered(
			"TimeSlice,SendBps,RecvBps,In-Flight,Completed,NetError,DataError\n", "%d,1,0,1,0,0,0\n"), says: ""},
		{name: "packed", make: func(path string, _ int) error {
			var packed bytes.Buffer
			w := gzip.NewWriter(&packed)
			for range 500 {
				if _, err := w.Write(make([]byte, 1<<20)); err != nil {
					return err
				}
			}
			if err := w.Close(); err != nil {
				return err
			}
			return os.WriteFile(path, packed.Bytes(), 0o600)
		}, says: "unpacks to more than 64 MiB"},
	}
}
