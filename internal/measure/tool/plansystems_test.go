package tool

import (
	"strings"
	"testing"
	"time"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/onhost/host"
)

// What nearfar runs depends on the systems of both hosts.
func TestPlansOfEachSystem(t *testing.T) {
	second := time.Second
	rr := experiment.Workload{Name: "w1", Mode: "rr", Protocol: "tcp", Request: 64, Response: 64, Duration: 2 * second}
	udp := rr
	udp.Protocol = "udp"
	stream := experiment.Workload{Name: "w1", Mode: "stream", Protocol: "tcp", Duration: 2 * second, Connections: 1}
	wide := stream
	wide.Connections, wide.Message, wide.Warmup = 4, 8192, second
	ping := experiment.Workload{Name: "w1", Mode: "ping", Protocol: "icmp", Request: 56, Duration: 3 * second,
		Interval: second}
	ping6 := ping
	ping6.IP = 6
	stream6 := stream
	stream6.IP = 6
	load := rr
	load.Mode, load.OfferedRate, load.ReplyEvery = "load", 10000, 100
	counted := rr
	counted.Iterations = 65100
	messages := experiment.Workload{Name: "w1", Mode: "messages", Protocol: "tcp", Message: 1472, Duration: 2 * second}
	paced := messages
	paced.OfferedRate = 5000
	for _, c := range []struct {
		tool           Tool
		w              experiment.Workload
		client, server string
		wantServer     string
		wantClient     string
		ready          Ready
		expected       time.Duration
	}{
		{NewLatte(), rr, windows, windows, "latte -a 10.0.0.2:7777 -t 2 -m 64",
			"latte -c -a 10.0.0.2:7777 -t 2 -m 64", Ready{"tcp", 7777}, 2 * second},
		{NewLatte(), udp, windows, windows, "latte -a 10.0.0.2:7777 -t 2 -m 64 -udp",
			"latte -c -a 10.0.0.2:7777 -t 2 -m 64 -udp", Ready{"udp", 7777}, 2 * second},
		{NewLatte(), counted, windows, windows, "latte -a 10.0.0.2:7777 -i 65100 -m 64",
			"latte -c -a 10.0.0.2:7777 -i 65100 -m 64", Ready{"tcp", 7777}, 2 * second},
		{NewNtttcp(), stream, windows, windows, "ntttcp -r -m 1,*,10.0.0.2 -p 7777 -t 2 -cd 1 -ns",
			"ntttcp -s -m 1,*,10.0.0.2 -p 7777 -t 2 -cd 1 -ns", Ready{"tcp", 7777}, 3 * second},
		{NewNtttcp(), wide, linux, windows, "ntttcp -r -m 4,*,10.0.0.2 -p 7777 -t 2 -wu 1 -cd 1 -ns -l 8192",
			"ntttcp -s -m 4,*,10.0.0.2 -p 7777 -t 2 -W 1 -C 1 -N -b 8192", Ready{"tcp", 7780}, 4 * second},
		{NewNtttcp(), stream6, windows, linux, "ntttcp -r -m 1,*,fd00::2 -p 7777 -t 2 -C 1 -N -6",
			"ntttcp -s -m 1,*,fd00::2 -p 7777 -t 2 -cd 1 -ns -6", Ready{"tcp", 7777}, 3 * second},
		{NewPing(), ping, windows, linux, "", "ping -n 3 -l 56 -w 1000 -4 10.0.0.2", Ready{}, 3 * second},
		{NewPing(), ping6, windows, windows, "", "ping -n 3 -l 56 -w 1000 -6 fd00::2", Ready{}, 3 * second},
		{NewPing(), ping, linux, windows, "", "ping -n -c 3 -i 1 -s 56 -W 1 10.0.0.2", Ready{}, 3 * second},
		{NewSockperf(), load, linux, linux, "sockperf server -i 10.0.0.2 -p 7777 --tcp --uc-reuseaddr",
			"sockperf under-load -i 10.0.0.2 -p 7777 --tcp -m 64 -t 3 --full-rtt --mps=10000 --reply-every=100",
			Ready{"tcp", 7777}, 3 * second},
		{NewSockperf(), messages, linux, linux, "sockperf server -i 10.0.0.2 -p 7777 --tcp --uc-reuseaddr",
			"sockperf throughput -i 10.0.0.2 -p 7777 --tcp -m 1472 -t 2 --mps=max", Ready{"tcp", 7777}, 2 * second},
		{NewSockperf(), paced, linux, linux, "sockperf server -i 10.0.0.2 -p 7777 --tcp --uc-reuseaddr",
			"sockperf throughput -i 10.0.0.2 -p 7777 --tcp -m 1472 -t 2 --mps=5000", Ready{"tcp", 7777}, 2 * second},
	} {
		pair := at("10.0.0.2", "fd00::2")
		pair.Client.System, pair.Server.System = host.System{OS: c.client}, host.System{OS: c.server}
		plan, err := c.tool.Plan(c.w, pair)
		if err != nil {
			t.Errorf("%s: %v", c.wantClient, err)
			continue
		}
		server := ""
		if plan.Server != nil {
			server = strings.Join(plan.Server.Argv, " ")
		}
		client := strings.Join(plan.Client.Argv, " ")
		if server != c.wantServer || client != c.wantClient || plan.Ready != c.ready {
			t.Errorf("planned\n  %s\n  %s\n  %v\nwant\n  %s\n  %s\n  %v", server, client, plan.Ready, c.wantServer,
				c.wantClient, c.ready)
		}
		if plan.Expected < c.expected || plan.Expected > c.expected+second {
			t.Errorf("%s: expected to take %v, want about %v", client, plan.Expected, c.expected)
		}
	}
}

// The first port for measuring is the host's own.
func TestPlansOnOtherPorts(t *testing.T) {
	stream := experiment.Workload{Name: "w1", Mode: "stream", Protocol: "tcp", Duration: time.Second, Connections: 2}
	pair := at("10.0.0.2")
	pair.Server.Port = 20000
	plan, err := NewNtttcp().Plan(stream, pair)
	if err != nil || plan.Ready.Port != 20001 || !strings.Contains(strings.Join(plan.Client.Argv, " "), " -p 20000 ") {
		t.Errorf("%q, %v, %v", plan.Client.Argv, plan.Ready, err)
	}
}

// Windows' ping has one interval, and a smaller largest payload.
func TestWindowsPingRefuses(t *testing.T) {
	good := experiment.Workload{Name: "w1", Mode: "ping", Protocol: "icmp", Request: 56, Duration: 10 * time.Second,
		Interval: time.Second}
	pair := at("10.0.0.2")
	pair.Client.System.OS = windows
	often, large := good, good
	often.Interval, large.Request = 10*time.Millisecond, 65501
	for want, w := range map[string]experiment.Workload{
		"workload w1: ping of Windows sends one request each second: write interval: 1s": often,
		"workload w1: a request of 65501 bytes: ping of Windows takes at most 65500":     large,
	} {
		if _, err := NewPing().Plan(w, pair); errorText(err) != want {
			t.Errorf("%q, want %q", errorText(err), want)
		}
	}
	large.Request = 65500
	if _, err := NewPing().Plan(large, pair); err != nil {
		t.Error(err)
	}
}
