package answer

import (
	"flag"
	"fmt"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nearfar/internal/base/stats"
	"nearfar/internal/conclude/answer/environment"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

var updateVerdicts = flag.Bool("update", false, "write the golden files")

// made is an answer that is put together by hand.
type made struct{ Answer }

// answerOf is a complete answer about arms with the baseline l2.
func answerOf(workloads ...Measured) *made {
	return &made{Answer{Ran: Ran{Baseline: "l2", State: "complete", Blocks: 12, Workloads: workloads}}}
}

var (
	rr       = Measured{Workload: "rr", Mode: experiment.RR}
	bulk     = Measured{Workload: "bulk", Mode: experiment.Stream}
	open     = Measured{Workload: "open", Mode: experiment.RR}
	crr      = Measured{Workload: "new", Mode: experiment.CRR}
	messages = Measured{Workload: "events", Mode: experiment.Messages}
	response = figures.Quantity{Metric: result.ResponseTime, Stat: result.P99, Unit: result.Seconds}
	lossOf   = figures.Quantity{Metric: result.Loss, Unit: result.One}
	average  = figures.Quantity{Metric: result.RTT, Stat: result.Mean, Unit: result.Seconds}
	rateOf   = figures.Quantity{Metric: result.MessageRate, Unit: result.PerSecond}
)

// with adds a comparison of an arm: its difference, the interval's ends and the baseline's level.
func (m *made) with(arm string, w Measured, q figures.Quantity, difference, low, high, level float64) *made {
	c := figures.Comparison{Arm: arm, Baseline: m.Baseline, Workload: w.Workload, Quantity: q, Blocks: 12,
		Confidence: stats.Confidence, Difference: &difference, Interval: &figures.Bounds{low, high},
		Verdict: figures.Higher}
	if difference < 0 {
		c.Verdict = figures.Lower
	}
	detectable := 1.4 * (high - low) / 2
	c.Detectable = &detectable
	if low <= 0 && high >= 0 {
		c.Verdict = figures.NoDifference
	}
	if level != 0 {
		relative := difference / level
		c.Relative, c.RelativeInterval = &relative, &figures.Bounds{low / level, high / level}
		m.figure(m.Baseline, w, q, level)
	}
	c.PValue = pOf(c.Verdict)
	c.Better = figures.BetterSide(c.Quantity, c.Verdict)
	m.Comparisons = append(m.Comparisons, c)
	return m
}

// last changes the last comparison.
func (m *made) last(change func(*figures.Comparison)) *made {
	change(&m.Comparisons[len(m.Comparisons)-1])
	return m
}

// without takes what is not known from the last comparison, and sets its verdict.
func (m *made) without(verdict, reason string) *made {
	return m.last(func(c *figures.Comparison) {
		c.Interval, c.RelativeInterval, c.Detectable, c.Better = nil, nil, nil, ""
		c.Verdict, c.Reason = verdict, reason
	})
}

func (m *made) figure(arm string, w Measured, q figures.Quantity, median float64) *made {
	m.Arms = append(m.Arms, figures.Figure{Arm: arm, Workload: w.Workload, Quantity: q, Median: median, Trials: 12,
		Interval: &figures.Bounds{.98 * median, 1.03 * median}})
	return m
}

// limited says that something else limits an arm.
func (m *made) limited(arm string) *made {
	for i := range m.Arms {
		m.Arms[i].Limited = m.Arms[i].Arm == arm
		m.Arms[i].Caution = "carried less than its wire's 480 Mbit/s in 12 of 12 trials: something else limits it"
	}
	return m
}

func (m *made) layer(name string, w Measured, cost, low, high float64) *made {
	l := figures.Layer{Layer: name, Workload: w.Workload, Quantity: p50, Cost: cost,
		Interval: &figures.Bounds{low, high},
		Verdict:  figures.Higher}
	detectable := .7 * (high - low)
	l.Detectable = &detectable
	switch {
	case low <= 0 && high >= 0:
		l.Verdict = figures.NoDifference
	case cost < 0:
		l.Verdict = figures.Lower
	}
	l.PValue = pOf(l.Verdict)
	m.Layers = append(m.Layers, l)
	return m
}

// run gives the text of a run's answer.
func (m *made) run() Statement { return m.conclude(nil, &experiment.Experiment{Baseline: m.Baseline}) }

func (m *made) conclude(sides func(Finding) Sides, e *experiment.Experiment) Statement {
	for _, w := range m.Workloads {
		e.Workloads = append(e.Workloads, experiment.Workload{Name: w.Workload})
	}
	m.Conclude(sides, func(a Answer) Statement {
		if sides != nil {
			return Tell(a, sides)
		}
		return verdict(e, a)
	})
	return Statement{m.Headline, m.Basis, m.Also}
}

const us = 1e-6

// toldAnswers are made-up answers of all kinds, by what is special about them.
func toldAnswers() []struct {
	name string
	told Statement
} {
	type named = struct {
		name string
		told Statement
	}
	asked := crr
	asked.Question = "What does a firewall cost for new connections?"
	load := Measured{Workload: "load-half", Mode: experiment.Load, Rate: 5000}
	deployment := func(c *figures.Comparison) { c.About = figures.AboutThisDeployment }
	firewall := func(w Measured) *made {
		return answerOf(open, w).
			with("rules100", open, p50, .1*us, -.4*us, .6*us, 16*us).
			with("rules5000", open, p50, .56*us, .18*us, .84*us, 16*us).
			with("rules100", w, p50, 3*us, -2*us, 8.1*us, 41*us).
			with("rules5000", w, p50, 82.18*us, 24.1*us, 193.2*us, 41*us)
	}
	twoSides := func(f Finding) Sides {
		if f.Name == f.Baseline {
			return Sides{"With " + f.Name + " in B", "in A", "against A"}
		}
		return sidesOf(f)
	}
	barely := .045
	about := func(arm string, m *made) *made {
		m.AskedAbout = arm
		return m
	}
	failures := func(m *made) *made {
		all := figures.Quantity{Metric: MetricFailures, Unit: result.One}
		return m.with("udp", rr, all, .29, .10, .56, 0)
	}
	all := []named{
		{"an arm is slower", answerOf(rr).with("far", rr, p50, 2.94*us, 1.22*us, 5.03*us, 15.5*us).run()},
		{"an arm is faster", answerOf(rr).with("near", rr, p50, -3.2*us, -4.1*us, -2.5*us, 15.5*us).run()},
		{"several times as long", answerOf(crr).with("rules5000", crr, p50, 82.18*us, 24.1*us, 193.2*us, 41*us).run()},
		{"the first workload leads where none has a question", firewall(crr).run()},
		{"the workload with a question leads", firewall(asked).run()},
		{"the arm that is asked about leads", about("v6", answerOf(rr).
			with("v6", rr, p50, .532*us, .472*us, .592*us, 15.8*us).
			with("routed-v4", rr, p50, 4.05*us, 4.02*us, 4.18*us, 15.8*us).
			with("routed-v6", rr, p50, 5.05*us, 4.98*us, 5.12*us, 15.8*us)).run()},
		{"no difference in the arm that is asked about", about("v6", answerOf(rr).
			with("v6", rr, p50, .1*us, -.43*us, .61*us, 18*us).
			with("routed-v6", rr, p50, 5.05*us, 4.98*us, 5.12*us, 18*us)).run()},
		{"the arm that is asked about differs only in its table", about("v6", answerOf(rr).
			with("v6", rr, p50, .532*us, .1*us, .9*us, 15.8*us).
			last(func(c *figures.Comparison) { c.PValue = &barely }).
			with("routed-v6", rr, p50, 5.05*us, 4.98*us, 5.12*us, 15.8*us).
			with("v6", bulk, goodput, 1e6, -1e6, 2e6, 1e9)).run()},
		{"layers do not precede the arm that is asked about", about("full", answerOf(rr).
			with("vxlan", rr, p50, 13.2*us, 11.9*us, 15.1*us, 14.2*us).
			with("full", rr, p50, 16.8*us, 15.8*us, 21.7*us, 14.2*us).
			layer("vtep", rr, 4.37*us, 3.32*us, 5.41*us).layer("bridge", rr, 2.75*us, 1.35*us, 4.14*us)).run()},
		{"an arm with several differences", answerOf(rr).with("routed-v6", rr, p50, 5.05*us, 4.98*us, 5.12*us, 15.8*us).
			last(func(c *figures.Comparison) { c.Otherwise = []string{"bridge", "router", "ip=6"} }).run()},
		{"trials that waited for others", answerOf(Measured{Workload: "rr", Mode: experiment.RR, Waited: .906}).
			with("spin", Measured{Workload: "rr"}, p50, 14.5e-3, 11.5e-3, 17.4e-3, 2.3e-3).run()},
		{"an arm that sets something elsewhere", answerOf(rr, bulk).with("spin", rr, p50, 2*us, 1*us, 3*us, 16*us).
			with("small", rr, p50, .1*us, -.4*us, .6*us, 16*us).last(func(c *figures.Comparison) { c.Same = true }).
			with("spin", bulk, goodput, 1e6, -1e6, 2e6, 1e9).last(func(c *figures.Comparison) { c.Same = true }).
			with("small", bulk, goodput, 1e6, -1e6, 2e6, 1e9).run()},
		{"a figure that something else limits", answerOf(bulk).figure("slow", bulk, goodput, 2e8).
			with("slow", bulk, goodput, -7e8, -8e8, -6e8, 9e8).limited("slow").run()},
		{"no difference on a busy machine", answerOf(Measured{Workload: "rr", Mode: experiment.RR, Waited: .5}).
			with("v6", Measured{Workload: "rr"}, p50, .1*us, -.43*us, .61*us, 18*us).run()},
		{"no difference", answerOf(rr).with("v6", rr, p50, .1*us, -.43*us, .61*us, 18*us).run()},
		{"no difference in several arms", answerOf(rr).with("a", rr, p50, .1*us, -.43*us, .61*us, 18*us).
			with("b", rr, p50, .2*us, -.6*us, .9*us, 18*us).with("c", rr, p50, 0, -.3*us, .3*us, 18*us).run()},
		{"noise that hides everything", answerOf(load).with("far", load, response, 1e-3, -.4e-3, 36e-3, .24e-3).run()},
		{"no difference in the asked workload, one elsewhere", answerOf(rr, asked).
			with("fw", rr, p50, 2*us, 1*us, 3*us, 16*us).with("fw", asked, p50, 2*us, -3*us, 6*us, 41*us).run()},
		{"the slowest hundredth", answerOf(rr).with("far", rr, p99, 8.31*us, 4.75*us, 15.02*us, 22.7*us).run()},
		{"the average", answerOf(rr).with("far", rr, average, 686*us, 400*us, 930*us, 1900*us).run()},
		{"layers lead", answerOf(rr, bulk).with("vxlan", rr, p50, 13.2*us, 11.9*us, 15.1*us, 14.2*us).
			with("full", rr, p50, 16.8*us, 15.8*us, 21.7*us, 14.2*us).with("full", bulk, goodput, -3e8, -4e8, -2e8, 1e9).
			layer("vtep", rr, 4.37*us, 3.32*us, 5.41*us).layer("bridge", rr, 2.75*us, 1.35*us, 4.14*us).
			layer("firewall", rr, .3*us, -.5*us, 1.1*us).run()},
		{"a layer saves time", answerOf(rr).with("x", rr, p50, -2*us, -3*us, -1*us, 14*us).
			layer("bypass", rr, -2.1*us, -2.9*us, -1.3*us).layer("bridge", rr, 2.75*us, 1.35*us, 4.14*us).run()},
		{"too few blocks", answerOf(rr).with("far", rr, p50, 2.9*us, 0, 0, 15*us).
			without(figures.FewBlocks, "3 blocks are too few for a table of this size: it takes 4 more").run()},
		{"too few deployments", answerOf(rr).with("far", rr, p50, 2.9*us, 0, 0, 15*us).
			without(figures.FewDeployments, "1 of the deployments have 6 blocks with both arms: it takes 2").run()},
		{"one trial a side", answerOf(rr).with("far", rr, average, 2.9*us, 0, 0, 15*us).
			without(figures.SingleTrial, "one trial a side: no interval can be given").
			last(func(c *figures.Comparison) { c.Trials, c.Blocks = &[2]int{1, 1}, 0 }).run()},
		{"not comparable", answerOf(rr).with("udp", rr, p50, 0, 0, 0, 15*us).
			without(figures.NotComparable, "protocol: udp against tcp").
			last(func(c *figures.Comparison) { c.Difference = nil }).run()},
		{"failures lead", failures(answerOf(rr).with("udp", rr, p50, -454.7*us, -470*us, -440*us, 830*us)).run()},
		{"all trials of an arm failed", func() Statement {
			m := answerOf(rr).with("far", rr, p50, 2.94*us, 1.22*us, 5.03*us, 15.5*us)
			m.Trials, m.Failed, m.Failing = 36, 12, "All trials of vxlan failed."
			return m.run()
		}()},
		{"so bad that there is no figure", answerOf(rr).figure("l2", rr, p50, 15*us).with("lossy", rr, p50, 1, 1, math.Inf(1), 0).
			last(func(c *figures.Comparison) {
				c.Difference, c.Verdict, c.Better, c.Unbounded = nil, figures.Higher, "baseline", figures.UnboundedAbove
				c.Reason, c.Missing = "no median in 12 of 12 trials", &[2]int{12, 0}
			}).run()},
		{"trials without a figure", answerOf(rr).with("stalls", rr, p99, 9*us, 8.9*us, math.Inf(1), 20*us).
			last(func(c *figures.Comparison) {
				c.RelativeInterval, c.Unbounded = &figures.Bounds{.4, math.Inf(1)}, figures.UnboundedAbove
			}).run()},
		{"faster, but with loss", answerOf(rr).with("udp", rr, p50, -454.7*us, -470*us, -440*us, 830*us).
			figure("udp", rr, lossOf, .02).run()},
		{"faster, but with less goodput", answerOf(rr, bulk).with("big", rr, p50, -3.2*us, -4.1*us, -2.5*us, 15.5*us).
			with("big", bulk, goodput, -2e8, -3e8, -1e8, 1e9).run()},
		{"slower, but with more goodput", answerOf(rr, bulk).with("big", rr, p50, 3.2*us, 2.5*us, 4.1*us, 15.5*us).
			with("big", bulk, goodput, 15e8, 13e8, 17e8, 1e9).run()},
		{"a workload that stays with TCP", func() Statement {
			m := answerOf(rr, bulk).with("udp", rr, p50, -4.2*us, -5*us, -3*us, 21*us).
				with("udp", bulk, goodput, -2e8, -3e8, -1e8, 1e9)
			m.SetProtocols(func(_, arm, workload string) string {
				if arm == "udp" && workload == "rr" {
					return "UDP"
				}
				return "TCP"
			})
			return m.run()
		}()},
		{"these machines", answerOf(rr).with("far", rr, p50, 2.94*us, 1.22*us, 5.03*us, 15.5*us).last(deployment).run()},
		{"several deployments", answerOf(rr).with("far", rr, p50, 2.94*us, 1.22*us, 5.03*us, 15.5*us).
			last(func(c *figures.Comparison) {
				c.About, c.Deployments = figures.AboutConfiguration, &figures.Deployments{Used: 5}
			}).run()},
		{"a lab", func() Statement {
			m := answerOf(rr).with("far", rr, p50, 2.94*us, 1.22*us, 5.03*us, 15.5*us)
			m.Environment = &environment.Environment{Kernel: "6.8"}
			return m.run()
		}()},
		{"imported", func() Statement {
			m := answerOf(rr).with("far", rr, average, 686*us, 400*us, 930*us, 1900*us)
			m.Imported, m.Comparisons[0].Trials, m.Comparisons[0].Blocks = true, &[2]int{7, 8}, 0
			return m.run()
		}()},
		{"two runs", func() Statement {
			m := answerOf(rr).with("l2", rr, p50, 1.2*us, .9*us, 1.4*us, 10*us).last(func(c *figures.Comparison) {
				c.About, c.Trials, c.Blocks = string(stats.TheseRuns), &[2]int{12, 12}, 0
			})
			return m.conclude(twoSides, &experiment.Experiment{})
		}()},
		{"runs on both sides", func() Statement {
			m := answerOf(rr).with("l2", rr, p50, 1.2*us, .9*us, 1.4*us, 10*us).last(func(c *figures.Comparison) {
				c.About, c.Runs, c.Trials, c.Blocks = "runs", &[2]int{4, 3}, &[2]int{48, 36}, 0
			})
			return m.conclude(twoSides, &experiment.Experiment{})
		}()},
		{"two arms of a run", answerOf(rr).with("routed", rr, p50, 4.98*us, 3.67*us, 6.18*us, 18*us).
			conclude(twoSides, &experiment.Experiment{})},
		{"two workloads", answerOf(rr).with("l2", rr, p50, 4.98*us, 3.67*us, 6.18*us, 18*us).
			last(func(c *figures.Comparison) { c.BaselineWorkload = "rr-udp" }).
			conclude(func(f Finding) Sides { return Sides{"With l2", "with l2", "against l2"} }, &experiment.Experiment{})},
		{"a baseline against itself", func() Statement {
			m := answerOf(rr).figure("l2", rr, p50, 15*us)
			d, share := 1.2*us, .08
			m.NoiseFloor = &NoiseFloor{Arm: "l2", Experiment: "overlay", Blocks: 12, Sound: true, Figures: []Floor{{
				Workload: "rr", Quantity: p50, Detectable: []DetectableAt{{Blocks: 12, Difference: &d, Relative: &share}}}}}
			return m.run()
		}()},
		{"a baseline that differs from itself", func() Statement {
			m := answerOf(rr).figure("l2", rr, p50, 15*us)
			m.NoiseFloor = &NoiseFloor{Arm: "l2", Experiment: "overlay", Blocks: 12, Figures: []Floor{{}},
				Differs: []SelfDiffers{{Workload: "rr", Quantity: p50, Difference: 1.2 * us, PValue: .003}}}
			return m.run()
		}()},
		{"goodput", answerOf(bulk).with("bbr", bulk, goodput, 61.24e6, 58.3e6, 64.9e6, 12.4e6).run()},
		{"loss", answerOf(bulk).with("lossy", bulk, lossOf, .021, .0104, .0331, .0001).run()},
		{"messages", answerOf(messages).with("batch", messages, rateOf, 412345, 390000, 440000, 210000).run()},
		{"load at a rate", answerOf(load).with("far", load, response, 310*us, 190*us, 420*us, 900*us).run()},
		{"interrupted", func() Statement {
			m := answerOf(rr).with("far", rr, p50, 2.94*us, 1.22*us, 5.03*us, 15.5*us).
				last(func(c *figures.Comparison) { c.Blocks = 7 })
			m.State = "interrupted"
			return m.run()
		}()},
		{"not proved", func() Statement {
			m := answerOf(rr).with("vf", rr, p50, -3.2*us, -4.1*us, -2.5*us, 15.5*us).
				last(func(c *figures.Comparison) { c.Unproved = "vf is not proved" })
			m.Unproved = "Not proved: vf, accelerated-networking is unknown in 12 of 12 trials."
			return m.run()
		}()},
		{"many workloads", func() Statement {
			m := answerOf()
			for i := range 20 {
				w := Measured{Workload: fmt.Sprint("w", i), Mode: experiment.RR}
				m.Workloads = append(m.Workloads, w)
				m.with("far", w, p50, float64(i%3)*us, float64(i%3)*us-.4*us, float64(i%3)*us+.5*us, 15*us)
			}
			return m.run()
		}()},
		{"one arm", answerOf(rr).figure("l2", rr, p50, 8.04*us).run()},
		{"nothing", answerOf(rr).run()},
		{"long names", answerOf(Measured{Workload: "netperf-request-response-1024-bytes", Mode: experiment.RR}, bulk).
			with("accelerated-networking-with-a-proximity-placement-group",
				Measured{Workload: "netperf-request-response-1024-bytes", Mode: experiment.RR}, p99, -8.31*us, -15.02*us,
				-4.75*us, 22.7*us).
			with("accelerated-networking-with-a-proximity-placement-group", bulk, goodput, -2e8, -3e8, -1e8, 1e9).run()},
	}
	return all
}

// What differs in single tables alone is counted, and not named in the first line.
func TestNothingMayBeClaimed(t *testing.T) {
	m := answerOf(rr, bulk).with("a", rr, p50, us, .5*us, 1.5*us, 15*us).with("a", bulk, goodput, 1, -1e8, 1e8, 1e9)
	m.run()
	text := telling{teller: teller{a: m.Answer, sides: sidesOf}}
	want := "No difference is sure over all 2 figures that were compared; 1 differs if judged alone."
	if got := text.notClaimable(m.Findings[0]); got != want || countWords(got) > MostWords {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	// The first line says that its figure may be chance, and the next one how many figures there are.
	for i := range m.Findings {
		m.Findings[i].HeadlineP = nil
	}
	told := Tell(m.Answer, nil)
	if !strings.HasPrefix(told.Headline, "Not sure among 2 figures: with a, the median round trip of rr takes 1.0 us ") ||
		!strings.HasPrefix(told.Basis, want) || strings.Contains(told.Basis, "the interval holds") {
		t.Errorf("told %+v", told)
	}
}

// The workloads of a run are described: their questions decide what is answered first.
func TestTheWorkloadWithAQuestionIsAnsweredFirst(t *testing.T) {
	e := overlay(12)
	other := e.Workloads[0]
	other.Name, other.Question = "asked", "How long?"
	trials := model(e, perLayer, 5e-8)
	for _, trial := range model(e, nil, 5e-8) {
		trial.Trial, trial.Workload = trial.Trial+len(trials), other.Name
		trials = append(trials, trial)
	}
	e.Workloads = append(e.Workloads, other)
	a := Make(Input{Experiment: e, Trials: trials, State: "complete"})
	if a.Findings[0].Workload != "asked" || !strings.Contains(a.Headline, "no difference seen ") ||
		!strings.HasPrefix(a.Basis, "Asked: How long? From 12 blocks") || !strings.Contains(a.Also, "Each vtep adds ") {
		t.Errorf("%+v\n%s", a.Workloads, a.Verdict)
	}
}

// oneInterval finds intervals: "(24 to 193 us)", "(at least 8.9 us)".
var oneInterval = regexp.MustCompile(`\([^()]* to [^()]*\)|\(at (least|most) [^()]*\)`)

// Every kind of answer begins with a line that a person reads in five seconds.
func TestHeadlines(t *testing.T) {
	var b strings.Builder
	for _, c := range toldAnswers() {
		fmt.Fprintf(&b, "%s\n  %s\n", c.name, c.told.Headline)
		for _, text := range []string{c.told.Basis, c.told.Also} {
			if text != "" {
				fmt.Fprintf(&b, "  - %s\n", text)
			}
		}
		b.WriteString("\n")
		if n := countWords(c.told.Headline); n > MostWords || n == 0 {
			t.Errorf("%s: %d words: %s", c.name, n, c.told.Headline)
		}
		want := 1
		for _, none := range []string{"No answer", "failed.", "surely", "itself", "unknown"} {
			if strings.Contains(c.told.Headline, none) {
				want = 0
			}
		}
		if got := len(oneInterval.FindAllString(c.told.Headline, -1)); got != want {
			t.Errorf("%s: %d intervals, want %d: %s", c.name, got, want, c.told.Headline)
		}
		if strings.ContainsAny(c.told.Headline, "[]") {
			t.Errorf("%s: symbols in %s", c.name, c.told.Headline)
		}
	}
	const golden = "testdata/verdicts.golden"
	if *updateVerdicts {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Error(diff)
	}
}
