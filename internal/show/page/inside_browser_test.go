//go:build linux

package page

import (
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/captured"
	"nearfar/internal/conclude/answer/inside"
	recorded "nearfar/internal/declare/inside"
	"nearfar/internal/show/page/pagetest"
)

// insideOf is the inside of the path of the sample's arms: each further arm has a router more.
func insideOf(arms ...string) inside.Inside {
	measure := func(us float64) inside.Measure {
		return inside.Measure{Median: us * 1e-6, Interval: &[2]float64{us*1e-6 - 5e-8, us*1e-6 + 5e-8}, Trials: 8}
	}
	pointer := func(us float64) *inside.Measure { m := measure(us); return &m }
	out := inside.Inside{Workload: "rr-1k", Watched: "rr-1k-inside", Quantity: "rtt p50"}
	for i, name := range arms {
		a := inside.Arm{Arm: name, Trials: 8, Reported: pointer(15), Plain: pointer(14), Cost: pointer(1.1),
			Ratio: &inside.Measure{Median: 0.985}}
		m := inside.Machine{Side: recorded.Both, Trials: 8, Share: 1, Paths: 1, Sampled: 16000, Complete: 15990,
			Events: 320000, Sum: pointer(14.8), Slow: 160, Causes: []inside.Cause{
				{Cause: recorded.CauseCPU, Trips: 120, Share: 0.75}, {Cause: recorded.CauseUnknown, Trips: 40, Share: 0.25}}}
		slow := inside.Slowest{Trial: 3, Took: 90e-6, Cause: recorded.CauseCPU}
		add := func(way string, kind recorded.Kind, place string, us float64) {
			p99 := 2e-6 * us
			m.Elements = append(m.Elements, inside.Element{Step: recorded.Step{Way: way, Kind: kind, Place: place},
				Measure: measure(us), P99: &p99})
			slow.Spans = append(slow.Spans, 3e-6*us)
		}
		for _, way := range []string{recorded.Request, recorded.Reply} {
			from, to := "client", "server"
			if way == recorded.Reply {
				from, to = to, from
			}
			add(way, recorded.Send, from, 1.2)
			add(way, recorded.Device, from, 0.6)
			for range i {
				add(way, recorded.Softirq, "router", 0.4)
				add(way, recorded.Forward, "router", 0.9)
			}
			add(way, recorded.Softirq, to, 0.5)
			add(way, recorded.Deliver, to, 0.8)
			add(way, recorded.Wake, to, 1.1)
			add(way, recorded.RunQueue, to, 1.4)
			add(way, recorded.Read, to, 0.3)
		}
		m.Slowest = []inside.Slowest{slow}
		a.Machines = []inside.Machine{m}
		out.Arms = append(out.Arms, a)
		if i == 0 {
			continue
		}
		out.Against = append(out.Against, inside.Against{Arm: name, Baseline: arms[0], Sum: pointer(2.5), Own: pointer(2.6),
			Subtracted: pointer(2.7), Layers: []string{"router"}, Elements: []inside.Change{
				{Step: recorded.Step{Way: recorded.Request, Kind: recorded.Forward, Place: "router"}, Side: recorded.Both,
					Measure: measure(1.8), Only: inside.OnlyArm, Own: true},
				{Step: recorded.Step{Way: recorded.Reply, Kind: recorded.Wake, Place: "client"}, Side: recorded.Both,
					Measure: measure(-0.3)},
			}})
		out.Layers = append(out.Layers, inside.Layer{Layer: "router", Arm: name, Other: arms[i-1], Count: i,
			Own: pointer(2.6), Corrected: pointer(2.4), Subtracted: pointer(2.7), Attributed: pointer(2.5),
			Elements: []inside.Change{}})
	}
	return out
}

// The page draws the elements of each arm as a stacked bar, and the reader chooses what the bars show.
func testInside(t *testing.T, b *pagetest.Tab) {
	arms := []string{"l2", "routed", "vxlan"}
	d, _ := collected(t, sample{arms: arms, blocks: 8, rounds: 300, plain: true}.write(t))
	d.Answer.Inside = []inside.Inside{insideOf(arms...)}
	d.Answer.Warnings = append(d.Answer.Warnings, answer.Warning{Code: "inside-lost", Workload: "rr-1k", Arm: "l2",
		Message: "300 of 16000 round trips that were due could not be followed"})
	b.Show(t, written(t, d))

	series := func() []string {
		return pagetest.Eval[[]string](t, b,
			`nearfar.state().charts.find(c => c.id === "inside").series.map(s => s.name + " " + s.points.length)`)
	}
	if got := series(); len(got) != 16 || got[0] != "send, request 3" || !slices.Contains(got, "forward, reply 3") {
		t.Errorf("the series are %q", got)
	}
	if ends := pagetest.Eval[[]float64](t, b, `[0, 1, 2].map(y => Math.max(...nearfar.state().charts.find(c => `+
		`c.id === "inside").series.flatMap(s => s.points.filter(p => p.y === y).map(p => p.x))))`); len(ends) != 3 ||
		ends[0] < 11.79e-6 || ends[0] > 11.81e-6 || ends[1] < 14.39e-6 || ends[1] > 14.41e-6 {
		t.Errorf("the bars end at %v", ends)
	}
	want := []string{"p50 of each element", "p99 of each element", "differences from the baseline", "the slowest trip"}
	if got := texts(t, b, "#inside select option"); !slices.Equal(got, want) {
		t.Errorf("the choices are %q", got)
	}
	if got := texts(t, b, "#inside .warnings li"); len(got) != 1 || !strings.HasPrefix(got[0], "inside-lost (l2, rr-1k)") {
		t.Errorf("the warnings are %q", got)
	}
	if got := texts(t, b, "#inside .notes li"); len(got) != 7 || !strings.Contains(got[0],
		"watching adds +1.10 us [+1.05, +1.15] to the rtt p50") || !strings.Contains(got[3], "by subtraction, not watched, "+
		"+2.70 us") || got[6] != "vxlan: 2 router, less routed: its elements +2.60 us [+2.55, +2.65]; without recording "+
		"+2.40 us [+2.35, +2.45]; by subtraction +2.70 us [+2.65, +2.75]; over all arms +2.50 us [+2.45, +2.55]" {
		t.Errorf("the notes are %q", got)
	}
	choose := func(value string) {
		pagetest.Eval[bool](t, b, `(() => { const s = document.querySelector("#inside select"); s.value = "`+value+
			`"; s.dispatchEvent(new Event("change")); return true; })()`)
	}
	choose("differences")
	if got := series(); !slices.Equal(got, []string{"forward, request 2", "wake, reply 2"}) {
		t.Errorf("the differences are %q", got)
	}
	b.Do(t, chromedp.Evaluate[chromedp.Void](`document.querySelector("#inside details").open = true`))
	b.Until(t, `document.querySelectorAll("#inside tbody tr").length === 4`)
	if got := rows(t, b, "#inside"); !strings.Contains(got[0], "forward in router|+1.80|[+1.75, +1.85]|only in routed") {
		t.Errorf("the table is %q", got)
	}
	choose("0")
	if got := series(); len(got) != 16 {
		t.Errorf("the slowest trip has the series %q", got)
	}
	b.Scheme(t, "dark")
	b.Do(t, chromedp.EmulateViewport(390, 844))
	if wide := pagetest.Eval[int](t, b, `document.documentElement.scrollWidth`); wide > 390 {
		t.Errorf("the page is %d pixels wide on a screen of 390", wide)
	}
	if high := pagetest.Eval[int](t, b, `document.querySelector("#inside h2").offsetHeight`); high > 40 {
		t.Errorf("the heading is %d pixels high on a screen of 390: more than one line", high)
	}
	b.NoMessages(t)

	d.Answer.Inside = nil
	b.Show(t, written(t, d))
	if pagetest.Eval[bool](t, b, `!document.querySelector("#inside").hidden`) {
		t.Error("a run without watching has the section")
	}
}

// The page lists where packets were captured, and what capturing costs.
func testCaptures(t *testing.T, b *pagetest.Tab) {
	arms := []string{"l2", "routed"}
	d, _ := collected(t, sample{arms: arms, blocks: 8, rounds: 300, plain: true}.write(t))
	adds := inside.Measure{Median: 1.5e-6, Interval: &[2]float64{1.4e-6, 1.6e-6}}
	d.Answer.Captured = []captured.Captured{{
		Workload: "rr-1k", Captured: "rr-1k-capture", Quantity: "rtt p50", Arms: []captured.Arm{
			{Arm: "l2", Trials: 8, Reported: &inside.Measure{Median: 15e-6}, Cost: &adds, Machines: []captured.Machine{{
				Side: recorded.Both, Files: []string{"raw/3.pcapng", "raw/7.pcapng"}, Points: []captured.Point{
					{Name: "client.eth0", Packets: 800, Dropped: 3}, {Name: "0-<b>bridge.p0", Packets: 800, Untimed: 400},
				},
			}}},
			{Arm: "routed", Machines: []captured.Machine{},
				Problems: []inside.Problem{{Side: "client", Text: "no right", Trials: 8}}},
		},
	}}
	d.Answer.Warnings = append(d.Answer.Warnings, answer.Warning{Code: "capture-unknown", Workload: "rr-1k", Arm: "routed",
		Message: "no right"})
	b.Show(t, written(t, d))
	want := []string{"l2baseline|client.eth0|800|3|0", "l2baseline|0-<b>bridge.p0|800|0|400"}
	if got := rows(t, b, "#captures"); !slices.Equal(got, want) {
		t.Errorf("the table is %q", got)
	}
	want = []string{
		"l2: capturing adds +1.50 us [+1.40, +1.60] to the rtt p50 of 15.00 us that is captured",
		"routed: nothing was captured: no right",
	}
	if got := texts(t, b, "#captures .notes li"); !slices.Equal(got, want) {
		t.Errorf("the notes are %q", got)
	}
	if got := texts(t, b, "#captures .warnings li"); len(got) != 1 || !strings.HasPrefix(got[0], "capture-unknown") {
		t.Errorf("the warnings are %q", got)
	}
	b.Do(t, chromedp.Evaluate[chromedp.Void](`document.querySelector("#captures details").open = true`))
	b.Until(t, `document.querySelectorAll("#captures details li").length === 2`)
	b.NoMessages(t)

	d.Answer.Captured = nil
	b.Show(t, written(t, d))
	if pagetest.Eval[bool](t, b, `!document.querySelector("#captures").hidden`) {
		t.Error("a run without captures has the section")
	}
}
