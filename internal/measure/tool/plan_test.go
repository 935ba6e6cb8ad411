package tool

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/onhost/host"
)

// at is a pair of hosts; the server has the addresses, at most one of each IP version.
func at(addresses ...string) host.Pair {
	var a host.Addresses
	for _, s := range addresses {
		if ip := netip.MustParseAddr(s); ip.Is4() {
			a.V4 = ip
		} else {
			a.V6 = ip
		}
	}
	return host.Pair{Client: host.Endpoint{Name: "client"}, Server: host.Endpoint{Name: "server", Bind: a, Dial: a}}
}

// qperfDigits are the options with which qperf prints all digits.
const qperfDigits = "--unify_units --use_bits_per_sec --precision 15 --wait_server 1 --verbose_more_stat --verbose_more_used"

func TestPlans(t *testing.T) {
	second := time.Second
	tests := []struct {
		tool           Tool
		w              experiment.Workload
		address        string
		server, client string
		ready          Ready
		expected       time.Duration
	}{
		{NewSockperf(), experiment.Workload{Mode: "rr", Protocol: "tcp", Request: 64, Response: 64,
			Duration: 2 * second}, "10.0.0.2",
			"sockperf server -i 10.0.0.2 -p 7777 --tcp --uc-reuseaddr", "sockperf ping-pong -i 10.0.0.2 -p 7777 --tcp -m 64 -t 3 --full-rtt", Ready{"tcp", 7777}, 3 * second},
		{NewSockperf(), experiment.Workload{Mode: "rr", Protocol: "udp", Request: 14, Response: 14, Duration: second},
			"fd00::2",
			"sockperf server -i fd00::2 -p 7777", "sockperf ping-pong -i fd00::2 -p 7777 -m 14 -t 2 --full-rtt", Ready{"udp", 7777}, 2 * second},
		{NewNetperf(), experiment.Workload{Mode: "rr", Protocol: "tcp", Request: 1024, Response: 512,
			Duration: 2 * second}, "10.0.0.2",
			"netserver -D -f -L 10.0.0.2,4 -p 7778 -Z REDACTED", "netperf -H 10.0.0.2,4 -p 7778 -Z REDACTED -t TCP_RR -l 2 -j -- -r 1024,512 -P ,7777 -k " + netperfSelectors, Ready{"tcp", 7778}, 2 * second},
		{NewNetperf(), experiment.Workload{Mode: "stream", Protocol: "tcp", Message: 4096, Duration: second}, "fd00::2",
			"netserver -D -f -L fd00::2,6 -p 7778 -Z REDACTED", "netperf -H fd00::2,6 -p 7778 -Z REDACTED -t TCP_STREAM -l 1 -j -- -m 4096 -P ,7777 -k " + netperfSelectors, Ready{"tcp", 7778}, second},
		{NewIperf3(), experiment.Workload{Mode: "stream", Protocol: "tcp", Duration: second, Warmup: second,
			Connections: 4}, "10.0.0.2",
			"iperf3 -s -1 -B 10.0.0.2 -p 7777", "iperf3 -J -c 10.0.0.2 -p 7777 -t 1 --connect-timeout 5000 -O 1 -P 4", Ready{"tcp", 7777}, 2 * second},
		{NewIperf3(), experiment.Workload{Mode: "stream", Protocol: "udp", Duration: second, Message: 1200, Rate: 1e8,
			Connections: 2}, "10.0.0.2",
			"iperf3 -s -1 -B 10.0.0.2 -p 7777", "iperf3 -J -c 10.0.0.2 -p 7777 -t 1 --connect-timeout 5000 -P 2 -l 1200 -u -b 50000000", Ready{"tcp", 7777}, second},
		{NewIperf3(), experiment.Workload{Mode: "stream", Protocol: "tcp", Duration: second,
			Socket: experiment.Socket{Congestion: "bbr"}}, "10.0.0.2",
			"iperf3 -s -1 -B 10.0.0.2 -p 7777", "iperf3 -J -c 10.0.0.2 -p 7777 -t 1 --connect-timeout 5000 -C bbr", Ready{"tcp", 7777}, second},
		{NewNetperf(), experiment.Workload{Mode: "rr", Protocol: "tcp", Request: 64, Response: 64, Duration: second,
			Socket: experiment.Socket{Congestion: "bbr"}}, "10.0.0.2",
			"netserver -D -f -L 10.0.0.2,4 -p 7778 -Z REDACTED", "netperf -H 10.0.0.2,4 -p 7778 -Z REDACTED -t TCP_RR -l 1 -j -- -r 64,64 -K bbr,bbr -P ,7777 -k " + netperfSelectors +
				",LOCAL_CONG_CONTROL,REMOTE_CONG_CONTROL", Ready{"tcp", 7778}, second},
		{NewQperf(), experiment.Workload{Mode: "rr", Protocol: "udp", Request: 64, Response: 64, Duration: second,
			IP: 6}, "fd00::2",
			"qperf --listen_port 7778", "qperf --listen_port 7778 --ip_port 7777 --time 1 --msg_size 64 " + qperfDigits + " fd00::2 udp_lat", Ready{"tcp", 7778}, second},
		{NewQperf(), experiment.Workload{Mode: "stream", Protocol: "tcp", Duration: second}, "10.0.0.2",
			"qperf --listen_port 7778", "qperf --listen_port 7778 --ip_port 7777 --time 1 " + qperfDigits + " 10.0.0.2 tcp_bw", Ready{"tcp", 7778}, second},
		{NewPing(), experiment.Workload{Mode: "ping", Protocol: "icmp", Request: 56, Duration: second,
			Interval: 10 * time.Millisecond}, "10.0.0.2",
			"", "ping -n -c 100 -i 0.01 -s 56 -W 1 10.0.0.2", Ready{}, second},
		{NewPing(), experiment.Workload{Mode: "ping", Protocol: "icmp", Request: 56, Duration: second,
			Interval: 10 * time.Millisecond, IP: 6}, "fd00::2",
			"", "ping -n -c 100 -i 0.01 -s 56 -W 1 -6 fd00::2", Ready{}, second},
		{NewIperf3(), experiment.Workload{Mode: "stream", Protocol: "tcp", Duration: second, IP: 6}, "fd00::2",
			"iperf3 -s -1 -B fd00::2 -p 7777", "iperf3 -J -c fd00::2 -p 7777 -t 1 --connect-timeout 5000 -6", Ready{"tcp", 7777}, second},
	}
	for _, test := range tests {
		plan, err := test.tool.Plan(test.w, at(test.address))
		if err != nil {
			t.Errorf("%s: %v", test.client, err)
			continue
		}
		server := ""
		if plan.Server != nil {
			server = plan.Redactor().Replace(strings.Join(plan.Server.Argv, " "))
		}
		client := plan.Redactor().Replace(strings.Join(plan.Client.Argv, " "))
		if server != test.server || client != test.client || plan.Ready != test.ready {
			t.Errorf("planned\n  %s\n  %s\n  %v\nwant\n  %s\n  %s\n  %v", server, client, plan.Ready, test.server, test.client, test.ready)
		}
		if plan.Expected < test.expected || plan.Expected > test.expected+second {
			t.Errorf("%s: expected to take %v, want about %v", test.client, plan.Expected, test.expected)
		}
	}
}

func TestPlansRefused(t *testing.T) {
	second := time.Second
	tests := []struct {
		tool Tool
		w    experiment.Workload
		want string
	}{
		{NewSockperf(), experiment.Workload{Mode: "stream", Protocol: "tcp", Duration: second},
			"sockperf does rr over tcp, rr over udp, load over tcp, load over udp, messages over tcp"},
		{NewSockperf(), experiment.Workload{Mode: "rr", Protocol: "tcp", Request: 64, Response: 65, Duration: second},
			"answers with as much as it received"},
		{NewSockperf(), experiment.Workload{Mode: "rr", Protocol: "udp", Request: 1, Response: 1, Duration: second},
			"request cannot be 1B: sockperf rr over udp takes 14B to 65507B"},
		{NewSockperf(), experiment.Workload{Mode: "rr", Protocol: "tcp", Request: 65508, Response: 65508,
			Duration: second}, "takes 14B to 65507B"},
		{NewNetperf(), experiment.Workload{Mode: "crr", Protocol: "udp", Request: 1, Response: 1, Duration: second},
			`netperf cannot do "crr" over "udp"`},
		{NewNetperf(), experiment.Workload{Mode: "rr", Protocol: "tcp", Duration: second}, "request cannot be 0B"},
		{NewNetperf(), experiment.Workload{Mode: "stream", Protocol: "tcp", Connections: 2, Duration: second},
			"takes no connections"},
		{NewIperf3(), experiment.Workload{Mode: "rr", Protocol: "tcp", Duration: second}, `iperf3 cannot do "rr"`},
		{NewIperf3(), experiment.Workload{Mode: "stream", Protocol: "icmp", Duration: second}, `over "icmp"`},
		{NewIperf3(), experiment.Workload{Mode: "stream", Protocol: "tcp", Connections: 129, Duration: second},
			"connections cannot be 129: write 1 to 128"},
		{NewIperf3(), experiment.Workload{Mode: "stream", Protocol: "udp", Message: 70000, Duration: second},
			"takes 16B to 65507B"},
		{NewIperf3(), experiment.Workload{Mode: "stream", Protocol: "tcp", Warmup: 2 * time.Minute, Duration: second},
			"warmup 2m is too long: at most 1m"},
		{NewSockperf(), experiment.Workload{Mode: "rr", Protocol: "tcp", Request: 64, Response: 64,
			Duration: second / 2}, "in steps of 1s"},
		{NewSockperf(), experiment.Workload{Mode: "rr", Protocol: "tcp", Request: 64, Response: 64, Duration: second,
			IP: 6}, "does not speak IPv6"},
		{NewPing(), experiment.Workload{Mode: "rr", Protocol: "tcp", Duration: second},
			`ping cannot do "rr" over "tcp"`},
		{NewPing(), experiment.Workload{Mode: "ping", Protocol: "icmp", Request: 56, Interval: time.Microsecond,
			Duration: second}, "interval 1us: ping counts in steps of 1ms"},
		{NewPing(), experiment.Workload{Mode: "ping", Protocol: "icmp", Request: 8, Duration: second},
			"request cannot be 8B: ping takes 16B to 65507B"},
		{NewPing(), experiment.Workload{Mode: "ping", Protocol: "icmp", Request: 56, Interval: time.Millisecond,
			Duration: time.Hour}, "makes 3600000 echo requests: at most 200000"},
	}
	for _, test := range tests {
		test.w.Name = "w1"
		_, err := test.tool.Plan(test.w, at("10.0.0.2"))
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "workload w1") {
			t.Errorf("%s %s: %v, want an error with %q", test.tool.Name(), test.w.Mode, err, test.want)
		}
	}
}

// Each tool that supports IPv6 uses the address of the requested version, and reports an error if the host has none.
func TestPlansOfEachIP(t *testing.T) {
	both := at("10.0.0.2", "fd00::2")
	transaction := experiment.Workload{Name: "w1", Mode: "rr", Protocol: "tcp", Request: 64, Response: 64,
		Duration: time.Second}
	stream := experiment.Workload{Name: "w1", Mode: "stream", Protocol: "tcp", Duration: time.Second}
	ping := experiment.Workload{Name: "w1", Mode: "ping", Protocol: "icmp", Request: 56,
		Interval: 10 * time.Millisecond, Duration: time.Second}
	for _, c := range []struct {
		tool Tool
		w    experiment.Workload
	}{{NewNative("x"), transaction}, {NewNetperf(), transaction}, {NewIperf3(), stream}, {NewPing(), ping}, {NewQperf(),
		transaction}} {
		for ip, want := range map[int]string{0: "10.0.0.2", 4: "10.0.0.2", 6: "fd00::2"} {
			c.w.IP = ip
			plan, err := c.tool.Plan(c.w, both)
			if err != nil {
				t.Errorf("%s over IPv%d: %v", c.tool.Name(), ip, err)
				continue
			}
			commands := []Command{plan.Client}
			if plan.Server != nil && c.tool.Name() != qperfName { // whose server listens on all addresses
				commands = append(commands, *plan.Server)
			}
			for _, command := range commands {
				if line := strings.Join(command.Argv, " "); !strings.Contains(line, want) {
					t.Errorf("%s over IPv%d: %s", c.tool.Name(), ip, line)
				}
			}
		}
		for ip, address := range map[int]string{4: "fd00::2", 6: "10.0.0.2"} {
			c.w.IP = ip
			want := fmt.Sprintf("workload w1: server has no IPv%d address", ip)
			if _, err := c.tool.Plan(c.w, at(address)); err == nil || err.Error() != want {
				t.Errorf("%s over IPv%d to %s: %v, want %s", c.tool.Name(), ip, address, err, want)
			}
		}
	}
}

func TestRegistry(t *testing.T) {
	r := New(Foreign()...)
	for _, name := range []string{"sockperf", "netperf", "iperf3", "ping", "qperf", "ntttcp", "latte", "fortio",
		"wrk"} {
		if got, ok := r.Lookup(name); !ok || got.Name() != name {
			t.Errorf("%s: %v, %v", name, got, ok)
		}
	}
	if _, ok := r.Lookup("telnet"); ok {
		t.Error("telnet measures nothing")
	}
	got := strings.Join(r.Names(), " ")
	if got != "sockperf netperf iperf3 ping qperf ntttcp latte command fortio wrk pgbench" {
		t.Errorf("names %s", got)
	}
}
