package allow

import (
	"net/netip"
	"regexp"
	"strings"
	"testing"

	"nearfar/internal/onhost/confine"
	"nearfar/internal/onhost/host"
)

func command(line string) host.Cmd { return host.Cmd{Argv: strings.Split(line, " ")} }

// Plans are tested against the policy in internal/measure/tool. The commands here are forms that a person would expect.
func TestAllowed(t *testing.T) {
	linux := New("linux")
	for _, line := range []string{
		"nearfar version",
		"nearfar absent sockperf iperf3",
		"nearfar reach serve 0.0.0.0 --sockets tcp/7777,udp/7777",
		"nearfar reach dial 10.0.0.2 --sockets tcp/7777",
		"nearfar facts", "nearfar facts --metadata --to 10.0.0.2", "nearfar facts --counters --to 10.0.0.2",
		"nearfar engine serve --listen [fd00::1]:7777 --data-port 7778 --secret-stdin --once",
		"nearfar engine load 10.0.0.2:7777 --secret-stdin --steps 0.5/s:1s,2e+06/s:1m30s",
		"nearfar confine --supported",
		"nearfar confine --ports 7777 -- sockperf server -i 0.0.0.0 -p 7777 --tcp",
		"nearfar confine -- sockperf throughput -i 10.0.0.2 -p 7777 -m 64 -t 3 --mps=max",
		"nearfar confine --peers 10.0.0.1/32,fd00::/64 --ports 12865,7777 --strict -- netserver -D -f -L ::,6 -p 12865 -Z X1",
		"nearfar confine --ports 5201 --scratch -- iperf3 -s -1 -B 10.0.0.2 -p 5201",
		"nearfar confine --ports 7777 -- latte -a 10.0.0.2:7777 -t 2 -m 64",
		"nearfar confine -- latte -c -a 10.0.0.2:7777 -t 2 -m 64 -udp",
		"nearfar confine -- latte -c -a 10.0.0.2:7777 -i 65100 -m 64",
		"ntttcp -?",
		"nearfar confine --ports 7777,7778 -- ntttcp -r -m 8,*,0.0.0.0 -p 7777 -t 2 -W 1 -C 1 -N -b 65536",
		"nearfar confine --congestion bbr -- ntttcp -s -m 8,*,10.0.0.2 -p 7777 -t 2 -C 1 -N",
		"ping -n -c 100 -i 0.01 -s 56 -W 1 -6 fd00::2",
		"nearfar engine web --listen 10.0.0.2:7777 --response 1024B",
		"fortio version", "wrk -v",
		"nearfar confine --ports 7777 -- fortio server -http-port 10.0.0.2:7777 -grpc-port disabled -tcp-port disabled " +
			"-udp-port disabled -redirect-port disabled -ui-path= -echo-debug-path= -loglevel Error",
		"nearfar confine -- fortio load -json - -t 2s -c 4 -qps 0 -keepalive=false http://[fd00::2]:7777/?size=1024",
		"nearfar confine -- wrk -t 1 -c 4 -d 2 --latency http://10.0.0.2:7777/",
	} {
		if err := linux.Check(command(line)); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	for _, line := range []string{
		"ping -n 100 -l 56 -w 1000 -4 10.0.0.2", "ntttcp -r -m 8,*,0.0.0.0 -p 7777 -t 2 -wu 1 -cd 1 -ns -l 65536",
	} {
		if err := New("windows").Check(command(line)); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// hostile are commands that would run programs, read or write files, look up names, or leave the agent's control.
func hostile() []string {
	return []string{
		"", " ", "sh -c id", "/bin/sh", "./sockperf server -i 10.0.0.2 -p 7777", "../nearfar version",
		"/usr/bin/iperf3 -s -1 -B 10.0.0.2 -p 5201", "cmd.exe /c dir", "powershell -c ls", "sockperf.exe server",
		"env sockperf server -i 10.0.0.2 -p 7777", "sudo sockperf server -i 10.0.0.2 -p 7777", "bash", "python3 -c 1",
		// clients of HTTP: other services, other files, programs, pages for people
		"nearfar confine -- fortio load -json /etc/x -t 2s -c 4 -qps 0 http://10.0.0.2:7777/?size=1",
		"nearfar confine -- fortio load -json - -t 2s -c 4 -qps 0 http://169.254.169.254/latest/meta-data",
		"nearfar confine -- fortio load -json - -t 2s -c 4 -qps 0 http://10.0.0.2:7777/latest/?size=1",
		"nearfar confine -- fortio load -json - -t 2s -c 4 -qps 0 http://name:7777/?size=1",
		"nearfar confine -- fortio curl http://10.0.0.2:7777/?size=1",
		"nearfar confine --ports 7777 -- fortio server -http-port 10.0.0.2:7777",
		"nearfar confine --ports 7777 -- fortio server -http-port 10.0.0.2:7777 -grpc-port disabled -tcp-port disabled " +
			"-udp-port disabled -redirect-port disabled -ui-path=/ -echo-debug-path=",
		"nearfar confine -- wrk -t 1 -c 4 -d 2 -s /tmp/x.lua http://10.0.0.2:7777/",
		"nearfar confine -- wrk -t 1 -c 4 -d 2 http://10.0.0.2:7777/admin",
		"nearfar confine -- wrk -t 1 -c 4 -d 2 https://10.0.0.2:7777/",
		"nearfar engine web --listen 10.0.0.2:7777",
		// nearfar itself
		"nearfar", "nearfar run x.yaml", "nearfar serve", "nearfar import -", "nearfar agent --listen 0.0.0.0:1",
		"nearfar report /etc", "nearfar engine", "nearfar engine samples /etc/passwd", "nearfar engine serve",
		"nearfar --help", "nearfar version --config x", "nearfar completion bash", "nearfar history postgres://x",
		"nearfar engine serve --listen 0.0.0.0:7777",                            // no secret
		"nearfar engine serve --listen host:7777 --secret-stdin",                // a name
		"nearfar engine serve --listen 10.0.0.1:7777 --secret-stdin --stall 1s", // not of a plan
		"nearfar reach", "nearfar reach serve 0.0.0.0", "nearfar reach dial 10.0.0.2",
		"nearfar reach dial --sockets tcp/1",
		"nearfar reach dial host --sockets tcp/7777", "nearfar reach dial 0.0.0.0 --sockets tcp/7777",
		"nearfar reach dial 10.0.0.2 --sockets tcp/0", "nearfar reach dial 10.0.0.2 --sockets sctp/1",
		"nearfar reach dial 10.0.0.2 --sockets tcp/1,", "nearfar reach serve 0.0.0.0 --sockets tcp/1 10.0.0.2",
		"nearfar reach other 10.0.0.2 --sockets tcp/1",
		"nearfar facts 10.0.0.2", "nearfar facts --to host", "nearfar facts --counters=x",
		"nearfar engine rr 10.0.0.2:7777 --secret-stdin --samples /tmp/x",
		"nearfar engine rr 10.0.0.2:7777 --secret-stdin --samples=/tmp/x",
		"nearfar engine rr 10.0.0.2:7777 --secret-stdin --histogram /tmp/x",
		"nearfar engine rr 10.0.0.2:7777 --secret-stdin --duration 9999h",
		"nearfar engine rr 10.0.0.2:7777 --secret-stdin --duration -1s",
		"nearfar engine rr 10.0.0.2:7777 --secret-stdin --request 64",
		"nearfar engine rr 10.0.0.2:7777 --secret-stdin --request -1B",
		"nearfar engine rr 10.0.0.2:7777 10.0.0.3:7777 --secret-stdin",
		"nearfar engine rr example.com:7777 --secret-stdin",
		"nearfar engine rr 10.0.0.2:0 --secret-stdin",
		"nearfar engine rr 10.0.0.2:7777",
		"nearfar engine load 10.0.0.2:7777 --secret-stdin --sweep 1/s..2/s",
		"nearfar engine load 10.0.0.2:7777 --secret-stdin --steps 1/s:1s;id",
		"nearfar engine rr --secret-stdin -- 10.0.0.2:7777",
		"nearfar absent", "nearfar absent --congestion ../x", "nearfar absent ../../etc/passwd", "nearfar absent /etc/passwd", `nearfar absent C:\x`,
		"nearfar absent -x", "nearfar wait-port tcp 7777", "nearfar agent-work --folder /tmp",
		// sockperf
		"sockperf", "sockperf --version --help", "sockperf playback -i 10.0.0.2 -p 1 -t 1 --data-file /etc/passwd",
		"sockperf server -i 10.0.0.2 -p 7777 -f /etc/passwd", "sockperf server -f /etc/passwd",
		"sockperf server -i 10.0.0.2 -p 7777 --load-vma=/tmp/evil.so",
		"sockperf server -i 10.0.0.2 -p 7777 --daemonize", "sockperf server -i 224.0.0.1 -p 7777",
		"sockperf server -i 10.0.0.2 -i 10.0.0.3 -p 7777", "sockperf server -i 10.0.0.2 -p 70000",
		"sockperf ping-pong -i 10.0.0.2 -p 7777 -t 3 --full-log /tmp/x",
		"sockperf ping-pong -i 10.0.0.2 -p 7777 -t 3 --full-log=/tmp/x",
		"sockperf ping-pong -i 10.0.0.2 -p 7777 -t 3 --full-l=/tmp/x", // an abbreviation
		"sockperf ping-pong -i 10.0.0.2 -p 7777 -t 3 -m 99999999", "sockperf ping-pong -i 10.0.0.2 -p 7777 -t -3",
		"sockperf ping-pong -i 10.0.0.2 -p 7777 -t 3 --mps=$(id)", "sockperf ping-pong -i 10.0.0.2 -p 7777 -t 99999999",
		"sockperf ping-pong -i localhost -p 7777 -t 3", "sockperf ping-pong -i fe80::1%eth0 -p 7777 -t 3",
		"sockperf ping-pong -i 255.255.255.255 -p 7777 -t 3", "sockperf ping-pong -i 10.0.0.2 -p",
		"sockperf ping-pong -i10.0.0.2 -p 7777 -t 3", "sockperf ping-pong -i 10.0.0.2 -p 7777 -t 3 extra",
		"sockperf throughput -i ::ffff:224.0.0.1 -p 7777 -t 3",
		// netperf
		"netperf", "netperf -H 10.0.0.2,4 -p 1 -t TCP_RR -l 1 -F /etc/passwd",
		"netperf -H 10.0.0.2,4 -p 1 -t TCP_RR -l 1 -j -- -k /etc/passwd",
		"netperf -H 10.0.0.2,4 -p 1 -t TCP_RR -l 1 -j -- -k file",
		"netperf -H 10.0.0.2,4 -p 1 -t TCP_RR -l 1 -o /tmp/x",
		"netperf -H 10.0.0.2,4 -p 1 -t TCP_RR -l 1 -- -o /tmp/x", "netperf -H 10.0.0.2,4 -p 1 -t TCP_SENDFILE -l 1",
		"netperf -H 10.0.0.2,4 -p 1 -t TCP_RR -l 1 -d", "netperf -H host,4 -p 1 -t TCP_RR -l 1",
		"netperf -H 10.0.0.2,4 -p 1 -t TCP_RR -l 1 -- -P 22,7777",
		"netperf -H 10.0.0.2,4 -p 1 -t TCP_RR -l 1 -- -- -r 1,1",
		"netperf -H 10.0.0.2,4 -p 1 -t TCP_RR -l 1 -- 10.0.0.2", "netperf -H 10.0.0.2,4 -p 1 -t TCP_RR -l 1 -W 1",
		"netperf -H 10.0.0.2,4 -p 1 -t TCP_RR -l 1 -- -r 1,1 -F /etc/passwd",
		"netserver -L 10.0.0.2,4 -p 12865", "netserver -f -L 10.0.0.2,4 -p 12865", // it would detach
		"netserver -D -L 10.0.0.2,4 -p 12865 -Z x -d", "netserver -D -L 10.0.0.2,4 -p 12865 -Z /x",
		// iperf3
		"iperf3", "iperf3 -s", "iperf3 -s -1 -B 10.0.0.2 -p 5201 -D", "iperf3 -s -1 -B 10.0.0.2 -p 5201 --daemon",
		"iperf3 -s -1 -B 10.0.0.2 -p 5201 -I /tmp/pid", "iperf3 -s -1 -B 10.0.0.2 -p 5201 --pidfile /tmp/pid",
		"iperf3 -s -1 -B 10.0.0.2 -p 5201 --logfile /tmp/x", "iperf3 -s -B 10.0.0.2 -p 5201",
		"iperf3 -s -1 -B 10.0.0.2 -p 5201 --authorized-users-path /etc/passwd",
		"iperf3 -s -1 -B 10.0.0.2 -p 5201 --auth /etc/passwd", "iperf3 -s -1 -B 10.0.0.2%eth0 -p 5201",
		"iperf3 -c 10.0.0.2 -p 5201 -t 1 -F /etc/passwd", "iperf3 -c 10.0.0.2 -p 5201 -t 1 --file /etc/passwd",
		"iperf3 -c 10.0.0.2 -p 5201 -t 1 -F/etc/passwd", "iperf3 -c 10.0.0.2 -p 5201 -t 1 --rsa-public-key-path /x",
		"iperf3 -c 10.0.0.2 -p 5201 -t 1 -T a", "iperf3 -c 10.0.0.2 -p 5201 -t 1 -P 100000",
		"iperf3 -c 10.0.0.2 -p 5201 -t 0", "iperf3 -c example.com -p 5201 -t 1",
		"iperf3 -c 10.0.0.2 -p 5201 -t 1 -C ../../x", "iperf3 -c 10.0.0.2 -p 5201 -t 1 -Jc 10.0.0.3",
		// latte and ntttcp
		"latte", "latte -a 10.0.0.2", "latte -c -a host:5005 -m 4 -t 1", "latte -c -a 10.0.0.2:5005 -m 4 -t 1 -hist x",
		"latte -c -a 10.0.0.2:5005 -m 4 -t 1 -dump /tmp/x", "ntttcp", "ntttcp -r -s -m 1,*,10.0.0.2 -p 1 -t 1",
		"ntttcp -r -m 1,*,10.0.0.2 -p 1 -t 1 -D", "ntttcp -r -m 1,*,10.0.0.2 -p 1 -t 1 -x /tmp/x",
		"ntttcp -r -m 1,*,10.0.0.2 -p 1 -t 1 -x/tmp/x", "ntttcp -r -m 1,*,10.0.0.2 -p 1 -t 1 -O /tmp/x",
		"ntttcp -r -m 1,*,10.0.0.2 -p 1 -t 1 -xml /tmp/x", "ntttcp -s -m 1,*,host -p 1 -t 1",
		"ntttcp -s -m 9999,*,10.0.0.2 -p 1 -t 1", "ntttcp -s -m 1,0,10.0.0.2 -p 1 -t 1",
		"ntttcp -s -m 1,*,10.0.0.2,x -p 1 -t 1", "ntttcp -s -m 1,*,10.0.0.2 -p 1 -t 1 -wu 1", "ntttcp -? -x",
		// ping
		"ping", "ping 10.0.0.2", "ping -c 1 -f 10.0.0.2", "ping -c 1 -i 0 10.0.0.2", "ping -c 1 -b 10.255.255.255",
		"ping -c 1 example.com", "ping -c 1 -R 10.0.0.2", "ping -c 1 -I eth0 10.0.0.2", "ping -c 1 10.0.0.2 10.0.0.3",
		"ping -c 1 -i NaN 10.0.0.2", "ping -c 1 -i 1e-9 10.0.0.2", "ping -c 99999999 10.0.0.2",
		"ping -c 1 -p ff 10.0.0.2",
		// qperf
		"qperf", "qperf --listen_port 19765 --daemon", "qperf --listen_port 19765 10.0.0.2 tcp_lat",
		"qperf --listen_port 19765 --time 1 10.0.0.2 quit", "qperf --listen_port 19765 --time 1 10.0.0.2 conf",
		"qperf --listen_port 19765 --time 1 example.com tcp_lat", "qperf --listen_port 19765 --time 1 10.0.0.2",
		"qperf --listen_port 19765 --time 1 --host_file /etc/passwd 10.0.0.2 tcp_lat",
		"qperf --listen_port 19765 --time 1 --loop msg_size:1:2 10.0.0.2 tcp_lat",
	}
}

// unconfined are commands that would keep more rights than they need, or find another way to keep them.
func unconfined() []string {
	return []string{
		"sockperf server -i 0.0.0.0 -p 7777", "sockperf ping-pong -i 10.0.0.2 -p 7777 -t 3",
		"nearfar confine -- sockperf server -i 0.0.0.0 -p 7777", "iperf3 -s -1 -B 10.0.0.2 -p 5201",
		"netserver -D -f -L 10.0.0.2,4 -p 12865 -Z x",
		"nearfar confine --ports 12865 -- netserver -D -f -L 10.0.0.2,4 -p 12865 -Z x",     // it reads files
		"nearfar confine --ports 12865 --strict -- netserver -D -f -L 10.0.0.2,4 -p 12865", // for everybody
		"nearfar confine", "nearfar confine --", "nearfar confine -- sh", "nearfar confine --strict -- sh -c id",
		"nearfar confine -- nearfar version", "nearfar confine -- nearfar confine -- sh", "nearfar confine --supported x",
		"nearfar confine --ports 0 -- sockperf server -i 0.0.0.0 -p 7777", "nearfar confine-sockets",
		"nearfar confine --peers host --ports 7777 -- sockperf server -i 0.0.0.0 -p 7777",
		"nearfar confine --within 0.0.0.0/0 --ports 7777 -- sockperf server -i 0.0.0.0 -p 7777",
		"nearfar confine --ports 7777 -- -- sockperf server -i 0.0.0.0 -p 7777",
	}
}

func TestHostile(t *testing.T) {
	linux := New("linux")
	all := append(hostile(), unconfined()...)
	for _, line := range hostile() {
		if !strings.HasPrefix(line, "nearfar") {
			all = append(all, "nearfar confine --strict --ports 7777 -- "+line)
		}
	}
	for _, line := range all {
		if err := linux.Check(command(line)); err == nil {
			t.Errorf("%q is allowed", line)
		} else if !strings.HasPrefix(err.Error(), "the agent refuses ") {
			t.Errorf("%q: %v", line, err)
		}
	}
}

func TestHostileWords(t *testing.T) {
	linux := New("linux")
	good := "nearfar confine --ports 7777 -- sockperf server -i 10.0.0.2 -p 7777"
	if err := linux.Check(command(good)); err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]host.Cmd{
		"a library to load":  {Argv: command(good).Argv, Env: []string{"LD_PRELOAD=/tmp/evil.so"}},
		"another path":       {Argv: command(good).Argv, Env: []string{"PATH=/tmp"}},
		"another setting":    {Argv: command(good).Argv, Env: []string{"GODEBUG=asyncpreemptoff=1,x509sha1=1"}},
		"a variable of none": {Argv: command(good).Argv, Env: []string{"="}},
		"much input":         {Argv: command(good).Argv, Stdin: make([]byte, maxStdin+1)},
		"many words":         {Argv: strings.Fields("nearfar " + strings.Repeat("absent ", 3000))},
		"a line break":       {Argv: []string{"nearfar", "absent", "a\nb"}},
		"a zero byte":        {Argv: []string{"nearfar", "absent", "a\x00b"}},
		"no UTF-8":           {Argv: []string{"nearfar", "absent", "a\xffb"}},
		"an empty word":      {Argv: []string{"nearfar", "absent", ""}},
		"no words":           {},
	} {
		if err := linux.Check(c); err == nil {
			t.Errorf("%s: allowed", what)
		}
	}
}

// Windows' ping and Linux' have options of the same names with other meanings.
func TestPingOfEachSystem(t *testing.T) {
	for system, line := range map[string]string{
		"windows": "ping -n -c 100 10.0.0.2", "linux": "ping -n 100 -l 56 10.0.0.2",
	} {
		if err := New(system).Check(command(line)); err == nil {
			t.Errorf("%s: %q is allowed", system, line)
		}
	}
}

func TestPeers(t *testing.T) {
	p := New("linux", netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("fd00::/64"))
	for line, allowed := range map[string]bool{
		"ping -c 1 10.1.2.3":                                            true,
		"ping -c 1 10.2.0.1":                                            false,
		"ping -c 1 ::ffff:10.1.2.3":                                     true,
		"ping -c 1 ::ffff:10.2.2.3":                                     false,
		"nearfar engine rr [fd00::1]:7777 --secret-stdin":               true,
		"nearfar engine rr [fd00:0:0:1::1]:7777 --secret-stdin":         false,
		"netperf -H 192.0.2.1,4 -p 1 -t TCP_RR -l 1":                    false,
		"iperf3 -c 192.0.2.1 -p 1 -t 1":                                 false,
		"sockperf ping-pong -i 192.0.2.1 -p 1 -t 1":                     false,
		"qperf --listen_port 1 --time 1 192.0.2.1 tcp_lat":              false,
		"nearfar engine serve --listen 192.0.2.1:7777 --secret-stdin":   true, // an address of this host
		"nearfar engine messages 192.0.2.1:7777 --secret-stdin -f json": false,
	} {
		c := command(line)
		if !strings.HasPrefix(line, "nearfar") && !strings.HasPrefix(line, "ping") {
			c = command("nearfar confine -- " + line)
		}
		err := p.Check(c)
		if (err == nil) != allowed {
			t.Errorf("%s: %v", line, err)
		}
		if err != nil && !strings.Contains(err.Error(), "may measure to") {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// The agent's own peers limit every server that it starts, whatever the command says of peers.
func TestServersArePeersAlone(t *testing.T) {
	p := New("linux", netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("fd00::/64"))
	const within = " --within 10.1.0.0/16,fd00::/64"
	for line, want := range map[string]string{
		"nearfar confine --ports 7777 -- sockperf server -i 0.0.0.0 -p 7777": "nearfar confine" + within +
			" --ports 7777 -- sockperf server -i 0.0.0.0 -p 7777",
		"nearfar engine serve --listen 0.0.0.0:7777 --secret-stdin": "nearfar engine serve" + within +
			" --listen 0.0.0.0:7777 --secret-stdin",
		"nearfar reach serve 0.0.0.0 --sockets tcp/7777": "nearfar reach serve" + within + " 0.0.0.0 --sockets tcp/7777",
		"nearfar version": "nearfar version",
	} {
		c := command(line)
		if err := p.Limit(&c); err != nil || strings.Join(c.Argv, " ") != want {
			t.Errorf("%s: %q, %v", line, strings.Join(c.Argv, " "), err)
		}
		c = command(line)
		if err := New("linux").Limit(&c); err != nil || strings.Join(c.Argv, " ") != line {
			t.Errorf("%s, without peers: %q, %v", line, strings.Join(c.Argv, " "), err)
		}
	}
}

// FuzzCheck tries whether any accepted command holds a word that could name a file, or a control character.
// slashes are those that are no part of a path: of a rate, and of the protocol of a port.
var slashes = regexp.MustCompile(`[0-9]/s\b|\b(tcp|udp)/[0-9]`)

func FuzzCheck(f *testing.F) {
	linux := New("linux")
	for _, line := range append(hostile(), unconfined()...) {
		f.Add(line)
	}
	f.Add("nearfar engine serve --listen 10.0.0.1:7777 --secret-stdin --once")
	f.Add("nearfar reach dial 10.0.0.2 --sockets tcp/7777,udp/7778") // the one list with slashes
	f.Add("netperf -H 10.0.0.2,4 -p 12865 -t TCP_RR -l 2 -j -- -r 1024,512 -P ,12866 -k THROUGHPUT")
	f.Fuzz(func(t *testing.T, line string) {
		c := command(line)
		if linux.Check(c) != nil {
			return
		}
		for i, word := range c.Argv {
			if _, err := confine.ParsePrefixes(word); err == nil && i > 0 && c.Argv[i-1] == "--peers" {
				continue
			}
			word = strings.Replace(word, ",*,", ",,", 1) // of ntttcp's -m
			word = slashes.ReplaceAllString(word, "")
			if strings.ContainsAny(word, "\\\x00\n\r$`;|&<>~*'\"/") {
				t.Errorf("%q is allowed", line)
			}
		}
	})
}
