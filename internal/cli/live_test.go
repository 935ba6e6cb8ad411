package cli

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"nearfar/internal/conclude/interim"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

var updateLive = flag.Bool("update-live", false, "rewrite the golden files of the live view")

// liveExperiment has two workloads in four arms.
func liveExperiment() *experiment.Experiment {
	e := &experiment.Experiment{
		Name: "overlay", Baseline: "l2",
		Question: "How much round-trip time do routing, VXLAN and a distributed firewall add between two VMs?",
		Workloads: []experiment.Workload{
			{Name: "rr-1k", Tool: "native", Placement: experiment.Placement{Kind: experiment.PlacementShared}},
			{Name: "bulk", Tool: "iperf3", Placement: experiment.Placement{Kind: experiment.PlacementSplit}},
		},
		Schedule: experiment.Schedule{Blocks: 10, Seed: 5},
	}
	for _, name := range []string{"l2", "routed", "vxlan-flat", "vxlan"} {
		e.Arms = append(e.Arms, experiment.Arm{Name: name, Layers: map[string]int{}})
	}
	return e
}

// liveTrials returns the first n trials of the experiment. The trials of the arm fails have failed.
func liveTrials(e *experiment.Experiment, n int, fails string) []result.Trial {
	var trials []result.Trial
	for i, slot := range e.Slots()[:n] {
		t := result.Trial{Trial: i + 1, Block: slot.Block, Arm: slot.Arm, Workload: slot.Workload, Protocol: "tcp"}
		step := 0.0
		for j, arm := range e.Arms {
			if arm.Name == slot.Arm {
				step = float64(j)
			}
		}
		noise := float64((slot.Block*7+len(slot.Arm)*3)%5) / 50
		t.Tool.Name, t.Definition, t.Mode = "native", result.DefinitionRTT, "rr"
		rtt := (8 + 1.5*step + noise) * 1e-6
		t.Metrics = []result.Metric{{Name: result.RTT, Stat: result.P50, Unit: result.Seconds, Value: rtt}}
		if slot.Workload == "bulk" {
			t.Tool.Name, t.Definition, t.Mode = "iperf3", result.DefinitionNone, "stream"
			goodput := (38 - 2*step + noise) * 1e9
			t.Metrics = []result.Metric{{Name: result.Goodput, Unit: result.BitsPerSecond, Value: goodput}}
		}
		if slot.Arm == fails {
			t.Metrics = nil
			t.Error = "the server did not serve tcp port 5201 within 15s: \x1b[31mno route\x1b[0m to host"
		}
		trials = append(trials, t)
	}
	return trials
}

// at returns a fixed time.
func at(second int) time.Time { return time.Date(2026, 11, 21, 19, 22, second, 0, time.UTC) }

// liveAfter returns the state while the trial after the given ones is running.
func liveAfter(e *experiment.Experiment, trials []result.Trial) liveState {
	slots := e.Slots()
	return liveState{
		experiment: e, slot: slots[len(trials)], running: true, done: len(trials), total: len(slots),
		left: 72 * time.Second, at: at(0), begun: at(0), figures: interim.Make(e, trials),
	}
}

// model returns a model that shows the state on a terminal of the given size, after a tick.
func model(s liveState, width, height int, k look) tea.Model {
	var m tea.Model = liveModel{read: func() liveState { return s }, state: s, now: at(0), look: k}
	m, _ = m.Update(tea.WindowSizeMsg{Width: width, Height: height})
	m, _ = m.Update(liveTickMsg{at(3), s})
	return m
}

func TestLiveGolden(t *testing.T) {
	e := liveExperiment()
	for _, c := range []struct {
		name          string
		state         liveState
		width, height int
		look          look
	}{
		{"80", liveAfter(e, liveTrials(e, 60, "")), 80, 24, look{unicode: true}},
		{"80-ascii", liveAfter(e, liveTrials(e, 60, "")), 80, 24, look{}},
		{"80-color", liveAfter(e, liveTrials(e, 60, "")), 80, 24, look{unicode: true, color: true}},
		{"120", liveAfter(e, liveTrials(e, 60, "")), 120, 30, look{unicode: true}},
		{"60", liveAfter(e, liveTrials(e, 60, "")), 60, 24, look{unicode: true}},
		{"40", liveAfter(e, liveTrials(e, 60, "")), 40, 24, look{unicode: true}},
		{"20", liveAfter(e, liveTrials(e, 60, "")), 20, 24, look{unicode: true}},
		{"low", liveAfter(e, liveTrials(e, 60, "")), 80, 10, look{unicode: true}},
		{"first", liveAfter(e, nil), 80, 24, look{unicode: true}},
		{"few", liveAfter(e, liveTrials(e, 12, "")), 80, 24, look{unicode: true}},
		{"failed", liveAfter(e, liveTrials(e, 60, "vxlan")), 80, 24, look{unicode: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := model(c.state, c.width, c.height, c.look).View().Content + "\n"
			file := filepath.Join("testdata", "live", c.name+".golden")
			if *updateLive {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The view fits terminals of every size, and every difference has its interval.
func TestLiveFitsEveryTerminal(t *testing.T) {
	t.Parallel()
	e := liveExperiment()
	for i := range e.Arms[1:] {
		e.Arms[i+1].Name = strings.Repeat("long-name-", 5) + e.Arms[i+1].Name
	}
	for _, n := range []int{0, 7, 40, 70} {
		for _, fails := range []string{"", e.Arms[2].Name} {
			m := model(liveAfter(e, liveTrials(e, n, fails)), 20, 2, look{unicode: true, color: true})
			for width := 20; width <= 130; width += 3 {
				for height := 2; height <= 40; height += 3 {
					m, _ = m.Update(tea.WindowSizeMsg{Width: width, Height: height})
					text := ansi.Strip(m.View().Content)
					lines := strings.Split(text, "\n")
					if len(lines) > height-1 {
						t.Fatalf("%dx%d: %d lines:\n%s", width, height, len(lines), text)
					}
					for _, line := range lines {
						if ansi.StringWidth(line) > width {
							t.Fatalf("%dx%d: %s", width, height, line)
						}
						_, after, ok := strings.Cut(line, "+")
						if ok && !strings.Contains(after, "[") && !strings.HasPrefix(line, "!") {
							t.Fatalf("%dx%d: a difference without its interval: %q", width, height, line)
						}
					}
				}
			}
		}
	}
}

func TestLivePagesShowEverything(t *testing.T) {
	e := liveExperiment()
	s := liveAfter(e, liveTrials(e, 60, ""))
	seen := ""
	var m tea.Model = liveModel{state: s, now: at(0), look: look{unicode: true}}
	m, _ = m.Update(tea.WindowSizeMsg{Width: 80, Height: 8})
	for second := range 120 {
		m, _ = m.Update(liveTickMsg{at(second), s})
		seen += m.View().Content + "\n"
	}
	for _, workload := range e.Workloads {
		for _, arm := range e.Arms {
			_, after, ok := strings.Cut(seen, "\n"+workload.Name)
			if !ok || !strings.Contains(after, "\n"+arm.Name+" ") {
				t.Errorf("%s %s was never shown", workload.Name, arm.Name)
			}
		}
	}
}

func TestLiveClock(t *testing.T) {
	e := liveExperiment()
	s := liveAfter(e, liveTrials(e, 10, ""))
	m := model(s, 80, 24, look{})
	if text := m.View().Content; !strings.Contains(text, "1m9s left") || !strings.Contains(text, "for 3s") {
		t.Errorf("after 3 s:\n%s", text)
	}
	m, _ = m.Update(liveTickMsg{at(59), s})
	m, _ = m.Update(liveTickMsg{at(59).Add(time.Minute), s})
	if text := m.View().Content; !strings.Contains(text, " 0s left") {
		t.Errorf("after the estimated time:\n%s", text)
	}
}

func TestLiveEnd(t *testing.T) {
	e := liveExperiment()
	m, cmd := model(liveAfter(e, nil), 80, 24, look{}).Update(liveEndMsg{})
	if cmd == nil {
		t.Fatal("the program does not end")
	}
	if _, ok := cmd().(tea.QuitMsg); !ok {
		t.Error("the program does not end")
	}
	if v := m.View(); v.AltScreen {
		t.Error("the view is on another screen")
	}
}

// The picture keeps its number of lines while the terminal keeps its size.
func TestLivePictureKeepsItsHeight(t *testing.T) {
	e := liveExperiment()
	m := model(liveAfter(e, liveTrials(e, 60, "vxlan")), 80, 30, look{})
	high := strings.Count(m.View().Content, "\n")
	m, _ = m.Update(liveTickMsg{at(4), liveAfter(e, liveTrials(e, 60, ""))})
	if got := strings.Count(m.View().Content, "\n"); got != high {
		t.Errorf("%d lines after %d", got, high)
	}
	m, _ = m.Update(tea.WindowSizeMsg{Width: 80, Height: 10})
	if got := strings.Count(m.View().Content, "\n") + 1; got > 9 {
		t.Errorf("%d lines on a terminal of 10", got)
	}
}

func TestLiveClearsOnlyWhenSmaller(t *testing.T) {
	e := liveExperiment()
	m := model(liveAfter(e, nil), 80, 24, look{})
	m, cmd := m.Update(tea.WindowSizeMsg{Width: 100, Height: 30})
	if cmd != nil {
		t.Error("a larger terminal is cleared")
	}
	m, cmd = m.Update(tea.WindowSizeMsg{Width: 50, Height: 30})
	if cmd == nil {
		t.Error("a narrower terminal is not cleared: it keeps wrapped lines of the picture")
	}
	if _, cmd = m.Update(tea.WindowSizeMsg{Width: 50, Height: 10}); cmd == nil {
		t.Error("a terminal with fewer lines is not cleared: it keeps scrolled lines of the picture")
	}
}

// Hostile text from files and hosts causes no escape sequences and no long output. It is longer than the texts of a
// trial can be.
func TestLiveIsHarmless(t *testing.T) {
	t.Parallel()
	hostile := "\x1b]0;owned\x07\x1b[2J<script>alert(1)</script>\r\n\u202e\u0085" + canary +
		strings.Repeat("A", result.MaxTexts)
	e := liveExperiment()
	e.Name, e.Question = "x\x1b[31m", hostile
	e.Arms[1].Name = "arm\x1b[5m\nsecond line" + canary
	e.Workloads[0].Name = "<script>\x9b2J" + canary
	trials := liveTrials(e, 60, e.Arms[1].Name)
	for i := range trials {
		if trials[i].Error != "" {
			trials[i].Error = hostile
		}
		trials[i].Notes = []string{hostile}
	}
	text := model(liveAfter(e, trials), 80, 24, look{unicode: true}).View().Content
	if len(text) > 10_000 {
		t.Errorf("%d bytes", len(text))
	}
	wantPlain(t, "the live view", text)
	if n := strings.Count(text, "\n") + 1; n > 23 {
		t.Errorf("%d lines", n)
	}
}

func TestSparkline(t *testing.T) {
	none := math.NaN()
	for _, c := range []struct {
		values         []float64
		width          int
		ascii, unicode string
	}{
		{[]float64{1, 2, 3, 4, 5, 6, 7, 8}, 8, "_.:-=+*#", "▁▂▃▄▅▆▇█"},
		{[]float64{9, 1, 8}, 2, "_#", "▁█"},              // the last ones
		{[]float64{1, none, 8}, 9, "_ #", "▁ █"},         // a gap where a trial failed
		{[]float64{100, 100.1, 100}, 9, "-=-", "▄▅▄"},    // noise stays flat
		{[]float64{0, 0}, 9, "==", "▅▅"},                 // no size at all
		{[]float64{-5, -1}, 9, "_#", "▁█"},               // below zero
		{[]float64{none}, 9, " ", " "}, {nil, 9, "", ""}, // nothing yet
	} {
		if got := sparkline(c.values, c.width, false); got != c.ascii {
			t.Errorf("%v: %q, want %q", c.values, got, c.ascii)
		}
		if got := sparkline(c.values, c.width, true); got != c.unicode {
			t.Errorf("%v: %q, want %q", c.values, got, c.unicode)
		}
	}
}

func TestSparklineOfHugeValues(t *testing.T) {
	if got := sparkline([]float64{-1e308, 1e308, 0}, 9, false); len(got) != 3 {
		t.Errorf("%q", got)
	}
}

func TestRoughly(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 72 * time.Second: "1m12s", 3*time.Hour + 4*time.Minute + 40*time.Second: "3h05m",
	} {
		if got := roughly(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

func TestUnicodeLocale(t *testing.T) {
	for _, c := range []struct {
		env  string
		want bool
	}{
		{"", false}, {"LANG=C", false}, {"LANG=de_DE.UTF-8", true}, {"LANG=C.utf8", true},
		{"LC_ALL=C LANG=de_DE.UTF-8", false}, {"LC_CTYPE=en_US.UTF-8 LANG=C", true},
		{"LC_ALL= LANG=C.UTF-8", true}, {"WT_SESSION=1", true},
	} {
		env := map[string]string{}
		for pair := range strings.FieldsSeq(c.env) {
			name, value, _ := strings.Cut(pair, "=")
			env[name] = value
		}
		if got := unicodeLocale(func(name string) string { return env[name] }); got != c.want {
			t.Errorf("%q: %v", c.env, got)
		}
	}
}

func TestProgressModes(t *testing.T) {
	var w strings.Builder
	for choice, want := range map[string]string{"auto": "plain", "plain": "plain", "none": "none"} {
		if got, err := progressMode(&w, choice); got != want || err != nil {
			t.Errorf("%s is %s, %v", choice, got, err)
		}
	}
	for _, wrong := range []string{"live", "fancy", ""} {
		_, err := progressMode(&w, wrong)
		var usage *usageError
		if !errors.As(err, &usage) {
			t.Errorf("%q: %v is not a usage error", wrong, err)
		}
	}
}

// largeExperiment has 20 arms, 3 workloads and 30 blocks.
func largeExperiment() *experiment.Experiment {
	e := liveExperiment()
	e.Workloads = append(e.Workloads, experiment.Workload{
		Name: "rr-2", Tool: "native", Placement: experiment.Placement{Kind: experiment.PlacementShared},
	})
	for i := len(e.Arms); i < 20; i++ {
		e.Arms = append(e.Arms, experiment.Arm{Name: fmt.Sprintf("arm-%d", i), Layers: map[string]int{}})
	}
	e.Schedule.Blocks = 30
	return e
}

// BenchmarkLivePicture measures one drawing of the view, which is done every second, without the renderer.
func BenchmarkLivePicture(b *testing.B) {
	e := liveExperiment()
	s := liveAfter(e, liveTrials(e, 60, ""))
	for b.Loop() {
		_ = s.view(80, 24, at(3), look{unicode: true, color: true})
	}
}

// BenchmarkLiveFigures measures the figures that are made between two trials.
func BenchmarkLiveFigures(b *testing.B) {
	for name, e := range map[string]*experiment.Experiment{"4x2x10": liveExperiment(), "20x3x30": largeExperiment()} {
		trials := liveTrials(e, len(e.Slots())-1, "")
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				interim.Make(e, trials)
			}
		})
	}
}
