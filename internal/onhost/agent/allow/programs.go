package allow

import "nearfar/internal/onhost/host"

// The limits of sizes and counts. They are the widest of all tools: each tool checks its own.
const (
	maxMessage  = 16 << 20 // bytes
	maxBuffer   = 1 << 30  // bytes
	maxStreams  = 1024
	maxRate     = 1_000_000_000
	maxDatagram = 65507 // bytes
	maxSockets  = 512
)

// programs are the uses of all programs. A plan that uses an option that is not here fails on such a host, and
// internal/measure/tool's TestAgentsRunEveryPlan fails with it.
func programs(system string) map[string][]form {
	programs := map[string][]form{
		host.Self:   append(engineForms(), selfForms()...),
		"sockperf":  sockperfForms(),
		"netperf":   netperfForms(),
		"netserver": netserverForms(),
		"iperf3":    iperf3Forms(),
		"ping":      pingForms(),
		"qperf":     qperfForms(),
		"latte":     latteForms(),
		"fortio":    fortioForms(),
		"wrk":       wrkForms(),
		"ntttcp":    ntttcpForms(system == "windows"),
	}
	if system == "windows" {
		programs["ping"] = windowsPingForms()
	}
	return programs
}

// selfForms are nearfar's verbs, except those of the engine.
func selfForms() []form {
	return []form{
		{words: []string{"version"}},
		{words: []string{"confine", "--supported"}},
		{words: []string{"absent"}, operands: []check{plainWord(64)}, repeated: true},
		{words: []string{"absent"}, options: map[string]check{"--congestion": congestion()},
			required: []string{"--congestion"}},
		{words: []string{"reach", "serve"}, options: map[string]check{"--sockets": sockets()},
			required: []string{"--sockets"}, operands: []check{bindAddress}},
		{words: []string{"reach", "dial"}, options: map[string]check{"--sockets": sockets()},
			required: []string{"--sockets"}, operands: []check{peer}},
		{words: []string{"facts"}, options: map[string]check{"--to": peer, "--metadata": nil, "--counters": nil}},
	}
}

// engineForms are the engine's modes. Its samples and histograms are files, so they are not here.
func engineForms() []form {
	forms := []form{{
		words: []string{"engine", "serve"},
		options: map[string]check{
			"--listen": withPort(bindAddress), "--data-port": number(0, 65535), "--secret-stdin": nil, "--once": nil,
			"--idle-timeout": duration(), "--moving-clients": nil,
		},
		required: []string{"--listen", "--secret-stdin"},
	}}
	size, rate := bytes(0, maxMessage), `[0-9.]{1,20}(?:e\+?[0-9]{1,2})?/s`
	for _, mode := range []string{"rr", "crr", "stream", "load", "messages"} {
		forms = append(forms, form{
			words: []string{"engine", mode},
			options: map[string]check{
				"-f": oneOf("json"), "--secret-stdin": nil, "--duration": duration(), "--warmup": duration(),
				"--interval": duration(), "--protocol": oneOf("tcp", "udp"), "--connections": number(1, maxStreams),
				"--request": size, "--response": size, "--message": size, "--batch": number(1, 1024),
				"--rate":  anyOf(oneOf("max"), pattern(rate, "a rate, such as 1000/s")),
				"--steps": list(",", 100, pattern(rate+`:[0-9.hmsuµn]{2,30}`, "steps, such as 1000/s:1s")),
				"--seed":  number(0, 1<<62), "--arrivals": oneOf("constant", "poisson"),
				"--direction": oneOf("upload", "download", "both"), "--zerocopy": nil, "--timestamps": nil,
				"--wait": oneOf("block", "busy-poll", "epoll", "spin"), "--loop": oneOf("go", "assembly"),
				"--congestion": congestion(), "--nodelay=": oneOf("true", "false"), "--dscp": number(0, 63),
				"--send-buffer": bytes(0, maxBuffer), "--receive-buffer": bytes(0, maxBuffer),
			},
			required: []string{"--secret-stdin"},
			operands: []check{withPort(peer)},
		})
	}
	// A URL would make this host ask whatever service it reaches, so that --to is not here.
	return append(forms, form{
		words:    []string{"engine", "web"},
		options:  map[string]check{"--listen": withPort(bindAddress), "--response": size},
		required: []string{"--listen", "--response"},
	}, form{
		words: []string{"engine", "http"},
		options: map[string]check{
			"-f": oneOf("json"), "--secret-stdin": nil, "--duration": duration(), "--warmup": duration(),
			"--request": size, "--response": size, "--http": oneOf("1.1", "2"), "--tls": nil, "--per-request": nil,
			"--concurrency": number(1, maxStreams), "--rate": pattern(rate, "a rate, such as 1000/s"),
			"--arrivals": oneOf("constant", "poisson"), "--seed": number(0, 1<<62),
		},
		required: []string{"--secret-stdin"},
		operands: []check{withPort(peer)},
	})
}

func sockperfForms() []form {
	forms := []form{
		{options: map[string]check{"--version": nil}, required: []string{"--version"}},
		{
			words: []string{"server"}, needs: asServer,
			options:  map[string]check{"-i": bindAddress, "-p": port(), "--tcp": nil, "--uc-reuseaddr": nil},
			required: []string{"-i", "-p"},
		},
	}
	rate := anyOf(oneOf("max"), number(1, maxRate))
	for _, mode := range []string{"ping-pong", "throughput", "under-load"} {
		forms = append(forms, form{
			words: []string{mode}, needs: asClient,
			options: map[string]check{
				"-i": peer, "-p": port(), "--tcp": nil, "-m": number(12, maxDatagram), "-t": seconds(),
				"--full-rtt": nil, "--mps=": rate, "--reply-every=": number(1, maxRate),
			},
			required: []string{"-i", "-p", "-t"},
		})
	}
	return forms
}

// netperfForms have netperf's -k only with names in capitals, because netperf takes other values for files.
func netperfForms() []form {
	size := number(1, maxMessage)
	return []form{
		{options: map[string]check{"-V": nil}, required: []string{"-V"}},
		{
			options: map[string]check{
				"-H": several(",", peer, oneOf("4", "6")), "-p": port(), "-l": seconds(), "-j": nil,
				"-Z": plainWord(64),
				"-t": oneOf("TCP_RR", "UDP_RR", "TCP_CRR", "TCP_STREAM"),
			},
			after: map[string]check{
				"-r": several(",", size, size), "-m": size, "-P": several(",", nil, port()),
				"-K": several(",", congestion(), congestion()),
				"-k": pattern(`[A-Z][A-Z0-9_]*(?:,[A-Z][A-Z0-9_]*)*`, "names of netperf's values"),
			},
			required: []string{"-H", "-p", "-t", "-l"}, needs: asClient,
		},
	}
}

// netserverForms require -D: without it, netserver detaches from the agent. Without a passphrase (-Z), whoever reaches
// it can tell it what to do.
func netserverForms() []form {
	return []form{{
		options: map[string]check{
			"-D": nil, "-f": nil, "-L": several(",", bindAddress, oneOf("4", "6")), "-p": port(),
			"-Z": plainWord(64),
		},
		required: []string{"-D", "-L", "-p", "-Z"}, needs: asFileServer,
	}}
}

// iperf3Forms require -1 of a server: it ends after one client.
func iperf3Forms() []form {
	return []form{
		{options: map[string]check{"--version": nil}, required: []string{"--version"}},
		{options: map[string]check{"-s": nil, "-1": nil, "-B": bindAddress, "-p": port()},
			required: []string{"-s", "-1", "-B", "-p"}, needs: asServer},
		{
			options: map[string]check{
				"-c": peer, "-p": port(), "-J": nil, "-t": seconds(), "-O": number(1, 60), "-P": number(1, 128),
				"-l": number(1, 1<<20), "-C": congestion(), "-u": nil, "-b": number(1, 1<<60), "-6": nil,
				"--connect-timeout": number(1, 60_000),
			},
			required: []string{"-c", "-p", "-t"}, needs: asClient,
		},
	}
}

func pingForms() []form {
	return []form{
		{options: map[string]check{"-V": nil}, required: []string{"-V"}},
		{
			options: map[string]check{
				"-n": nil, "-c": number(1, 200_000), "-i": fraction(0.001, 60), "-s": number(0, maxDatagram),
				"-W": fraction(0, 60), "-4": nil, "-6": nil,
			},
			required: []string{"-c"},
			operands: []check{peer},
		},
	}
}

// windowsPingForms are Windows' ping, where -n is the count, -l the size, and -w a time in ms.
func windowsPingForms() []form {
	return []form{{
		options: map[string]check{
			"-n": number(1, 200_000), "-l": number(0, 65500), "-w": number(1, 60_000), "-4": nil, "-6": nil,
		},
		required: []string{"-n"},
		operands: []check{peer},
	}}
}

func qperfForms() []form {
	return []form{
		{options: map[string]check{"--version": nil}, required: []string{"--version"}},
		{
			options: map[string]check{
				"--listen_port": port(), "--ip_port": port(), "--time": seconds(), "--msg_size": number(1, maxMessage),
				"--unify_units": nil, "--use_bits_per_sec": nil, "--precision": number(1, 20),
				"--wait_server": number(0, 60), "--verbose_more_stat": nil, "--verbose_more_used": nil,
			},
			required: []string{"--time", "--listen_port"}, needs: asClient,
			operands: []check{peer, oneOf("tcp_lat", "udp_lat", "tcp_bw", "udp_bw")},
		},
		{options: map[string]check{"--listen_port": port()}, required: []string{"--listen_port"}, needs: asServer},
	}
}

func latteForms() []form {
	options := func(address check) map[string]check {
		return map[string]check{
			"-c": nil, "-a": withPort(address), "-t": seconds(), "-i": number(1, maxRate), "-m": number(1, 1<<20),
			"-udp": nil,
		}
	}
	return []form{
		{options: options(peer), required: []string{"-c", "-a", "-m"}, needs: asClient},
		{options: options(bindAddress), required: []string{"-a", "-m"}, needs: asServer},
	}
}

// fortioForms leave fortio's server nothing but its echo: its pages let whoever reaches them send requests from its
// host, and its debugging page shows its environment. The client prints its results, and stores none.
func fortioForms() []form {
	no := oneOf("disabled")
	return []form{
		{words: []string{"version"}},
		{
			words: []string{"server"}, needs: asServer,
			options: map[string]check{
				"-http-port": withPort(bindAddress), "-grpc-port": no, "-tcp-port": no, "-udp-port": no,
				"-redirect-port": no, "-ui-path=": oneOf(""), "-echo-debug-path=": oneOf(""), "-loglevel": oneOf("Error"),
			},
			required: []string{"-http-port", "-grpc-port", "-tcp-port", "-udp-port", "-redirect-port", "-ui-path=",
				"-echo-debug-path="},
		},
		{
			words: []string{"load"}, needs: asClient,
			options: map[string]check{
				"-json": oneOf("-"), "-quiet": nil, "-loglevel": oneOf("Error"), "-r": fraction(1e-9, 1),
				"-p": list(",", 10, fraction(0, 100)), "-t": duration(), "-c": number(1, maxStreams),
				"-qps": fraction(0, maxRate), "-uniform": nil, "-payload-size": number(1, maxMessage),
				"-keepalive=": oneOf("false"),
			},
			required: []string{"-json", "-t", "-c", "-qps"},
			operands: []check{atServer(`/\?size=[0-9]{1,9}`)},
		},
	}
}

// wrkForms have wrk without its scripts, which are programs.
func wrkForms() []form {
	return []form{
		{options: map[string]check{"-v": nil}, required: []string{"-v"}},
		{
			options: map[string]check{
				"-t": number(1, 128), "-c": number(1, maxStreams), "-d": seconds(), "--latency": nil,
				"--timeout": seconds(), "-H": oneOf("Connection: close"),
			},
			required: []string{"-t", "-c", "-d"}, needs: asClient,
			operands: []check{atServer("/")},
		},
	}
}

// ntttcpForms are the forms of ntttcp for Windows or for Linux, which have different names for the same options. The
// receiver (-r) gets its own address, the sender (-s) the receiver's.
func ntttcpForms(windows bool) []form {
	forms := []form{{options: map[string]check{"-?": nil}, required: []string{"-?"}}}
	for role, address := range map[string]check{"-r": bindAddress, "-s": peer} {
		needed := asClient
		if role == "-r" {
			needed = asServer
		}
		options := map[string]check{
			role: nil, "-m": several(",", number(1, 128), oneOf("*"), address), "-p": port(), "-t": seconds(),
			"-6": nil,
		}
		warmup, cooldown, alone, size := "-W", "-C", "-N", "-b"
		if windows {
			warmup, cooldown, alone, size = "-wu", "-cd", "-ns", "-l"
		}
		options[warmup], options[cooldown], options[alone] = seconds(), seconds(), nil
		options[size] = number(1, maxMessage)
		forms = append(forms, form{options: options, required: []string{role, "-m", "-p", "-t"}, needs: needed})
	}
	return forms
}
