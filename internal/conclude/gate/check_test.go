package gate

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nearfar/internal/base/stats"
	"nearfar/internal/conclude/contrast"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// side makes an invented run: the round-trip times of its arms are levels in microseconds, with 1 % of noise.
func side(name string, blocks int, seed uint64, levels map[string]float64, change func(*result.Trial)) *contrast.Side {
	e := &experiment.Experiment{Name: "model",
		Workloads: []experiment.Workload{{Name: "rr", Tool: "native", Mode: "rr"},
			{Name: "bulk", Tool: "native", Mode: "stream"}}}
	s := &contrast.Side{Name: name, Source: "runs/" + strings.ToLower(name), Kind: contrast.Run, ID: "/" + name,
		Experiment: e, State: "complete"}
	r := rand.New(rand.NewPCG(seed, 70))
	var arms []string
	for arm := range levels {
		arms = append(arms, arm)
	}
	slices.Sort(arms)
	for _, arm := range arms {
		e.Arms = append(e.Arms, experiment.Arm{Name: arm})
		for block := 1; block <= blocks; block++ {
			for _, w := range e.Workloads {
				t := result.Trial{
					Trial: len(s.Trials) + 1, Block: block, Arm: arm, Workload: w.Name,
					Tool: result.ToolVersion{Name: "native"}, Mode: w.Mode, Protocol: "tcp",
					Definition: result.DefinitionRTT, ReportedAs: result.DefinitionRTT,
				}
				bytes := 64
				t.MessageBytes = &bytes
				value := levels[arm] * (1 + 0.01*r.NormFloat64())
				if w.Name == "rr" {
					t.Metrics = []result.Metric{{Name: result.RTT, Stat: result.P50,
						Unit: result.Seconds, Value: value * 1e-6}}
				} else {
					t.Definition, t.ReportedAs = result.DefinitionRate, result.DefinitionRate
					t.Metrics = []result.Metric{{Name: result.Goodput, Unit: result.BitsPerSecond, Value: 1e10 / value}}
				}
				if change != nil {
					change(&t)
				}
				s.Trials = append(s.Trials, t)
			}
		}
	}
	return s
}

func evaluate(t *testing.T, base, other *contrast.Side, inconclusiveFails bool, texts ...string) Result {
	t.Helper()
	rules, err := parse(texts)
	if err != nil {
		t.Fatal(err)
	}
	c, err := contrast.Match(base, other)
	if err != nil {
		t.Fatal(err)
	}
	return Evaluate(c, rules, inconclusiveFails)
}

func TestVerdicts(t *testing.T) {
	base := side("BASE", 12, 1, map[string]float64{"l2": 10, "vxlan": 20}, nil)
	worse := side("NEW", 12, 2, map[string]float64{"l2": 10, "vxlan": 22}, nil)
	for _, test := range []struct {
		rule string
		want []Verdict // l2, vxlan
	}{
		{"rr rtt.p50 > +5%", []Verdict{Pass, Fail}},
		{"* rr rtt.p50 > +5%", []Verdict{Pass, Fail}},
		{"vxlan rr rtt.p50 > +1us", []Verdict{Fail}},
		{"rr rtt.p50 > +10%", []Verdict{Pass, Inconclusive}},
		{"rr rtt.p50 > +20%", []Verdict{Pass, Pass}},
		{"rr rtt.p50 < -1us", []Verdict{Pass, Pass}},
		{"rr rtt.p50 > +0%", []Verdict{Inconclusive, Inconclusive}}, // no margin, one run a side
		{"rr rtt.p50 > 15us", []Verdict{Pass, Fail}},
		{"rr rtt.p50 < 15us", []Verdict{Fail, Pass}},
		{"bulk goodput < -5%", []Verdict{Pass, Fail}},
		{"bulk goodput < 490Mbit/s", []Verdict{Pass, Fail}},
		{"bulk goodput > -5%", []Verdict{Fail, Pass}}, // must fall by 5 %
	} {
		r := evaluate(t, base, worse, false, test.rule)
		var got []Verdict
		for _, c := range r.Checks {
			got = append(got, c.Verdict)
			if c.Interval == nil || c.Interval[0] > *c.Estimate || c.Interval[1] < *c.Estimate {
				t.Errorf("%s: %+v", test.rule, c)
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v: %+v", test.rule, got, test.want, r.Checks)
		}
	}
	// With more checks each interval is wider, with a higher confidence.
	one, all := evaluate(t, base, worse, false, "l2 rr rtt.p50 > +5%").Checks[0],
		evaluate(t, base, worse, false, "* rtt.p50 > +5%", "rr rtt.p50 > +5%", "bulk goodput < -5%")
	if math.Abs(one.Confidence-0.95) > 1e-12 ||
		math.Abs(all.Checks[0].Confidence-(1-0.05/6)) > 1e-12 && len(all.Checks) == 6 {
		t.Errorf("confidence %v, of %d checks %v", one.Confidence, len(all.Checks), all.Checks[0].Confidence)
	}
}

// TestMissingSubjectIsAnError: a rule that finds nothing is an error that lists the existing names.
func TestMissingSubjectIsAnError(t *testing.T) {
	base := side("BASE", 8, 1, map[string]float64{"l2": 10, "old": 20}, nil)
	other := side("NEW", 8, 2, map[string]float64{"l2": 10, "fresh": 22}, nil)
	for _, test := range []struct {
		rule, want string
		verdicts   []Verdict
	}{
		{"l3 rr rtt.p50 > +5%", `no arm "l3": did you mean "l2"?`, []Verdict{Error}},
		{"rrr rtt.p50 > +5%", `no workload "rrr": did you mean "rr"?`, []Verdict{Error}},
		{"l2 rr rtt.p99 > +5%", "most trials have no rtt p99: there are rtt.p50", []Verdict{Error}},
		{"l2 rr goodput < -5%", "most trials have no goodput: there are rtt.p50", []Verdict{Error}},
		{"l2 * rtt.p50 > +50%", "most trials have no rtt p50: there are goodput", []Verdict{Pass, Error}},
		// fresh is new, old is gone
		{"rr rtt.p50 > +50%", "NEW has no such trials, and BASE has", []Verdict{Pass, Error}},
		{"fresh rr rtt.p50 > +5%", "BASE has no such trials to compare with", []Verdict{Error}},
		{"old rr rtt.p50 > 5us", "NEW has no such trials", []Verdict{Error}},
	} {
		r := evaluate(t, base, other, false, test.rule)
		var got []Verdict
		reasons := ""
		for _, c := range r.Checks {
			got = append(got, c.Verdict)
			reasons += c.Reason
		}
		if !slices.Equal(got, test.verdicts) || !strings.Contains(reasons, test.want) || r.Verdict != Error {
			t.Errorf("%s: %v %q, want %q", test.rule, got, reasons, test.want)
		}
	}
	// A new arm can be compared with a limit.
	if r := evaluate(t, base, other, false, "fresh rr rtt.p50 > 15us"); r.Verdict != Fail {
		t.Errorf("%+v", r)
	}
	udp := side("NEW", 8, 2, map[string]float64{"l2": 10}, func(t *result.Trial) { t.Protocol = "udp" })
	if r := evaluate(t, base, udp, false, "l2 rr rtt.p50 > +5%"); r.Verdict != Error ||
		!strings.Contains(r.Checks[0].Reason, "not comparable: protocol: udp against tcp") {
		t.Errorf("%+v", r)
	}
	failed := side("NEW", 8, 2, map[string]float64{"l2": 10}, func(t *result.Trial) { t.Error = "timeout" })
	// The rule cannot be carried out, and the default rule about failures fails.
	if r := evaluate(t, base, failed, false, "l2 rr rtt.p50 > 5us"); r.Verdict != Fail || r.Checks[0].Verdict != Error ||
		!strings.Contains(r.Checks[0].Reason, "all 8 trials failed; the first: timeout") {
		t.Errorf("%+v", r)
	}
}

func TestTooFewAreInconclusive(t *testing.T) {
	base, other := side("BASE", 3, 1, map[string]float64{"l2": 10}, nil),
		side("NEW", 3, 2, map[string]float64{"l2": 30}, nil)
	r := evaluate(t, base, other, false, "rr rtt.p50 > +5%")
	if c := r.Checks[0]; r.Verdict != Inconclusive || c.Interval != nil || c.Estimate == nil ||
		c.BlocksNeeded == nil || *c.BlocksNeeded != 3 ||
		c.Reason != "3 trials on one side are too few for an interval of this confidence; 3 more trials on each "+
			"side are the fewest that can settle it" {
		t.Errorf("%+v", c)
	}
	if r := evaluate(t, base, other, false, "rr rtt.p50 > 5us"); !strings.Contains(r.Checks[0].Reason,
		"3 trials are too few") {
		t.Errorf("%+v", r.Checks[0])
	}
	zero := side("BASE", 8, 1, map[string]float64{"l2": 0}, nil)
	if r := evaluate(t, zero, side("NEW", 8, 1, map[string]float64{"l2": 1}, nil), false,
		"rr rtt.p50 > +5%"); r.Checks[0].Verdict != Inconclusive ||
		!strings.Contains(r.Checks[0].Reason, "against a base of 0") {
		t.Errorf("%+v", r.Checks[0])
	}
}

// TestArmsOfOneRun: arms of one run are paired within blocks, also if a drift is far larger than their difference.
func TestArmsOfOneRun(t *testing.T) {
	drift := func(t *result.Trial) {
		t.Metrics[0].Value = float64(t.Block) * map[string]float64{"l2": 1e-6, "vxlan": 1.1e-6}[t.Arm]
	}
	base := side("BASE", 8, 1, map[string]float64{"l2": 10, "vxlan": 11}, drift)
	other := *base
	base.Arm, other.Arm, other.Name = "l2", "vxlan", "NEW"
	r := evaluate(t, base, &other, false, "rr rtt.p50 > +5%")
	if c := r.Checks[0]; c.Verdict != Fail || !c.Paired || c.Trials != 8 || math.Abs(*c.Estimate-0.1) > 1e-9 {
		t.Errorf("%+v", c)
	}
}

// TestRoundedFigures: 12 us - 11 us is not more than 1 us.
func TestRoundedFigures(t *testing.T) {
	whole := func(us float64) func(*result.Trial) { return func(t *result.Trial) { t.Metrics[0].Value = us * 1e-6 } }
	r := evaluate(t, side("BASE", 8, 1, map[string]float64{"l2": 1}, whole(11)),
		side("NEW", 8, 1, map[string]float64{"l2": 1}, whole(12)), false, "rr rtt.p50 > +1us")
	if r.Checks[0].Verdict != Pass {
		t.Errorf("%+v", r.Checks[0])
	}
	if !slices.ContainsFunc(r.warningLines(),
		func(s string) bool { return strings.Contains(s, "rounds more coarsely") }) {
		t.Errorf("%q", r.warningLines())
	}
}

// hostile has every verdict, and texts that a terminal, a page, an XML reader or a CI system would interpret.
func hostile(t *testing.T, inconclusiveFails bool) Result {
	t.Helper()
	name := "evil\x1b[31m<script>alert(1)</script>::error::%0A,|`*\r\n::set-output name=x::y"
	base := side("BASE", 12, 1, map[string]float64{name: 20, "l2": 10}, nil)
	other := side("NEW", 12, 2, map[string]float64{name: 22, "l2": 10}, func(t *result.Trial) {
		if t.Block == 1 && t.Workload == "bulk" && t.Arm == name {
			t.Error = "=cmd|' /C calc'!A0 ]]> \x00" + strings.Repeat("long line ", 1<<20)
		}
	})
	base.Source = "runs/base\x1b]0;owned\x07"
	return evaluate(t, base, other, inconclusiveFails, "rr rtt.p50 > +5%", "rr rtt.p50 > +0%", "l2 rr rtt.p99 > +5%")
}

func TestGolden(t *testing.T) {
	for _, format := range Formats() {
		for _, fails := range []bool{false, true} {
			var out bytes.Buffer
			if err := Write(&out, hostile(t, fails), format, false); err != nil {
				t.Fatal(err)
			}
			name := format
			if fails {
				name += ".inconclusive-fails"
			}
			golden(t, name+".golden", out.String())
			if out.Len() > 1<<16 {
				t.Errorf("%s has %d bytes", name, out.Len())
			}
			if format == "json" {
				continue // the encoder escapes; readers get the text as it is
			}
			for _, r := range out.String() {
				if r < ' ' && r != '\n' {
					t.Errorf("%s holds the control character %q", name, r)
				}
			}
			for line := range strings.Lines(out.String()) {
				if format != "github" && strings.HasPrefix(strings.TrimSpace(line), "::") {
					t.Errorf("%s: a CI system would carry out %q", name, line)
				}
			}
			if format != "terminal" && format != "github" && strings.Contains(out.String(), "<script>") {
				t.Errorf("%s holds a tag", name)
			}
		}
	}
	err := Write(io.Discard, Result{}, "pdf", false)
	if err == nil || !strings.Contains(err.Error(), "terminal, markdown, json, junit, github") {
		t.Errorf("unknown format: %v", err)
	}
	var color bytes.Buffer
	err = Write(&color, hostile(t, false), "terminal", true)
	if err != nil || !strings.Contains(color.String(), "\x1b[31;1mFAIL\x1b[0m") {
		t.Errorf("%v, %s", err, color.String())
	}
}

func TestJSONIsComplete(t *testing.T) {
	var out bytes.Buffer
	want := hostile(t, false)
	if err := Write(&out, want, "json", false); err != nil {
		t.Fatal(err)
	}
	var got Result
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestGitHubCommands: each line is one workflow command, whatever the names contain.
func TestGitHubCommands(t *testing.T) {
	var out bytes.Buffer
	if err := Write(&out, hostile(t, false), "github", false); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		head, rest, ok := strings.Cut(strings.TrimPrefix(line, "::"), " title=")
		title, _, parted := strings.Cut(rest, "::")
		level := slices.Contains([]string{"error", "warning", "notice"}, head)
		if !strings.HasPrefix(line, "::") || !ok || !parted || !level || strings.ContainsAny(title, ":,\r\n") {
			t.Errorf("%q", line)
		}
	}
	if got, want := property("a: 100%, b\r\nc"), "a%3A 100%25%2C b%0D%0Ac"; got != want {
		t.Errorf("property %q, want %q", got, want)
	}
	if got, want := data("a: 100%, b\r\nc"), "a: 100%25, b%0D%0Ac"; got != want {
		t.Errorf("data %q, want %q", got, want)
	}
}

// TestJUnitHasOnlyWhatReadersKnow walks the document. Elements and attributes are those of the schema that Jenkins'
// xUnit plugin publishes (and that GitLab and GitHub's reporters read), each in its place. The numbers match the
// elements.
func TestJUnitHasOnlyWhatReadersKnow(t *testing.T) {
	known := map[string]struct {
		parents    []string
		attributes []string
	}{
		"testsuites": {[]string{""}, []string{"name", "tests", "failures", "errors"}},
		"testsuite":  {[]string{"testsuites"}, []string{"name", "tests", "failures", "errors", "skipped"}},
		"properties": {[]string{"testsuite"}, nil},
		"property":   {[]string{"properties"}, []string{"name", "value"}},
		"testcase":   {[]string{"testsuite"}, []string{"classname", "name"}},
		"failure":    {[]string{"testcase"}, []string{"message", "type"}},
		"error":      {[]string{"testcase"}, []string{"message", "type"}},
		"skipped":    {[]string{"testcase"}, []string{"message"}},
		"system-out": {[]string{"testcase", "testsuite"}, nil},
	}
	for _, fails := range []bool{false, true} {
		r := hostile(t, fails)
		var out bytes.Buffer
		if err := Write(&out, r, "junit", false); err != nil {
			t.Fatal(err)
		}
		d := xml.NewDecoder(&out)
		path := []string{""}
		counts := map[string]int{}
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			switch e := token.(type) {
			case xml.StartElement:
				rule, ok := known[e.Name.Local]
				if !ok || !slices.Contains(rule.parents, path[len(path)-1]) {
					t.Errorf("<%s> in <%s>", e.Name.Local, path[len(path)-1])
				}
				for _, a := range e.Attr {
					if !slices.Contains(rule.attributes, a.Name.Local) {
						t.Errorf("<%s> has the attribute %s", e.Name.Local, a.Name.Local)
					}
				}
				counts[e.Name.Local]++
				path = append(path, e.Name.Local)
			case xml.EndElement:
				path = path[:len(path)-1]
			}
		}
		failures := r.Count(Fail)
		skipped := r.Count(Inconclusive)
		if fails {
			failures, skipped = failures+skipped, 0
		}
		if counts["testcase"] != len(r.Checks) || counts["failure"] != failures ||
			counts["error"] != r.Count(Error) || counts["skipped"] != skipped ||
			failures == 0 || r.Count(Error) == 0 || r.Count(Inconclusive) == 0 || r.Count(Pass) == 0 {
			t.Errorf("%v, and the checks %s", counts, r.Summary)
		}
	}
}

// TestAllIntervalsHoldAtOnce simulates a gate of ten checks on two sides without a difference: how often does any of
// the ten intervals miss the truth, so that a check could be wrong in either direction? A build in which that happens
// in 1 % of runs fails with a probability of 3e-4, one with 7 % passes with 0.5 %.
func TestAllIntervalsHoldAtOnce(t *testing.T) {
	t.Parallel()
	const runs = 300
	r := rand.New(rand.NewPCG(71, 1))
	missed := 0
	for range runs {
		wrong := false
		for range 10 {
			s := stats.Samples{}
			for range 12 {
				s.Arm, s.Baseline = append(s.Arm, 100+r.NormFloat64()), append(s.Baseline, 100+r.NormFloat64())
			}
			change, relative := stats.EstimateSamples(s, 10)
			wrong = wrong || !change.Interval.Contains(0) || !relative.Interval.Contains(0)
		}
		if wrong {
			missed++
		}
	}
	t.Logf("any of ten missed in %d of %d", missed, runs)
	if missed > 10 {
		t.Errorf("any of ten intervals missed the truth in %d of %d runs", missed, runs)
	}
}
