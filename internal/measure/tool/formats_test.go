package tool

import (
	"math"
	"strings"
	"testing"

	"nearfar/internal/declare/result"
)

// sample is an output of a version or a system that is not installed here, made up after the tool's format.
type sample struct {
	name, text string
	tool       string
	protocol   string
	bytes      int
	reportedAs string
	// want is by metric, stat ("rtt.mean") and, in brackets, scope.
	want map[string]float64
	// not are metrics that must not be there.
	not []string
	// fails is part of the error that the run must carry.
	fails string
}

const sockperfHead = "sockperf: == version #3.10-0.git5ebd327da983 ==\nsockperf[CLIENT] send on:sockperf: using recvfrom() to block on socket(s)\n\n" +
	"[ 0] IP = 10.0.0.2        PORT = 11111 # TCP\n"

func samples() []sample {
	return append([]sample{
		{
			name: "sockperf 3.10 summary line", tool: "sockperf", protocol: "tcp", reportedAs: "half-rtt",
			text: sockperfHead + "sockperf: [Total Run] RunTime=2.000 sec; Warm up time=400 msec; SentMessages=40; ReceivedMessages=40\n" +
				"sockperf: ========= Printing statistics for Server No: 0\n" +
				"sockperf: [Valid Duration] RunTime=1.550 sec; SentMessages=30; ReceivedMessages=29\n" +
				"sockperf: ====> avg-latency=25.500 (std-dev=2.000, mean-ad=1.1, median-ad=0.9, siqr=0.5, cv=0.08, std-error=0.01, 99.0% ci=[25.4, 25.6])\n" +
				"sockperf: # dropped messages = 1; # duplicated messages = 2; # out-of-order messages = 3\n" +
				"sockperf: Summary: Latency is 25.500 usec\nsockperf: Total 29 observations; each percentile contains 0.29 observations\n" +
				"sockperf: ---> <MAX> observation =  40.000\nsockperf: ---> percentile 99.900 =   39.000\nsockperf: ---> percentile 25.000 =   24.000\nsockperf: ---> <MIN> observation =   20.000\n",
			want: map[string]float64{"rtt.mean": 51e-6, "rtt.stddev": 4e-6, "rtt.max": 80e-6, "rtt.p99.9": 78e-6,
				"rtt.p25": 48e-6, "rtt.min": 40e-6,
				"sent": 30, "received": 29, "lost": 1, "duplicates": 2, "out_of_order": 3},
		},
		{
			name: "sockperf two servers", tool: "sockperf", protocol: "tcp", reportedAs: "rtt",
			text: sockperfHead + "sockperf: [Total Run] RunTime=2.000 sec; SentMessages=40; ReceivedMessages=40\n" +
				"sockperf: ========= Printing statistics for Server No: 0\nsockperf: ====> avg-rtt=10.000 (std-dev=1.000)\n" +
				"sockperf: ========= Printing statistics for Server No: 1\nsockperf: ====> avg-rtt=20.000 (std-dev=2.000)\n",
			want: map[string]float64{"rtt.mean (server 0)": 10e-6,
				"rtt.mean (server 1)": 20e-6}, not: []string{"rtt.mean"},
		},
		{
			name: "sockperf not a number", tool: "sockperf", protocol: "tcp", reportedAs: "none",
			text: sockperfHead + "sockperf: [Total Run] RunTime=2.000 sec; SentMessages=1; ReceivedMessages=0\n" +
				"sockperf: [Valid Duration] RunTime=0.000 sec; SentMessages=0; ReceivedMessages=0\nsockperf: ====> avg-latency=-nan (std-dev=-nan)\n",
			not: []string{"rtt.mean", "sent"}, fails: "no average",
		},
		{
			name: "sockperf throughput in GB", tool: "sockperf", protocol: "tcp", reportedAs: "rate", bytes: 1472,
			text: "$ sockperf tp -i 10.0.0.2 --tcp -m 1472 --giga-size\n" + sockperfHead + "sockperf: Total of 2000 messages sent in 2.000 sec\n" +
				"sockperf: Summary: Message Rate is 1000 [msg/sec]\nsockperf: Summary: BandWidth is 0.500 GBps (4.000 Gbps)\n",
			want: map[string]float64{"message_rate": 1000, "goodput": 4 << 30, "sent": 2000},
		},
		{
			name: "sockperf ended by the user", tool: "sockperf", protocol: "tcp", reportedAs: "half-rtt",
			text: sockperfHead + "^Csockperf: Test end (interrupted by user)\nsockperf: Summary: Latency is 11.000 usec\n",
			want: map[string]float64{"rtt.mean": 22e-6}, not: []string{"rtt.p50"},
		},
		{
			name: "iperf3 sums alone", tool: "iperf3", reportedAs: "rate",
			text: "[SUM]   0.00-10.00  sec  11.0 GBytes  9.42 Gbits/sec  112             sender\n[SUM]   0.00-10.00  sec  11.0 GBytes  9.40 Gbits/sec                  receiver\n",
			want: map[string]float64{"goodput": 9.4e9, "retransmits": 112},
		},
		{
			name: "netperf 2.4 rr", tool: "netperf", protocol: "tcp", reportedAs: "rate", bytes: 64,
			text: "TCP REQUEST/RESPONSE TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to host2 (10.0.0.2) port 0 AF_INET\nLocal /Remote\n" +
				"Socket Size   Request  Resp.   Elapsed  Trans.\nSend   Recv   Size     Size    Time     Rate         \nbytes  Bytes  bytes    bytes   secs.    per sec   \n\n" +
				"16384  87380  64       128     10.00    20000.00   \n16384  87380 \n",
			want: map[string]float64{"transaction_rate": 20000, "rtt.mean": 50e-6},
		},
		{
			name: "netperf burst has no round trip", tool: "netperf", protocol: "tcp", reportedAs: "rate", bytes: 1,
			text: "MIGRATED TCP REQUEST/RESPONSE TEST from ::0 (::) port 0 AF_INET6 to fd00::2 () port 0 AF_INET6 : first burst 16\nLocal /Remote\n" +
				"Socket Size   Request  Resp.   Elapsed  Trans.\nSend   Recv   Size     Size    Time     Rate         \nbytes  Bytes  bytes    bytes   secs.    per sec   \n\n" +
				"16384  87380  1        1       10.00    200000.00   \n16384  87380 \n",
			want: map[string]float64{"transaction_rate": 200000}, not: []string{"rtt.mean"},
		},
		{
			name: "netperf wrapped csv", tool: "netperf", protocol: "udp", reportedAs: "rtt",
			text: "MIGRATED UDP REQUEST/RESPONSE TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to\n10.0.0.2 () port 0 AF_INET : first burst 0\n" +
				"Throughput,Throughput Units,99th Percentile Latency\nMicroseconds,Mean Latency Microseconds\n5000.00,Trans/s,310,200.50\n\nHistogram of request/response times\nUNIT_USEC     :    0:    0\n",
			want: map[string]float64{"transaction_rate": 5000, "rtt.p99": 310e-6, "rtt.mean": 200.5e-6},
		},
		{
			name: "netperf udp stream", tool: "netperf", protocol: "udp", bytes: 1024, reportedAs: "rate",
			text: "MIGRATED UDP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 10.0.0.2 () port 0 AF_INET : demo\nSocket  Message  Elapsed      Messages                \nSize    Size     Time         Okay Errors   Throughput\nbytes   bytes    secs            #      #   10^6bits/sec\n\n" +
				"212992    1024   10.00     2000000      0    1638.40\n212992           10.00     1000000            819.20\n\n",
			want: map[string]float64{"goodput": 819.2e6, "sent": 2e6, "received": 1e6, "loss": 0.5},
		},
		{
			name: "netperf columns after an empty line", tool: "netperf", protocol: "tcp", reportedAs: "rate",
			text: "MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 10.0.0.2 () port 0 AF_INET\nThroughput Throughput  Elapsed\n           Units       Time\n                       (sec)\n\n9411.34    10^6bits/s  10.00\n",
			want: map[string]float64{"goodput": 9411.34e6},
		},
		{
			name: "netperf remote error", tool: "netperf", reportedAs: "none", text: "netperf: remote error 113\n", fails: "netperf: remote error 113",
		},
		{
			name: "ping macos, one reply", tool: "ping", protocol: "icmp", bytes: 56, reportedAs: "rtt",
			text: "PING localhost (127.0.0.1): 56 data bytes\n64 bytes from 127.0.0.1: icmp_seq=0 ttl=64 time=0.050 ms\n\n--- localhost ping statistics ---\n1 packets transmitted, 1 packets received, 0.0% packet loss\nround-trip min/avg/max/stddev = 0.050/0.050/0.050/nan ms\n",
			want: map[string]float64{"sent": 1, "rtt.mean": 50e-6}, not: []string{"rtt.stddev"},
		},
		{
			name: "netperf cut off", tool: "netperf", reportedAs: "none", protocol: "",
			text:  "MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 10.0.0.2 () port 0 AF_INET\nRecv   Send    Send                          \nSocket Socket  Message  Elapsed\n",
			fails: "no result", not: []string{"goodput"},
		},
		{
			name: "iperf3 3.0 udp text", tool: "iperf3", protocol: "udp", reportedAs: "rate",
			text: "Connecting to host 10.0.0.2, port 5201\n[  4] local 10.0.0.1 port 50000 connected to 10.0.0.2 port 5201\n" +
				"[ ID] Interval           Transfer     Bandwidth       Total Datagrams\n[  4]   0.00-1.00   sec   120 KBytes   983 Kbits/sec  15  \n- - - - - - - - - - - - - - - - - - - - - - - - -\n" +
				"[ ID] Interval           Transfer     Bandwidth       Jitter    Lost/Total Datagrams\n[  4]   0.00-1.00   sec   120 KBytes  1000 Kbits/sec  0.050 ms  5/20 (25%)  \n[  4] Sent 20 datagrams\n\niperf Done.\n",
			want: map[string]float64{"goodput": 750e3, "loss": 0.25, "lost": 5, "sent": 20, "ipdv.mean": 50e-6},
		},
		{
			name: "iperf3 3.17 json stream", tool: "iperf3", protocol: "tcp", reportedAs: "smoothed-rtt",
			text: `{"event":"start","data":{"version":"iperf 3.17.1","test_start":{"protocol":"TCP","num_streams":1,"blksize":131072}}}` + "\n" +
				`{"event":"interval","data":{"sum":{"bits_per_second":1}}}` + "\n" +
				`{"event":"end","data":{"streams":[{"sender":{"mean_rtt":200,"min_rtt":100,"max_rtt":300}}],"sum_sent":{"seconds":1,"bits_per_second":9e9,"retransmits":7},"sum_received":{"seconds":1,"bytes":1,"bits_per_second":8e9}}}` + "\n",
			want: map[string]float64{"goodput": 8e9, "retransmits": 7, "rtt.mean": 200e-6, "rtt.min": 100e-6,
				"rtt.max": 300e-6},
		},
		{
			name: "iperf3 json stream that ends in an error", tool: "iperf3", reportedAs: "none",
			text: `{"event":"start","data":{"version":"iperf 3.18"}}` + "\n" + `{"event":"error","data":"unable to connect to server"}` + "\n" + `{"event":"end","data":{}}`,
			not:  []string{"goodput"}, fails: "unable to connect",
		},
		{
			name: "iperf3 no summary", tool: "iperf3", protocol: "tcp", reportedAs: "none",
			text: "Connecting to host 10.0.0.2, port 5201\n[  4] local 10.0.0.1 port 50000 connected to 10.0.0.2 port 5201\n[ ID] Interval           Transfer     Bandwidth\n[  4]   0.00-1.00   sec   120 MBytes   983 Mbits/sec\n",
			not:  []string{"goodput"}, fails: "no summary",
		},
		{
			name: "iperf3 sums alone, with those of the intervals", tool: "iperf3", reportedAs: "rate",
			text: "$ iperf3 -c 10.0.0.2 -P 4 | grep SUM\n[SUM]   0.00-1.00   sec  1.10 GBytes  9.45 Gbits/sec    0\n[SUM]   0.00-10.00  sec  11.0 GBytes  9.42 Gbits/sec  112             sender\n[SUM]   0.00-10.00  sec  11.0 GBytes  9.40 Gbits/sec                  receiver\n",
			want: map[string]float64{"goodput": 9.4e9, "retransmits": 112},
		},
		{
			name: "iperf3 json, the end alone", tool: "iperf3", reportedAs: "rate",
			text: `{"end":{"sum_sent":{"seconds":10,"bits_per_second":9.42e9,"retransmits":3},"sum_received":{"seconds":10,"bits_per_second":9.4e9}}}`,
			want: map[string]float64{"goodput": 9.4e9, "retransmits": 3},
		},
		{
			name: "iperf3 json, the sums alone", tool: "iperf3", reportedAs: "rate",
			text: `{"sum_sent":{"seconds":10,"bits_per_second":9.42e9,"retransmits":3},"sum_received":{"seconds":10,"bits_per_second":9.4e9}}`,
			want: map[string]float64{"goodput": 9.4e9, "retransmits": 3},
		},
		{
			name: "iperf3 json, the sum of UDP alone", tool: "iperf3", reportedAs: "rate",
			text: `{"sum":{"seconds":10,"bits_per_second":1e9,"jitter_ms":0.02,"lost_packets":10,"packets":100,"lost_percent":10}}`,
			want: map[string]float64{"goodput": 9e8, "loss": 0.1, "lost": 10, "sent": 100, "ipdv.mean": 2e-5},
		},
		{
			name: "ping windows english", tool: "ping", protocol: "icmp", bytes: 32, reportedAs: "rtt",
			text: "\r\nPinging host2 [10.0.0.2] with 32 bytes of data:\r\nReply from 10.0.0.2: bytes=32 time<1ms TTL=128\r\nReply from 10.0.0.2: bytes=32 time=3ms TTL=128\r\nRequest timed out.\r\n\r\n" +
				"Ping statistics for 10.0.0.2:\r\n    Packets: Sent = 3, Received = 2, Lost = 1 (33% loss),\r\nApproximate round trip times in milli-seconds:\r\n    Minimum = 0ms, Maximum = 3ms, Average = 1ms\r\n",
			want: map[string]float64{"sent": 3, "received": 2, "lost": 1, "loss": 0.33, "rtt.min": 0, "rtt.max": 3e-3,
				"rtt.mean": 1e-3},
		},
		{
			name: "ping windows german, code page 850", tool: "ping", protocol: "icmp", bytes: 32, reportedAs: "rtt",
			text: "Ping wird ausgef\x81hrt f\x81r 10.0.0.2 mit 32 Bytes Daten:\nAntwort von 10.0.0.2: Bytes=32 Zeit=2ms TTL=64\nAntwort von 10.0.0.2: Bytes=32 Zeit=4ms TTL=64\n\nPing-Statistik f\x81r 10.0.0.2:\n" +
				"    Pakete: Gesendet = 2, Empfangen = 2, Verloren = 0\n    (0% Verlust),\nCa. Zeitangaben in Millisek.:\n    Minimum = 2ms, Maximum = 4ms, Mittelwert = 3ms\n",
			want: map[string]float64{"sent": 2, "received": 2, "lost": 0, "loss": 0, "rtt.min": 2e-3, "rtt.max": 4e-3,
				"rtt.mean": 3e-3},
		},
		{
			name: "ping windows french", tool: "ping", protocol: "icmp", bytes: 32, reportedAs: "rtt",
			text: "Envoi d’une requête 'Ping'  10.0.0.2 avec 32 octets de données :\nRéponse de 10.0.0.2 : octets=32 temps=5 ms TTL=64\n\nStatistiques Ping pour 10.0.0.2:\n" +
				"    Paquets : envoyés = 1, reçus = 1, perdus = 0 (perte 0%),\nDurée approximative des boucles en millisecondes :\n    Minimum = 5ms, Maximum = 5ms, Moyenne = 5ms\n",
			want: map[string]float64{"sent": 1, "received": 1, "loss": 0, "rtt.mean": 5e-3},
		},
		{
			name: "ping windows chinese", tool: "ping", protocol: "icmp", bytes: 32, reportedAs: "rtt",
			text: "正在 Ping 10.0.0.2 具有 32 字节的数据:\n来自 10.0.0.2 的回复: 字节=32 时间=7ms TTL=64\n\n10.0.0.2 的 Ping 统计信息:\n    数据包: 已发送 = 1，已接收 = 1，丢失 = 0 (0% 丢失)，\n往返行程的估计时间(以毫秒为单位):\n    最短 = 7ms，最长 = 7ms，平均 = 7ms\n",
			want: map[string]float64{"sent": 1, "received": 1, "lost": 0, "loss": 0, "rtt.mean": 7e-3},
		},
		{
			name: "ping busybox", tool: "ping", protocol: "icmp", bytes: 56, reportedAs: "rtt",
			text: "PING 10.0.0.2 (10.0.0.2): 56 data bytes\n64 bytes from 10.0.0.2: seq=0 ttl=64 time=0.300 ms\n64 bytes from 10.0.0.2: seq=1 ttl=64 time=0.100 ms\n\n--- 10.0.0.2 ping statistics ---\n2 packets transmitted, 2 packets received, 0% packet loss\nround-trip min/avg/max = 0.100/0.200/0.300 ms\n",
			want: map[string]float64{"sent": 2, "received": 2, "loss": 0, "rtt.min": 1e-4, "rtt.mean": 2e-4,
				"rtt.max": 3e-4}, not: []string{"rtt.stddev", "rtt.p50"},
		},
		{
			name: "ping iputils with decimal commas", tool: "ping", protocol: "icmp", bytes: 56, reportedAs: "rtt",
			text: "PING 10.0.0.2 (10.0.0.2) 56(84) Bytes an Daten.\n64 Bytes von 10.0.0.2: icmp_seq=1 ttl=64 Zeit=0,035 ms\n\n--- 10.0.0.2 Ping-Statistik ---\n" +
				"3 Pakete übertragen, 1 empfangen, +1 Fehler, 66,6667% Paketverlust, Zeit 2003ms\nrtt min/avg/max/mdev = 0,035/0,036/0,037/0,001 ms\n",
			want: map[string]float64{"sent": 3, "received": 1, "loss": 0.666667, "rtt.min": 35e-6, "rtt.mean": 36e-6,
				"rtt.max": 37e-6, "rtt.stddev": 1e-6},
		},
		{
			name: "ping solaris", tool: "ping", protocol: "icmp", bytes: 56, reportedAs: "rtt",
			text: "PING host2: 56 data bytes\n64 bytes from host2 (10.0.0.2): icmp_seq=0. time=0.400 ms\n\n----host2 PING Statistics----\n1 packets transmitted, 1 packets received, 0% packet loss\nround-trip (ms)  min/avg/max/stddev = 0.400/0.400/0.400/0.000\n",
			want: map[string]float64{"sent": 1, "received": 1, "rtt.mean": 4e-4},
		},
		{
			name: "ping old iputils, statistics only", tool: "ping", protocol: "icmp", reportedAs: "rtt",
			text: "20 packets transmitted, 19 received, +2 duplicates, 5% packet loss, time 19235ms\nrtt min/avg/max/mdev = 0.718/0.969/2.137/0.299 ms, pipe 2, ipg/ewma 0.1/0.9 ms\n",
			want: map[string]float64{"sent": 20, "received": 19, "duplicates": 2, "loss": 0.05, "rtt.mean": 969e-6,
				"rtt.stddev": 299e-6},
		},
		{
			name: "ping cut off", tool: "ping", protocol: "icmp", bytes: 56, reportedAs: "none",
			text:  "PING 10.0.0.2 (10.0.0.2) 56(84) bytes of data.\n64 bytes from 10.0.0.2: icmp_seq=1 ttl=64 time=0.280 ms\n",
			fails: "no statistics", not: []string{"rtt.mean"},
		},
		{
			name: "ping nobody answers", tool: "ping", protocol: "icmp", bytes: 56, reportedAs: "none",
			text: "PING 10.0.0.9 (10.0.0.9) 56(84) bytes of data.\nFrom 10.0.0.1 icmp_seq=1 Destination Host Unreachable\n\n--- 10.0.0.9 ping statistics ---\n2 packets transmitted, 0 received, +2 errors, 100% packet loss, time 1011ms\npipe 2\n",
			want: map[string]float64{"sent": 2, "received": 0, "loss": 1}, not: []string{"rtt.mean"},
		},
		{
			name: "latte", tool: "latte", protocol: "udp", bytes: 4, reportedAs: "rtt",
			text: "C:\\tools>latte -c -a 10.0.0.2:8000 -i 65100 -udp -hist\nProtocol      UDP\nSendMethod    Blocking\nReceiveMethod Blocking\nSO_SNDBUF     Default\nSO_RCVBUF     Default\nMsgSize(byte) 4\nIterations    65100\nLatency(usec) 150.50\nCPU(%)        9.3\n" +
				"CtxSwitch/sec 13344    (2.01/iteration)\nSysCall/sec   13600    (2.05/iteration)\nInterrupt/sec 25003    (3.76/iteration)\n\nInterval(usec)     Frequency\n  0      0\n  1      3\n",
			want: map[string]float64{"rtt.mean": 150.5e-6},
		},
		{
			name: "latte without a latency", tool: "latte", protocol: "tcp", reportedAs: "none",
			text: "Protocol      TCP\nSendMethod    Blocking\nMsgSize(byte) 4\n", bytes: 4, fails: "no latency",
		},
		{
			name: "ntttcp windows text", tool: "ntttcp", protocol: "tcp", bytes: 65536, reportedAs: "rate",
			text: "C:\\tools>ntttcp -s -m 2,*,10.0.0.2 -t 10\nCopyright Version 5.39\nNetwork activity progressing...\n\n\nThread  Time(s) Throughput(KB/s) Avg B / Compl\n======  ======= ================ =============\n     0   10.001       512000.000     65536.000\n     1   10.001       512000.000     65536.000\n\n\n#####  Totals:  #####\n\n\n" +
				"   Bytes(MEG)    realtime(s) Avg Frame Size Throughput(MB/s)\n================ =========== ============== ================\n    10000.000000      10.000       1460.000         1000.000\n\n\n" +
				"Throughput(Buffers/s) Cycles/Byte       Buffers\n===================== =========== =============\n            16000.000       1.000    160000.000\n\n\n" +
				"Packets Sent Packets Received Retransmits Errors Avg. CPU %\n============ ================ =========== ====== ==========\n     7000000           400000         123      0     12.500\n",
			want: map[string]float64{"goodput": 1000 * 8 << 20, "retransmits": 123},
		},
		{
			name: "ntttcp linux text", tool: "ntttcp", reportedAs: "rate",
			text: "NTTTCP for Linux 1.4.0\n---------------------------------------------------------\n13:44:25 INFO: Network activity progressing...\n13:45:25 INFO:  Thread  Time(s) Throughput\n13:45:25 INFO:  ======  ======= ==========\n13:45:25 INFO:  0        60.00   1.83Gbps\n---------------------------------------------------------\n" +
				"13:45:25 INFO: #####  Totals:  #####\n13:45:25 INFO: test duration    :60.00 seconds\n13:45:25 INFO: total bytes      :282418471264\n13:45:25 INFO: \t throughput     :37.66Gbps\n13:45:25 INFO: total cpu time   :166.11%\n",
			want: map[string]float64{"goodput": 37.66e9},
		},
		{
			name: "ntttcp linux sender text, verbose", tool: "ntttcp", protocol: "tcp", reportedAs: "smoothed-rtt",
			text: "NTTTCP for Linux 1.4.0\n---------------------------------------------------------\n13:44:25 INFO: Network activity progressing...\n\x1b[2KReal-time throughput: 1.23Gbps\r13:45:25 INFO: \tThread\tTime(s)\tThroughput\n13:45:25 INFO: \t0\t 60.00\t 1.00Gbps\n13:45:25 INFO: 64 connections tested\n" +
				"13:45:25 INFO: #####  Totals:  #####\n13:45:25 INFO: test duration\t:60.00 seconds\n13:45:25 INFO: total bytes\t:7500000000\n13:45:25 INFO: \t throughput\t:1.00Gbps\n13:45:25 INFO: \t retrans segs\t:42\n13:45:25 INFO: cpu cores\t:2\n13:45:25 INFO: tcpi rtt\t\t:350 us\n",
			want: map[string]float64{"goodput": 1e9, "retransmits": 42, "rtt.mean": 350e-6},
		},
		{
			name: "ntttcp linux json", tool: "ntttcp", protocol: "tcp", reportedAs: "smoothed-rtt",
			text: `{ "ntttcps" : { "version" : "5.33-linux", "parameters" : { "udp" : "False" }, "realTime" : {"metric" : "s", "value" : "10.000000"},
 "throughputs" : [ {"metric" : "MB/s", "value" : "100.000"}, {"metric" : "mbps", "value" : "838.861"} ], "packetsRetransmitted" : "5", "tcpAverageRtt" : {"metric" : "us", "value" : "1250"} } }`,
			want: map[string]float64{"goodput": 838.861e6, "retransmits": 5, "rtt.mean": 1250e-6},
		},
		{
			name: "ntttcp xml cut off", tool: "ntttcp", reportedAs: "none", text: "<ntttcps computername=\"a\" version=\"5.33\">\n<throughput metric=\"mbps\">1</throughput>\n",
			fails: "cut off", not: []string{"goodput"},
		},
		{
			name: "ntttcp error", tool: "ntttcp", reportedAs: "none", text: "NTTTCP for Linux 1.4.0\n13:44:25 ERR : failed to connect to receiver\n", fails: "failed to connect",
		},
	}, importedSamples()...)
}

func metricKey(m result.Metric) string {
	key := m.Name
	if m.Stat != "" {
		key += "." + m.Stat
	}
	if m.Scope != "" {
		key += " (" + m.Scope + ")"
	}
	return key
}

func TestFormats(t *testing.T) {
	for _, s := range samples() {
		t.Run(s.name, func(t *testing.T) {
			found, err := Import([]byte(s.text), "")
			if err != nil {
				t.Fatal(err)
			}
			if len(found) != 1 {
				t.Fatalf("%d runs found, want 1: %+v", len(found), found)
			}
			m := found[0]
			if m.Tool.Name != s.tool || m.Protocol != s.protocol || m.MessageBytes != s.bytes ||
				m.ReportedAs != s.reportedAs {
				t.Errorf("tool %s, protocol %q, %d B, reported as %s; want %s, %q, %d B, %s", m.Tool.Name, m.Protocol,
					m.MessageBytes, m.ReportedAs, s.tool, s.protocol, s.bytes, s.reportedAs)
			}
			if s.fails == "" && m.Err != nil || s.fails != "" && (m.Err == nil ||
				!strings.Contains(m.Err.Error(), s.fails)) {
				t.Errorf("error %v, want %q", m.Err, s.fails)
			}
			got := map[string]float64{}
			for _, metric := range m.Metrics {
				got[metricKey(metric)] = metric.Value
			}
			for key, want := range s.want {
				if value, ok := got[key]; !ok || math.Abs(value-want) > 1e-6*math.Abs(want) {
					t.Errorf("%s = %v (there: %v), want %v", key, value, ok, want)
				}
			}
			for _, key := range s.not {
				if value, ok := got[key]; ok {
					t.Errorf("%s = %v is invented", key, value)
				}
			}
		})
	}
}

// TestTranscript reads a terminal session with several tools' runs between prompts and prose.
func TestTranscript(t *testing.T) {
	session := "We measured.\n\n## sockperf\n"
	var want []string
	for _, s := range samples() {
		if s.fails == "" {
			session += "root@host1:~# something else\n" + s.text + "\nSome words on this.\n"
			want = append(want, s.tool)
		}
	}
	found, err := Import([]byte(session), "")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, f := range found {
		if f.Err != nil {
			t.Errorf("%s: %v", f.Tool.Name, f.Err)
		}
		got[f.Tool.Name]++
	}
	for _, name := range want {
		got[name]--
	}
	for name, n := range got {
		if n != 0 {
			t.Errorf("%s: %+d runs more than there are", name, n)
		}
	}
}

func TestImportRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"": "empty", " \n": "empty",
		"Dear reader, we ran sockperf and netperf.\n$ netperf -H 10.0.0.2 -t TCP_RR\n": "no output of",
	} {
		if found, err := Import([]byte(text), ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v; want an error with %q", text, found, err, want)
		}
	}
	if _, err := Import([]byte("x"), "perf"); err == nil || !strings.Contains(err.Error(), "known are sockperf") {
		t.Errorf("unknown tool: %v", err)
	}
	// A tool that is named answers for what it cannot read.
	found, err := Import([]byte("nonsense"), "netperf")
	if err != nil || len(found) != 1 || found[0].Err == nil {
		t.Errorf("named tool: %v, %v", found, err)
	}
}
