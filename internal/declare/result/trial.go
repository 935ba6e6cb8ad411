package result

import (
	"cmp"
	"time"

	"nearfar/internal/declare/check"
	"nearfar/internal/declare/packets"
)

// The definitions of numbers: after normalisation, and as the tool reported them.
const (
	// DefinitionRTT is the full round-trip time of a request and its reply, on the application's clock.
	DefinitionRTT = "rtt"
	// DefinitionHalfRTT is half of DefinitionRTT, the default of sockperf.
	DefinitionHalfRTT = "half-rtt"
	// DefinitionSmoothedRTT is the kernel's smoothed TCP round-trip time, sampled under load.
	DefinitionSmoothedRTT = "smoothed-rtt"
	// DefinitionResponseTime is the time from when a request was due until its reply, for open-loop load.
	DefinitionResponseTime = "response_time"
	// DefinitionHTTP is the time of a request of HTTP until the last byte of its answer: with the connection, where it has
	// one of its own; with an offered rate, from when it was due.
	DefinitionHTTP = "http_response_time"
	// DefinitionPage is the time of a page of an application until its last byte: with its queries of the database; with
	// an offered rate, from when it was due.
	DefinitionPage = "page_response_time"
	// DefinitionRate is a rate: of transactions, messages or bits.
	DefinitionRate = "rate"
	// DefinitionNone is for a trial that reports no time and no rate.
	DefinitionNone = "none"
)

// TimesResponses says that a definition's times are response_time.
func TimesResponses(definition string) bool {
	return definition == DefinitionResponseTime || definition == DefinitionHTTP || definition == DefinitionPage
}

// ToolVersion names the program that measured.
type ToolVersion struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Measurement is the normalised result of one execution of a tool.
type Measurement struct {
	Tool ToolVersion
	// Mode is rr, crr, stream, load or ping; empty if the output does not say.
	Mode string
	// Protocol is tcp, udp, icmp or another name in the output, in lower case; empty if the output does not say.
	Protocol string
	// MessageBytes is the application message size in bytes; 0 if the output does not say.
	MessageBytes int
	// Started is when the tool began, by its own clock; the zero time if the output does not say.
	Started time.Time
	// Duration is the length of the measurement window; 0 if the output does not say.
	Duration time.Duration
	// ReportedAs says what the tool printed, Definition what the metrics are after normalisation.
	ReportedAs, Definition string
	Metrics                []Metric
	// Histogram is the distribution of the observations in the HDR compressed V2 encoding (base64), in nanoseconds,
	// if the tool gives one.
	Histogram []byte
	// Facts are the actual settings of the tool: read-back socket options, placement, MSS. Keys are stable.
	Facts map[string]string
	// Notes tell a reader of the numbers what to know, one sentence each.
	Notes []string
}

// FactStolen is a fact that a runner records: the steal time, as a share of the CPU time of the machine during the
// trial, 0 to 1. It is left out if the kernel does not report it.
const FactStolen = "cpu_stolen"

// FactSetting is a fact of imported trials: the setting in which a tool ran that measures several of them, such as
// "netperf hostnet". It is a part of what a trial measures.
const FactSetting = "setting"

// NoteLimiter begins the notes of trials in which a limiter of the provider acted.
const NoteLimiter = "A limiter of the provider acted"

// Sides holds a value for each host of a trial. A side without a known value is nil.
type Sides[T any] struct {
	Client *T `json:"client,omitempty"`
	Server *T `json:"server,omitempty"`
}

// Trial is the record of one execution of one workload in one arm: a line of trials.jsonl.
type Trial struct {
	// Trial counts from 1 in the order of execution; replacements of failed trials come after all scheduled trials.
	Trial    int    `json:"trial"`
	Block    int    `json:"block"`
	Arm      string `json:"arm"`
	Workload string `json:"workload"`
	// Deployment is the set of hosts that the trial ran on, from 1; see DeploymentNumber. 0 if the hosts are made once.
	Deployment int `json:"deployment,omitempty"`
	// Repeat counts from 1 if a block runs the arm several times in the workload.
	Repeat int `json:"repeat,omitempty"`
	// Replaces is the scheduled trial that failed and that this one replaces; 0 for none.
	Replaces int         `json:"replaces,omitempty"`
	Tool     ToolVersion `json:"tool"`
	Mode     string      `json:"mode,omitempty"`
	Protocol string      `json:"protocol"`
	// MessageBytes is null if unknown.
	MessageBytes *int `json:"message_bytes"`
	// Started is the zero time for an imported result without a time.
	Started         time.Time `json:"started,omitzero"`
	DurationSeconds float64   `json:"duration_seconds"`
	ReportedAs      string    `json:"reported_as"`
	Definition      string    `json:"definition"`
	Metrics         []Metric  `json:"metrics"`
	// Histogram is the file with the distribution, relative to the run directory; empty if there is none.
	Histogram string `json:"histogram"`
	// Inside lists the recordings of what happened inside the path, the client's machine first, if the trial was watched.
	Inside []string `json:"inside,omitempty"`
	// Captures are the captures of the trial's packets, the client's machine first, if it is a trial of a captured twin.
	Captures []packets.Capture `json:"captures,omitempty"`
	// Raw lists the files with the tools' output, relative to the run directory.
	Raw []string `json:"raw"`
	// Set holds the keys that the arm sets differently from the workload.
	Set map[string]string `json:"set,omitempty"`
	// Treatment holds, by key of the workload, the facts that prove that the kernel applied the setting.
	Treatment map[string]string `json:"treatment"`
	// Facts are the actual settings of the tool, by name.
	Facts map[string]string `json:"facts,omitempty"`
	// Observed is where both sides were, Counters what their kernels counted during the trial, Wire what left their
	// underlay devices; nil if it is not known.
	Observed *Sides[check.Place]    `json:"observed,omitempty"`
	Counters *Sides[check.Counters] `json:"counters,omitempty"`
	Wire     *Sides[check.Wire]     `json:"wire,omitempty"`
	// Expect says for each expectation of the arm whether it held in this trial.
	Expect []check.Judgement `json:"expect,omitempty"`
	// Commands are the exact command lines, server first.
	Commands []string `json:"commands,omitempty"`
	// Notes tell a reader of the numbers what to know.
	Notes []string `json:"notes,omitempty"`
	// Error is the reason why the trial has no result; empty for a good one.
	Error string `json:"error"`
}

// DeploymentNumber is the set of hosts that the trial ran on: 1 if the hosts are made once. The numbers are those of
// the schedule. If a resumed run made new hosts in the middle of a deployment, they get a number after all of these.
func (t *Trial) DeploymentNumber() int { return max(t.Deployment, 1) }

// Record copies a measurement into the trial: tool, definitions, metrics, facts and notes. Fields that the
// measurement leaves empty stay unchanged.
func (t *Trial) Record(m Measurement) {
	t.Tool.Name, t.Tool.Version = cmp.Or(m.Tool.Name, t.Tool.Name), cmp.Or(m.Tool.Version, t.Tool.Version)
	t.Mode, t.Protocol = cmp.Or(m.Mode, t.Mode), cmp.Or(m.Protocol, t.Protocol)
	if m.MessageBytes > 0 {
		t.MessageBytes = new(m.MessageBytes)
	}
	t.DurationSeconds = m.Duration.Seconds()
	t.ReportedAs, t.Definition = cmp.Or(m.ReportedAs, DefinitionNone), cmp.Or(m.Definition, DefinitionNone)
	t.Metrics = m.Metrics
	if t.Metrics == nil {
		t.Metrics = []Metric{}
	}
	t.Facts = m.Facts
	t.Notes = m.Notes
}

// Distributed is the metric of the trial's histogram, if it has one: by its definition, or of a program of an
// experiment's own the first time of which there are statistics. It is false for other definitions.
func (t *Trial) Distributed() (metric string, ok bool) {
	switch {
	case TimesResponses(t.Definition):
		return ResponseTime, true
	case t.Definition == DefinitionRTT:
		return RTT, true
	}
	for i := range t.Metrics {
		if m := &t.Metrics[i]; m.BetterIf != BetterIfOf("") && m.Unit == Seconds && m.Stat == Mean {
			return m.Name, true
		}
	}
	return "", false
}

// Value finds the trial's metric of the given name and stat that belongs to the trial as a whole.
func (t *Trial) Value(name, stat string) (float64, bool) { return t.ScopedValue(name, stat, "") }

// ScopedValue finds the trial's metric of the given name and stat that belongs to the scope: a side, a stream, or
// "background".
func (t *Trial) ScopedValue(name, stat, scope string) (float64, bool) {
	for i := range t.Metrics {
		if m := &t.Metrics[i]; m.Name == name && m.Stat == stat && m.Scope == scope {
			return m.Value, true
		}
	}
	return 0, false
}
