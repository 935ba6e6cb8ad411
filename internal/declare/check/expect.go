package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The expectations. docs/check.md says what each means and what proves it.
const (
	ExpectAccelerated      = "accelerated-networking"
	ExpectProximity        = "proximity-placement-group"
	ExpectPlacementGroup   = "placement-group"
	ExpectSameZone         = "same-zone"
	ExpectDifferentZone    = "different-zone"
	ExpectSameNode         = "same-node"
	ExpectDifferentNodes   = "different-nodes"
	ExpectInstanceType     = "instance-type"
	ExpectEncapsulation    = "encapsulation"
	ExpectMTU              = "mtu"
	ExpectENAExpress       = "ena-express"
	ExpectCompactPlacement = "compact-placement"
	ExpectDriver           = "driver"
	ExpectFact             = "fact"
)

// Expectation is what must be true of an arm.
type Expectation struct {
	Name string `json:"name"`
	// Path is the fact of ExpectFact: "model", "devices.eth0.mtu", "client.settings.ipv4/tcp_ecn".
	Path string `json:"path,omitempty"`
	// Value is a bool, a string or a number, as the expectation needs.
	Value any `json:"value"`
}

// Outcome says whether an expectation holds.
type Outcome string

// The outcomes. Where evidence is missing, the outcome is Unknown.
const (
	Proved  Outcome = "proved"
	Refuted Outcome = "refuted"
	Unknown Outcome = "unknown"
)

// Amount is the data that one side sent in a trial, between the two readings of the counters. Both figures are lower
// bounds; 0 says that nothing is known to have been sent.
type Amount struct {
	// Bytes are the bytes of the payload.
	Bytes uint64 `json:"bytes"`
	// Packets are the packets that the driver must have got: datagrams, or messages that wait for an answer. For a TCP
	// stream it is 0, because one packet for the driver can be many on the wire.
	Packets uint64 `json:"packets,omitempty"`
}

// Side is one host in a trial.
type Side struct {
	// Facts are the facts of the host; nil if they are not known.
	Facts *Facts
	// Counters are the counts during the trial (Counters.Since); nil if nothing was counted.
	Counters *Counters
	// Node is the Kubernetes node on which the pod ran; empty for other hosts.
	Node string
	// Wire is how packets left the underlay device of this side; nil if it was not watched.
	Wire *Wire
	// Sent is what the trial sent from this side.
	Sent Amount
}

// Trial is what is known of a trial.
type Trial struct {
	Client, Server Side
	// Protocol is tcp or udp.
	Protocol string
	// PathMTU is the smallest path MTU that the kernel knew for the trial's own connections, in bytes; 0 if the tool
	// does not say.
	PathMTU int
}

// restarted is the side whose machine was started anew between the reading of its facts and the trial; empty if that is
// not known of any. Its facts say nothing of the trial.
func (t Trial) restarted() string {
	rebooted := func(s Side) bool {
		return s.Facts != nil && s.Counters != nil && s.Facts.BootID != "" && s.Counters.BootID != "" &&
			s.Facts.BootID != s.Counters.BootID
	}
	switch {
	case rebooted(t.Client):
		return "client"
	case rebooted(t.Server):
		return "server"
	}
	return ""
}

// Judgement is what an expectation turned out to be, with the evidence in a sentence.
type Judgement struct {
	Expectation
	Outcome  Outcome `json:"outcome"`
	Evidence string  `json:"evidence"`
}

// carrySufficient is the share of a trial's packets that counters must show to prove their path. carryNone is the share
// up to which counters show that the packets took another path.
const (
	carrySufficient = 0.95
	carryNone       = 0.05
	// carrySkew is the share by which counters may contradict each other because they are read one after the other.
	carrySkew = 0.01
)

// finding is an outcome with its evidence. The finding of a question whose answer is yes is Proved.
type finding struct {
	outcome  Outcome
	evidence string
	// partly says that the answer is neither yes nor no: the outcome is Refuted, whichever was expected.
	partly bool
	// oneWay says that the answer is not yes, but perhaps not no either: nothing is known of the opposite question.
	oneWay bool
}

func unknown(format string, args ...any) finding {
	return finding{outcome: Unknown, evidence: fmt.Sprintf(format, args...)}
}

// verdict is Proved if yes, and Refuted otherwise.
func verdict(yes bool, format string, args ...any) finding {
	f := finding{outcome: Refuted, evidence: fmt.Sprintf(format, args...)}
	if yes {
		f.outcome = Proved
	}
	return f
}

// question is what an expectation asks. value has the type that kind says.
type question struct {
	kind  string
	judge func(t Trial, e Expectation) finding
}

const (
	isBool   = "true or false"
	isText   = "a text"
	isNumber = "a whole number above 0"
	isGroup  = "the name of a group, or true"
	isAny    = "a text, a number, or true or false"
)

func questions() map[string]question {
	return map[string]question{
		ExpectAccelerated:      {isBool, yesOrNo(bothSides(accelerated))},
		ExpectProximity:        {isBool, yesOrNo(proximity)},
		ExpectPlacementGroup:   {isGroup, placementGroup},
		ExpectSameZone:         {isBool, yesOrNo(sameZone)},
		ExpectDifferentZone:    {isBool, yesOrNo(opposite(sameZone))},
		ExpectSameNode:         {isBool, yesOrNo(sameNode)},
		ExpectDifferentNodes:   {isBool, yesOrNo(opposite(sameNode))},
		ExpectInstanceType:     {isText, instanceType},
		ExpectEncapsulation:    {isText, encapsulation},
		ExpectMTU:              {isNumber, mtu},
		ExpectENAExpress:       {isBool, yesOrNo(bothSides(enaExpress))},
		ExpectCompactPlacement: {isBool, yesOrNo(compactPlacement)},
		ExpectDriver:           {isText, driver},
		ExpectFact:             {isAny, fact},
	}
}

// Expectations are the names of all expectations.
func Expectations() []string { return slices.Sorted(maps.Keys(questions())) }

// Check says what is wrong with an expectation.
func (e Expectation) Check() error {
	q, ok := questions()[e.Name]
	if !ok {
		return fmt.Errorf("%q is no expectation: use one of %s", e.Name, strings.Join(Expectations(), ", "))
	}
	_, isB := e.Value.(bool)
	text, isT := e.Value.(string)
	n, isN := numeric(e.Value)
	fits := map[string]bool{
		isBool: isB, isText: isT && text != "", isNumber: isN && n > 0 && n == float64(int64(n)),
		isGroup: isT && text != "" || e.Value == true, isAny: isB || isT || isN,
	}
	switch {
	case !fits[q.kind]:
		return fmt.Errorf("%s needs %s", e.Name, q.kind)
	case e.Name == ExpectFact && e.Path == "":
		return fmt.Errorf("%s needs the path of a fact", e.Name)
	}
	return nil
}

// Judge says whether an expectation held in a trial. It is a pure function.
func Judge(e Expectation, t Trial) Judgement {
	j := Judgement{Expectation: e, Outcome: Unknown}
	if err := e.Check(); err != nil {
		j.Evidence = err.Error()
		return j
	}
	if side := t.restarted(); side != "" {
		j.Evidence = "the machine of the " + side + " was started anew after its facts were read"
		return j
	}
	f := questions()[e.Name].judge(t, e)
	j.Outcome, j.Evidence = f.outcome, f.evidence
	return j
}

// yesOrNo judges an expectation that is true or false by a question.
func yesOrNo(ask func(t Trial) finding) func(t Trial, e Expectation) finding {
	return func(t Trial, e Expectation) finding {
		f := ask(t)
		if e.Value == false {
			return f.not()
		}
		return f
	}
}

func opposite(ask func(t Trial) finding) func(t Trial) finding {
	return func(t Trial) finding { return ask(t).not() }
}

// not is the finding of the opposite question.
func (f finding) not() finding {
	switch {
	case f.partly:
	case f.oneWay:
		f.outcome = Unknown
	case f.outcome == Proved:
		f.outcome = Refuted
	case f.outcome == Refuted:
		f.outcome = Proved
	}
	return f
}

// one is what a question about one host gets: the host, and what the trial sent from it and to it.
type one struct {
	Side
	received Amount
	protocol string
}

// sides are the client and the server.
func (t Trial) sides() (client, server one) {
	return one{t.Client, t.Server.Sent, t.Protocol}, one{t.Server, t.Client.Sent, t.Protocol}
}

// bothSides asks a question about each host.
func bothSides(ask func(s one) finding) func(t Trial) finding {
	return func(t Trial) finding {
		ofClient, ofServer := t.sides()
		client, server := ask(ofClient), ask(ofServer)
		f := join(client, server)
		f.evidence = "client: " + client.evidence + "; server: " + server.evidence
		return f
	}
}

// join answers a question about a whole from the answers about its two parts: yes if both are yes, no if both are no,
// and partly if they differ. If only one is known and it is not yes, the whole is not yes either.
func join(a, b finding) finding {
	switch {
	case a.partly || b.partly, a.outcome != b.outcome && a.outcome != Unknown && b.outcome != Unknown:
		return finding{outcome: Refuted, partly: true}
	case a.outcome == b.outcome:
		return finding{outcome: a.outcome, oneWay: a.oneWay || b.oneWay}
	case a.outcome == Refuted || b.outcome == Refuted:
		return finding{outcome: Refuted, oneWay: true}
	}
	return finding{outcome: Unknown}
}

// everySide expects the same of each host: proved if it is proved for both, refuted if it is refuted for one.
func everySide(t Trial, ask func(s one) finding) finding {
	client, server := t.sides()
	return ofBoth(ask(client), ask(server))
}

// ofBoth is proved if it is proved for both hosts, and refuted if it is refuted for one.
func ofBoth(client, server finding) finding {
	f := finding{outcome: Unknown, evidence: "client: " + client.evidence + "; server: " + server.evidence}
	switch {
	case client.outcome == Refuted || server.outcome == Refuted:
		f.outcome = Refuted
	case client.outcome == Proved && server.outcome == Proved:
		f.outcome = Proved
	}
	return f
}

// numeric is a number as JSON and YAML readers give it.
func numeric(v any) (float64, bool) {
	switch n := v.(type) {
	case int:
		return float64(n), true
	case int64:
		return float64(n), true
	case uint64:
		return float64(n), true
	case float64:
		return n, true
	}
	return 0, false
}
