package gate

import (
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"nearfar/internal/base/clean"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// parse reads rules as those of --fail-if.
func parse(texts []string) ([]Rule, error) {
	var written []Written
	for i, text := range texts {
		written = append(written, Written{Text: text, File: "--fail-if", Line: i + 1})
	}
	return ParseAll(written)
}

// golden compares with a file of testdata, or writes it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	name = "testdata/" + name
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func TestRules(t *testing.T) {
	rtt := func(stat string) figures.Quantity {
		return figures.Quantity{Metric: result.RTT, Stat: stat, Unit: result.Seconds}
	}
	goodput := figures.Quantity{Metric: result.Goodput, Unit: result.BitsPerSecond}
	loss := figures.Quantity{Metric: result.Loss, Unit: result.One}
	for text, want := range map[string]Rule{
		"rr-1k rtt.p99 > +5%": {Arm: Any, Workload: "rr-1k", Quantity: rtt(result.P99), Above: true,
			Kind: Relative, Bound: 0.05},
		"  rr-1k\trtt.p99>+5 % ": {Arm: Any, Workload: "rr-1k", Quantity: rtt(result.P99), Above: true,
			Kind: Relative, Bound: 0.05},
		"vxlan rr-1k rtt.p99.9 > +20us": {Arm: "vxlan", Workload: "rr-1k", Quantity: rtt(result.P999), Above: true,
			Kind: Change, Bound: 20e-6},
		"* * rtt.p50.0 > 1.5 ms": {Arm: Any, Workload: Any, Quantity: rtt(result.P50), Above: true,
			Kind: Value, Bound: 1.5e-3},
		"rr rtt.mean < -5%": {Arm: Any, Workload: "rr", Quantity: rtt(result.Mean),
			Kind: Relative, Bound: -0.05},
		"rr rtt.p75 > +0%":          {Arm: Any, Workload: "rr", Quantity: rtt("p75"), Above: true, Kind: Relative},
		"bulk goodput < -1Gbit/s":   {Arm: Any, Workload: "bulk", Quantity: goodput, Kind: Change, Bound: -1e9},
		"bulk goodput < 900 Mbit/s": {Arm: Any, Workload: "bulk", Quantity: goodput, Kind: Value, Bound: 9e8},
		"udp loss > 1%": {Arm: Any, Workload: "udp", Quantity: loss, Above: true,
			Kind: Value, Bound: 0.01},
		"udp loss > +0.02": {Arm: Any, Workload: "udp", Quantity: loss, Above: true,
			Kind: Change, Bound: 0.02},
		"msg message_rate < 100000/s": {Arm: Any, Workload: "msg", Kind: Value, Bound: 1e5,
			Quantity: figures.Quantity{Metric: result.MessageRate, Unit: result.PerSecond}},
		"b cpu_per_bit > +0.5s/Gbit": {Arm: Any, Workload: "b", Above: true, Kind: Change, Bound: 5e-10,
			Quantity: figures.Quantity{Metric: result.CPUPerBit, Unit: result.SecondsPerBit}},
	} {
		got, err := parse([]string{text})
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		want.Text = strings.TrimSpace(text)
		if diff := cmp.Diff(want, got[0]); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

// TestMistakes has every mistake with its position and a correction, all at once.
func TestMistakes(t *testing.T) {
	_, err := parse([]string{
		"rr-1k rtt.p99 > +5%", // is right
		"",
		"rr-1k rtt.p99",
		"> +5%",
		"rtt.p99 > +5%",
		"an arm rr-1k rtt.p99 > +5%",
		"rr-1k rttt.p99 > +5%",
		"rr-1k rtt > +5%",
		"rr-1k rtt.p100 > +5%",
		"rr-1k rtt.meen > +5%",
		"bulk goodput.mean < -5%",
		"rr-1k rtt.p99 >= +5%",
		"rr-1k rtt.p99 => +5%",
		"rr-1k rtt.p99 >",
		"rr-1k rtt.p99 > 5%",
		"rr-1k rtt.p99 > +5",
		"rr-1k rtt.p99 > + 5%",
		"rr-1k rtt.p99 > +5e3%",
		"rr-1k rtt.p99 > +20uss",
		"rr-1k rtt.p99 < -100%",
		"rr-1k rtt.p99 > +9999999%",
		"bulk goodput < 900Mbps",
		"msg message_rate < 5k",
		"udp loss > few",
		"b cpu_per_bit > 3",
		"rr-1k rtt.p01x > +5%%",
		"größe rtt.q99 > +5%",
		"rr\x1b[31m rtt.p99 > \x1b[0m",
		"rr rtt.p99 > +5% " + strings.Repeat("!", maxRule),
		"rr rtt.p99 > \xff",
	})
	if err == nil {
		t.Fatal("no mistakes")
	}
	golden(t, "mistakes.golden", err.Error()+"\n")
	if _, err := parse(make([]string, maxRules+1)); err == nil || !strings.Contains(err.Error(), "at most 1000") {
		t.Errorf("of too many: %v", err)
	}
}

// FuzzParse: for any input, a rule is read or the mistake's position is inside it; a rule that was read can be read
// again.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"rr-1k rtt.p99 > +5%", "* * goodput < -1Gbit/s", "a b loss > 1%",
		"x rtt.p50 > 500us", "é rtt.p9 >= +", ">", "a b c d < %"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		rules, err := parse([]string{text})
		if err != nil {
			for line := range strings.SplitSeq(err.Error(), "\n") {
				if strings.ContainsFunc(line, func(r rune) bool { return r < ' ' }) || !utf8.ValidString(line) {
					t.Fatalf("%q: the message is not printable: %q", text, err)
				}
			}
			return
		}
		r := rules[0]
		if math.IsNaN(r.Bound) || math.IsInf(r.Bound, 0) || r.Arm == "" || r.Workload == "" ||
			r.Quantity.Unit == "" || r.Kind == "" {
			t.Fatalf("%q: %+v", text, r)
		}
		again, err := parse([]string{r.Text})
		if err != nil || cmp.Diff(r, again[0]) != "" {
			t.Fatalf("%q: %+v, and again %+v, %v", text, r, again, err)
		}
	})
}

// TestMessagesArePrintable: neither a mistake's message nor its hint contains terminal controls, wherever they are in
// the rule.
func TestMessagesArePrintable(t *testing.T) {
	const canary = "\x00\x1b[2J\u009b\u202e\u3164\r"
	rule := "arm rr rtt.p99 > +5%"
	texts := []string{"<+ \x00", ">+ " + canary, "rr goodput > - " + canary + "1%"}
	for at := 0; at <= len(rule); at++ {
		texts = append(texts, rule[:at]+canary+rule[at:])
	}
	for _, text := range texts {
		_, err := parse([]string{text})
		if err == nil {
			continue
		}
		if strings.ContainsFunc(err.Error(), func(r rune) bool { return r != '\n' && !clean.Shown(r) }) {
			t.Errorf("%q: %q", text, err)
		}
	}
}

// TestOwnFigures: rules can name the figures of an experiment's own programs, in their units.
func TestOwnFigures(t *testing.T) {
	own := []experiment.CommandMetric{
		{Name: "tps", Regex: "(.)", Unit: "/s"}, {Name: "page_time", Lines: true, Unit: "ms"},
		{Name: "size", JSON: "/a", Unit: "kB", Better: "lower"}, {Name: "took", ExitTime: true},
	}
	for text, want := range map[string]string{
		"w tps < 900/s":              "{tps  1/s  higher} value 900",
		"w page_time.p99 > +5%":      "{page_time p99 s  lower} relative 0.05",
		"a w page_time.mean > +20us": "{page_time mean s  lower} change 2e-05",
		"w size > 2KB":               "{size  B  lower} value 2000",
		"w took > 1s":                "{took  s  lower} value 1",
		"w tpps < 900/s":             `unknown metric "tpps": did you mean "tps"?`,
		"w tps.p50 < 900/s":          "tps has one value a trial, and no statistic",
		"w page_time > 1s":           "page_time has several statistics",
		"w tps > 10ms":               `unknown unit "ms" in "10ms"`,
	} {
		rules, err := ParseAll([]Written{{Text: text, File: "--fail-if", Line: 1, Own: own}})
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			r := rules[0]
			got = fmt.Sprintf("%v %v %v", r.Quantity, r.Kind, r.Bound)
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
