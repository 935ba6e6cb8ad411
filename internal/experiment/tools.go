package experiment

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// limits bound a size in bytes. The zero value says that the capability takes no such size.
type limits struct{ min, max int }

// The greatest message sizes, in bytes.
const (
	maxMessage  = 16 << 20
	maxDatagram = 65507 // the payload of a UDP datagram over IPv4: 65535 less 20 of IP and 8 of UDP
)

// maxLoadConnections is how many connections a load has at most: as many as a session of the engine.
const maxLoadConnections = 1024

// capability is something that a tool can measure, and the parameters that mean something there.
type capability struct {
	tool, mode, protocol       string
	request, response, message limits
	// sameResponse: the reply is as long as the request.
	sameResponse bool
	// noAmplify: the reply is at most as long as the request.
	noAmplify bool
	// connections is the greatest number side by side; 0 where there is always one.
	connections int
	rate        bool
	interval    bool
	// engine: the sockets can be used as Socket says.
	engine bool
	// congestion: the connections can have another congestion control than the host's, and the tool says which they
	// had. (netperf can set that of crr too, and does not say.)
	congestion bool
	// onlyIPv4: it does not speak IPv6.
	onlyIPv4 bool
	// warmup is what is usual, and maxWarmup the longest; 0 where there is none.
	warmup, maxWarmup time.Duration
	// step is what durations must be a multiple of.
	step time.Duration
}

// capabilities lists what the tools can do. The first line of a tool is its default.
//
// Limits are the tools' own: sockperf 3.7 (messages of 14 to 65507 bytes, IPv4 alone), iperf3 3.12 (blocks of up to 1 MiB, UDP of
// 16 bytes or more, 128 streams, 60 s of warm-up), iputils ping (16 bytes hold the time stamp). The engine's UDP header takes 32 bytes,
// and it never answers with more than it received.
func capabilities() []capability {
	widest := limits{1, maxMessage}
	const ms, s = time.Millisecond, time.Second
	const usual, omit = 500 * ms, 60 * s
	datagram := limits{32, maxDatagram}
	return []capability{
		{tool: "native", mode: RR, protocol: TCP, request: widest, response: widest, engine: true,
			warmup: usual, maxWarmup: maxWarmup, step: ms},
		{tool: "native", mode: RR, protocol: UDP, request: datagram, response: datagram, noAmplify: true, engine: true,
			warmup: usual, maxWarmup: maxWarmup, step: ms},
		{tool: "native", mode: CRR, protocol: TCP, request: widest, response: widest, engine: true,
			warmup: usual, maxWarmup: maxWarmup, step: ms},
		{tool: "native", mode: Stream, protocol: TCP, message: widest, connections: 128, engine: true,
			warmup: usual, maxWarmup: maxWarmup, step: ms},
		{tool: "native", mode: Load, protocol: TCP, request: widest, response: widest, connections: maxLoadConnections, engine: true,
			warmup: usual, maxWarmup: maxWarmup, step: ms},
		{tool: "native", mode: Load, protocol: UDP, request: datagram, response: datagram, noAmplify: true, connections: maxLoadConnections,
			engine: true, warmup: usual, maxWarmup: maxWarmup, step: ms},
		{tool: "native", mode: Messages, protocol: UDP, message: datagram, engine: true,
			warmup: usual, maxWarmup: maxWarmup, step: ms},
		{tool: "native", mode: Messages, protocol: TCP, message: widest, engine: true,
			warmup: usual, maxWarmup: maxWarmup, step: ms},
		{tool: "sockperf", mode: RR, protocol: TCP, request: limits{14, maxDatagram}, response: limits{14, maxDatagram},
			sameResponse: true, onlyIPv4: true, step: s},
		{tool: "sockperf", mode: RR, protocol: UDP, request: limits{14, maxDatagram}, response: limits{14, maxDatagram},
			sameResponse: true, onlyIPv4: true, step: s},
		{tool: "netperf", mode: RR, protocol: TCP, request: widest, response: widest, congestion: true, step: s},
		{tool: "netperf", mode: RR, protocol: UDP, request: limits{1, maxDatagram}, response: limits{1, maxDatagram}, step: s},
		{tool: "netperf", mode: CRR, protocol: TCP, request: widest, response: widest, step: s},
		{tool: "netperf", mode: Stream, protocol: TCP, message: widest, congestion: true, step: s},
		{tool: "iperf3", mode: Stream, protocol: TCP, message: limits{1, 1 << 20}, connections: 128, congestion: true,
			maxWarmup: omit, step: s},
		{tool: "iperf3", mode: Stream, protocol: UDP, message: limits{16, maxDatagram}, connections: 128, rate: true,
			maxWarmup: omit, step: s},
		{tool: "ping", mode: Ping, protocol: ICMP, request: limits{16, maxDatagram}, interval: true, step: ms},
	}
}

// elsewhereTools are those whose outputs are read but that do not run here.
func elsewhereTools() []string { return []string{"latte", "ntttcp"} }

func toolNames() []string {
	return distinct(capabilities(), func(c capability) string { return c.tool })
}

func modeNames() []string {
	return distinct(capabilities(), func(c capability) string { return c.mode })
}

func protocolNames() []string {
	return distinct(capabilities(), func(c capability) string { return c.protocol })
}

// protocolsOf lists the protocols of a tool in a mode.
func protocolsOf(tool, mode string) []string {
	all := slices.DeleteFunc(capabilities(), func(c capability) bool { return c.tool != tool || c.mode != mode })
	return distinct(all, func(c capability) string { return c.protocol })
}

// findCapability finds the first that fits; an empty mode or protocol fits any.
func findCapability(tool, mode, protocol string) (capability, bool) {
	for _, c := range capabilities() {
		if c.tool == tool && (mode == "" || c.mode == mode) && (protocol == "" || c.protocol == protocol) {
			return c, true
		}
	}
	return capability{}, false
}

// String writes the capability as "native rr over tcp", and ping's just as "ping".
func (c capability) String() string {
	if c.tool == c.mode {
		return c.tool
	}
	return c.tool + " " + c.mode + " over " + c.protocol
}

// takes says whether a parameter of a workload means something here.
func (c capability) takes(key string) bool {
	switch key {
	case "protocol":
		return len(protocolsOf(c.tool, c.mode)) > 1
	case "ip":
		return !c.onlyIPv4
	case "request":
		return c.request.max > 0
	case "response":
		return c.response.max > 0
	case "message":
		return c.message.max > 0
	case "connections":
		return c.connections > 0
	case "rate":
		return c.rate || c.mode == Load || c.mode == Messages
	case "arrivals", "steps":
		return c.mode == Load
	case "batch":
		return c.mode == Messages
	case "direction", "zerocopy":
		return c.engine && c.mode == Stream
	case "timestamps":
		return c.engine && c.mode == RR
	case "wait":
		return len(c.waits()) > 1
	case "dscp", "send_buffer", "receive_buffer":
		return c.engine
	case "congestion":
		return c.congestion || c.engine && c.protocol == TCP
	case "nodelay":
		return c.engine && c.protocol == TCP
	case "background":
		return c.mode == RR || c.mode == CRR || c.mode == Load
	case "interval":
		return c.interval
	case "warmup":
		return c.maxWarmup > 0
	}
	return true
}

// waits lists how both sides can wait for a message; the first is the default.
func (c capability) waits() []string {
	if !c.engine {
		return nil
	}
	switch c.mode {
	case RR, Messages, "":
		return waitWords()
	case Load: // waits in epoll in any case, for many sockets at once
		return []string{WaitBlock, WaitEpoll, WaitSpin}
	}
	return []string{WaitBlock}
}

// whoTakes lists what a parameter is for, as shortly as it can be said: "rr, crr, ping" where every tool takes it in
// these modes, "native stream" where one tool takes it over every protocol, else "iperf3 stream over udp".
func whoTakes(key string) string {
	all := capabilities()
	var who []string
	for _, c := range all {
		if !c.takes(key) {
			continue
		}
		sameMode := func(o capability) bool { return o.mode == c.mode }
		sameTool := func(o capability) bool { return o.mode == c.mode && o.tool == c.tool }
		name := c.String()
		if everyTakes(all, key, sameMode) {
			name = c.mode
		} else if everyTakes(all, key, sameTool) {
			name = c.tool + " " + c.mode
		}
		if !slices.Contains(who, name) {
			who = append(who, name)
		}
	}
	return strings.Join(who, ", ")
}

func everyTakes(all []capability, key string, of func(capability) bool) bool {
	for _, c := range all {
		if of(c) && !c.takes(key) {
			return false
		}
	}
	return true
}

// whatToolCan lists what a tool can do: "rr over tcp, rr over udp".
func whatToolCan(tool string) string {
	var what []string
	for _, c := range capabilities() {
		if c.tool == tool {
			what = append(what, fmt.Sprintf("%s over %s", c.mode, c.protocol))
		}
	}
	return tool + " does " + strings.Join(what, ", ")
}

// distinct collects a field of the capabilities, each value once, in their order.
func distinct(all []capability, of func(capability) string) []string {
	var values []string
	for _, c := range all {
		if v := of(c); !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	return values
}
