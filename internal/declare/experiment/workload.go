package experiment

import (
	"cmp"
	"strconv"
	"strings"
	"time"
)

// Workload is one tool, one mode and its parameters.
type Workload struct {
	Name string `json:"name"`
	// Question is what the workload answers, if it has a question of its own.
	Question string `json:"question,omitempty"`
	Tool     string `json:"tool"`
	Mode     string `json:"mode"`
	// Protocol is tcp, udp or icmp.
	Protocol string `json:"protocol"`
	// IP is the version of IP that carries the workload: IPv4 or IPv6. 0 is unknown, for imported results.
	IP int `json:"ip,omitempty"`
	// Request and Response are application message sizes in bytes (rr, crr, load). Ping: Request is the ICMP payload.
	Request  int `json:"request,omitempty"`
	Response int `json:"response,omitempty"`
	// Message is the size of one write, or over UDP of one datagram, in bytes (stream, messages). 0: the tool's
	// default.
	Message int `json:"message,omitempty"`
	// Duration is the length of the measurement window; with Steps it is their sum. Warmup comes before it and is
	// discarded.
	Duration time.Duration `json:"duration"`
	Warmup   time.Duration `json:"warmup"`
	// Interval is the time between two echo requests (ping).
	Interval time.Duration `json:"interval,omitempty"`
	// Connections run side by side (stream, load). Default 1.
	Connections int `json:"connections,omitempty"`
	// Rate is the offered rate in bits per second (stream over UDP).
	Rate float64 `json:"rate,omitempty"`
	// OfferedRate is the rate of requests or messages per second, over all connections together (load, messages).
	// 0: as fast as possible (messages), or given by Steps (load).
	OfferedRate float64 `json:"offered_rate,omitempty"`
	// Arrivals says how requests are spread in time: constant or poisson (load).
	Arrivals string `json:"arrivals,omitempty"`
	// Steps are rates that follow each other, instead of one OfferedRate (load).
	Steps []Step `json:"steps,omitempty"`
	// Batch is how many messages are handed to the kernel at once (messages).
	Batch int `json:"batch,omitempty"`
	// ReplyEvery says that the server answers one of this many requests (sockperf load). 0: it answers each.
	ReplyEvery int `json:"reply_every,omitempty"`
	// Iterations is after how many round trips a trial ends (latte). Duration is then the longest that it should take.
	// 0: a trial ends after Duration.
	Iterations int `json:"iterations,omitempty"`
	// Direction is upload, download or both (native stream).
	Direction string `json:"direction,omitempty"`
	// ZeroCopy makes the kernel send from the application's memory (native stream).
	ZeroCopy bool `json:"zerocopy,omitempty"`
	// Timestamps makes the kernel record when each message passes it, so that the round trip can be divided into parts
	// (native rr).
	Timestamps bool `json:"timestamps,omitempty"`
	// Inside says that the machines are watched during the workload (docs/inside.md). Only a watched twin has it: the
	// same workload once more. InsideOf is the workload whose twin it is.
	Inside   bool   `json:"inside,omitempty"`
	InsideOf string `json:"inside_of,omitempty"`
	// Capture says that packets are captured during the workload (docs/captures.md). Only a captured twin has it: the same
	// workload once more. CaptureOf is the workload whose twin it is.
	Capture   bool   `json:"capture,omitempty"`
	CaptureOf string `json:"capture_of,omitempty"`
	// Script is what a transaction is (pgbench).
	Script string `json:"script,omitempty"`
	// Command is the program of the experiment's own (command); nil for other tools.
	Command *Command `json:"command,omitempty"`
	Socket
	Web
	Pages
	// Background is a stream that runs at the same time as the workload, from before its warm-up until after its end.
	// It may be nil.
	Background *Workload `json:"background,omitempty"`
	// Placement says on which CPUs client and server run.
	Placement Placement `json:"placement"`
	// Optional says that the run continues without the workload if its tool is missing.
	Optional bool `json:"optional,omitempty"`
}

// Keys lists the keys of a workload, in the order in which messages name them and in which they are read. A key has
// its entry here, its field in Workload, and its limits where a tool declares that it takes it (Capability). Reading,
// checks, the comparison of workloads, the schema, the reference and the table of tools follow from these.
func Keys() []Key {
	return []Key{
		{Name: "name", General: true, fixed: sameName},
		{Name: "question", General: true, fixed: sameName},
		{Name: "tool", General: true, fixed: sameMeasure, Beside: true},
		{Name: "mode", General: true, fixed: sameMeasure, Beside: true},
		{
			Name: "protocol", General: true, Beside: true, taken: func(c ToolCapability) bool { return c.protocols > 1 },
			value: func(w Workload) string { return w.Protocol },
		},
		{
			Name: "ip", General: true, taken: func(c ToolCapability) bool { return c.OnlyIPv4 == "" },
			check: checkIP,
			value: func(w Workload) string { return strconv.Itoa(cmp.Or(w.IP, IPv4)) },
			parts: func(w Workload) []Part { return []Part{{"ip", "ip", cmp.Or(w.IP, IPv4)}} }, // old runs do not say it
		},
		span(func(w *Workload) *time.Duration { return &w.Duration },
			func(c ToolCapability) Durations { return c.Duration }, DefaultWindow,
			Key{
				Name: "duration", General: true, fixed: sameEnd, read: elsewhere,
				apart: func(w Workload) (string, any) { return "duration", w.Duration.String() },
			}),
		toKey(), // before response, whose default depends on it
		size(func(w *Workload) *int { return &w.Request }, func(_ Workload, c ToolCapability) int {
			if c.isPages() {
				return 0 // a GET
			}
			return cmp.Or(c.DefaultRequest, DefaultRequest)
		}, Key{
			Name: "request", Column: true, within: func(c ToolCapability) Range { return c.Request },
			About: "The size of a request, or of the payload of an echo request ({{WhoTakes}}). " +
				"http: the size of the body of a POST; 0 is a GET. Default: {{DefaultRequests}}.",
		}),
		size(func(w *Workload) *int { return &w.Response }, func(w Workload, c ToolCapability) int {
			switch {
			case c.Mode == App, c.Mode == HTTP && w.To == "":
				return DefaultAnswer
			case c.Mode == HTTP:
				return 0 // what the user's service sends
			}
			return w.Request
		}, Key{
			Name: "response", Column: true, within: func(c ToolCapability) Range { return c.Response },
			About: "The size of a response ({{WhoTakes}}). app: the size of what each query gives. Default: the size of the " +
				"request; 1KiB of http and app.",
		}),
		size(func(w *Workload) *int { return &w.Message }, func(_ Workload, c ToolCapability) int {
			return c.DefaultMessage
		}, Key{
			Name: "message", Column: true, Beside: true, within: func(c ToolCapability) Range { return c.Message },
			About: "The size of one write (stream) or of one message (messages); over UDP, the size of one datagram. " +
				"Default: the tool's own; {{DefaultMessages}}.",
		}),
		span(func(w *Workload) *time.Duration { return &w.Warmup }, func(c ToolCapability) Durations { return c.Warmup },
			time.Second, Key{
				Name: "warmup", Column: true, fixed: sameLength,
				apart: func(w Workload) (string, any) { return "warm-up", w.Warmup.String() },
				About: "How long the workload runs before the window; this time is discarded ({{WhoTakes}}). 0: " +
					"not at all. Default: {{DefaultWarmups}}.",
			}),
		span(func(w *Workload) *time.Duration { return &w.Interval }, func(c ToolCapability) Durations {
			limits := c.Interval
			limits.Default = cmp.Or(limits.Default, defaultInterval)
			return limits
		}, defaultInterval, Key{
			Name: "interval", Column: true,
			apart: func(w Workload) (string, any) { return "interval", w.Interval.String() },
			About: "The time from one echo request to the next, 1ms to 1m ({{WhoTakes}}). Below 2ms ping " +
				"needs privilege. Default: 10ms.",
		}),
		number(func(w *Workload) *int { return &w.Connections }, 1, Key{
			Name: "connections", Column: true, Beside: true,
			given: func(w Workload) bool { return w.Connections != 0 && w.Connections != 1 },
			About: "How many connections run side by side: {{ConnectionLimits}}. Default: 1.",
		}),
		{
			Name: "rate", taken: func(c ToolCapability) bool { return c.Rate.Unit != NoRate },
			check: checkRate, value: Workload.rateText,
			given: func(w Workload) bool { return w.Rate != 0 || w.OfferedRate != 0 },
			parts: func(w Workload) []Part {
				return []Part{{"rate", "rate", w.Rate}, {"rate", "offered rate", w.OfferedRate}}
			},
		},
		words(func(w *Workload) *string { return &w.Arrivals }, arrivalWords(), Key{
			Name: "arrivals",
			About: "How requests are spread in time ({{WhoTakes}}). constant: every 1/rate. poisson: after random " +
				"times, as from many independent users. Default: constant.",
		}),
		{
			Name: "steps", fixed: sameLength, taken: inKeys("steps"), check: checkSteps,
			given: func(w Workload) bool { return len(w.Steps) > 0 },
			parts: func(w Workload) []Part { return []Part{{"steps", "steps", w.Steps}} },
		},
		number(func(w *Workload) *int { return &w.Batch }, defaultBatch, Key{
			Name: "batch", Column: true,
			About: "How many messages are handed to the kernel at once ({{WhoTakes}}). Default: 32.",
		}),
		number(func(w *Workload) *int { return &w.ReplyEvery }, 1, Key{
			Name:  "reply_every",
			value: func(w Workload) string { return strconv.Itoa(cmp.Or(w.ReplyEvery, 1)) },
			About: "The server answers one of this many requests ({{WhoTakes}}). Default: 1, which is each.",
		}),
		number(func(w *Workload) *int { return &w.Iterations }, 0, Key{
			Name: "iterations", fixed: sameEnd,
			About: "A trial ends after so many round trips, or what the program counts ({{WhoTakes}}); duration is " +
				"then the longest that it should take, and a trial that takes much longer fails. Default: a " +
				"trial ends after its duration.",
		}),
		words(func(w *Workload) *string { return &w.Direction }, directionWords(), Key{
			Name: "direction", Beside: true, Defined: true,
			About: "Which way a stream goes, as the client sees it ({{WhoTakes}}). Of both, each way has its " +
				"connections. Default: upload.",
		}),
		onOff(func(w *Workload) *bool { return &w.ZeroCopy }, Key{
			Name: "zerocopy", Beside: true, Defined: true,
			apart: func(w Workload) (string, any) { return "zerocopy", w.ZeroCopy },
			About: "Whether the kernel sends from the application's memory, where it can ({{WhoTakes}}).",
		}),
		onOff(func(w *Workload) *bool { return &w.Timestamps }, Key{
			Name: "timestamps", // they cost time in each transaction
			About: "Whether the kernel records when each message passes it, so that the round trip can be " +
				"divided into parts ({{WhoTakes}}). The response has at least 16B, over UDP 48B.",
		}),
		onOff(func(w *Workload) *bool { return &w.Inside }, Key{
			Name: "inside", fixed: sameRun, taken: inKeys("inside"), why: unfollowed,
			About: "Whether the workload is measured once more in each arm with the kernels of its machines watched, " +
				"which shows the time at every element of the path ({{WhoTakes}}). The second workload has the " +
				"workload's name and -inside; the figures of the first are not touched. See docs/inside.md.",
		}),
		onOff(func(w *Workload) *bool { return &w.Capture }, Key{
			Name: "capture", fixed: sameRun, taken: inKeys("capture"), check: checkCapture,
			About: "Whether the workload is measured once more in each arm while its packets are captured at every " +
				"device of the path, which gives pcapng files for Wireshark and nearfar import ({{WhoTakes}}). The " +
				"second workload has the workload's name and -capture; the figures of the first are not touched. See " +
				"docs/captures.md.",
		}),
		valued(func(w *Workload) *string { return &w.Wait }, always(WaitBlock), readWait, orNotSet, Key{
			Name: "wait", apart: inSockets, Defined: true, check: checkWait,
			Shape:  shaped(`"enum": ` + written(waitWords())),
			taken:  func(c ToolCapability) bool { return len(c.Waits) > 1 },
			given:  func(w Workload) bool { return w.Wait != "" && w.Wait != WaitBlock },
			Limits: func(c ToolCapability) string { return " (" + strings.Join(c.Waits, ", ") + ")" },
			About: "How client and server wait for a message ({{WhoTakes}}). block: asleep. busy-poll (not " +
				"load): the kernel looks at the device for a while before it sleeps. epoll: in " +
				"epoll_wait, as event-driven programs do, where the kernel looks at the device too. spin: " +
				"the socket is asked again and again, which takes a CPU on each side. Default: block.",
		}),
		valued(func(w *Workload) *string { return &w.Congestion }, always(""), readCongestion, orNotSet, Key{
			Name: "congestion", apart: inSockets, Beside: true, Defined: true, check: checkCongestion,
			Shape: shaped(`"type": "string", "pattern": "^[a-z0-9_-]{1,15}$"`),
			About: "The congestion control of the connections ({{WhoTakes}}): cubic, reno, bbr, whichever " +
				"the hosts' kernels have. Default: the host's own.",
		}),
		valued(func(w *Workload) **bool { return &w.NoDelay }, always[*bool](nil), readNoDelay, noDelayText, Key{
			Name: "nodelay", apart: inSockets, Beside: true, Defined: true, Shape: shaped(`"type": "boolean"`),
			About: "Whether small segments are sent at once, TCP_NODELAY ({{WhoTakes}}). Default: true.",
		}),
		number(func(w *Workload) *int { return &w.DSCP }, 0, Key{
			Name: "dscp", apart: inSockets, Beside: true, Defined: true, taken: inKeys("dscp"),
			within: func(ToolCapability) Range { return Range{0, maxDSCP} },
			value:  func(w Workload) string { return strconv.Itoa(w.DSCP) },
			About:  "The DSCP mark of the packets ({{WhoTakes}}). Default: 0.",
		}),
		size(func(w *Workload) *int { return &w.SendBuffer }, always(0), Key{
			Name: "send_buffer", apart: inSockets, Beside: true, Defined: true,
			within: func(c ToolCapability) Range { return c.Buffers },
			About: "The size that the kernel is asked for as each socket's send buffer, SO_SNDBUF, 1024B to " +
				"1GiB ({{WhoTakes}}). Default: the kernel's own.",
		}),
		size(func(w *Workload) *int { return &w.ReceiveBuffer }, always(0), Key{
			Name: "receive_buffer", apart: inSockets, Beside: true, Defined: true,
			within: func(c ToolCapability) Range { return c.Buffers },
			About: "The size that the kernel is asked for as each socket's receive buffer, SO_RCVBUF, 1024B " +
				"to 1GiB ({{WhoTakes}}). Default: the kernel's own.",
		}),
		commandKey(Key{Name: "client", check: checkClient}, func(c Command) any { return c.Client }),
		commandKey(Key{Name: "server", check: checkServer}, func(c Command) any { return c.Server }),
		commandKey(Key{Name: "ready", check: checkReady}, func(c Command) any { return c.Ready.condition() }),
		commandKey(Key{Name: "metrics", check: checkMetrics}, func(c Command) any { return c.Metrics }),
		versionKey(), tlsKey(), connectKey(), concurrencyKey(), caKey(), certificateKey(), headersKey(), scriptKey(),
		queriesKey(), parallelKey(), databaseConnectionsKey(), databaseKey(), frontKey(),
		{
			Name: "background", taken: inKeys("background"), value: Workload.backgroundText,
			given: func(w Workload) bool { return w.Background != nil },
			parts: func(w Workload) []Part { return []Part{{"background", "background", w.Background}} },
		},
		{
			Name: "placement", General: true, Beside: true,
			apart: func(w Workload) (string, any) { return "placement", w.Placement },
			value: func(w Workload) string { return w.Placement.String() },
			reset: func(w *Workload) { w.Placement = Placement{} },
		},
		onOff(func(w *Workload) *bool { return &w.Optional },
			Key{Name: "optional", General: true, fixed: sameRun, apart: noCondition}),
	}
}

// The ways in which requests are spread in time.
const (
	// ConstantArrivals sends every 1/rate seconds.
	ConstantArrivals = "constant"
	// PoissonArrivals sends after times that are exponentially distributed, as many independent users do.
	PoissonArrivals = "poisson"
)

// The directions of a stream, as the client sees them.
const (
	Upload   = "upload"
	Download = "download"
	Both     = "both"
)

// Step is a part of a load's window with a rate of its own.
type Step struct {
	// Rate is in requests per second, over all connections together.
	Rate float64 `json:"rate"`
	// For is how long the step lasts.
	For time.Duration `json:"for"`
}

// The ways of waiting for a message.
const (
	// WaitBlock sleeps in the kernel until the message arrives.
	WaitBlock = "block"
	// WaitBusyPoll makes the kernel poll the device for a while before it sleeps (SO_BUSY_POLL).
	WaitBusyPoll = "busy-poll"
	// WaitEpoll waits in epoll_wait, as event-driven programs do; there the kernel polls the device.
	WaitEpoll = "epoll"
	// WaitSpin reads the socket again and again without sleeping.
	WaitSpin = "spin"
)

// Socket says how the engine uses its sockets. The record has the values that the kernel then reported.
type Socket struct {
	// Wait is how client and server wait for a message: block, busy-poll, epoll or spin (rr, load, messages).
	Wait string `json:"wait,omitempty"`
	// Congestion is the name of the congestion control (TCP). If it is empty, the host's default is used.
	Congestion string `json:"congestion,omitempty"`
	// NoDelay sets TCP_NODELAY (TCP); nil is the engine's default.
	NoDelay *bool `json:"nodelay,omitempty"`
	// DSCP is the mark of the packets, 0 to 63.
	DSCP int `json:"dscp,omitempty"`
	// SendBuffer and ReceiveBuffer are the sizes in bytes that the kernel is asked for; 0 is the kernel's default.
	SendBuffer    int `json:"send_buffer,omitempty"`
	ReceiveBuffer int `json:"receive_buffer,omitempty"`
}

// Defaults of a workload.
const (
	DefaultWindow   = 2 * time.Second
	defaultInterval = 10 * time.Millisecond
	DefaultRequest  = 64 // bytes
	stampsSize      = 16 // bytes of a response that the server's timestamps take
)

// Examples of lists, for messages.
const (
	ArmsExample      = "arms: {l2: {lab: {path: [bridge]}}}"
	WorkloadsExample = "workloads: [{name: rr, tool: native}]"
	StepsExample     = "steps: [{rate: 1000/s, for: 1s}]"
)
