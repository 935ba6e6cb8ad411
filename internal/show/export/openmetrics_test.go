package export

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/result"
	"nearfar/internal/kits/pythontest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// answered is a run with figures in all units, and a hostile name.
func answered() Answered {
	p50 := figures.Quantity{Metric: result.RTT, Stat: result.P50, Unit: result.Seconds}
	p99 := figures.Quantity{Metric: result.RTT, Stat: result.P99, Unit: result.Seconds}
	goodput := figures.Quantity{Metric: result.Goodput, Unit: result.BitsPerSecond, Scope: result.Background}
	return Answered{
		Run: "20261121T192200Z-overlay", Experiment: "overlay",
		Started: time.Date(2026, 11, 21, 19, 22, 0, 250e6, time.UTC),
		Answer: answer.Answer{
			Ran: answer.Ran{State: "complete", Baseline: "l2", Trials: 60, Failed: 1},
			Figures: figures.Figures{Arms: []figures.Figure{
				{Arm: "l2", Workload: "rr-1k", Quantity: p50, Median: 8.31e-6,
					Interval: &figures.Bounds{8.25e-6, 8.4e-6}, Trials: 10},
				{Arm: hostile, Workload: "rr-1k", Quantity: p50, Median: 14.52e-6, Trials: 3},
				{Arm: "l2", Workload: "rr-1k", Quantity: p99, Median: 2e-5, Trials: 3},
				{Arm: "l2", Workload: "rr-1k", Quantity: goodput, Median: 38.2e9, Trials: 3},
				{Arm: "l2", Workload: "udp", Quantity: figures.Quantity{Metric: result.Loss, Unit: result.One},
					Median: .01, Trials: 3},
				{Arm: "l2", Workload: "udp", Quantity: figures.Quantity{Metric: result.MessageRate,
					Unit: result.PerSecond}, Median: 1e6, Trials: 3},
			}, Comparisons: []figures.Comparison{
				{Arm: "vxlan", Baseline: "l2", Workload: "rr-1k", Quantity: p50, Difference: new(6.21e-6),
					Interval: &figures.Bounds{6.1e-6, 6.35e-6},
					PValue:   new(.0039), Verdict: figures.Higher},
				{Arm: "vxlan", Baseline: "l2", Workload: "udp", Quantity: p50, Verdict: figures.NotComparable},
			}, Layers: []figures.Layer{{Layer: "vtep", Workload: "rr-1k", Quantity: p50, Cost: 3.1e-6,
				Interval: &figures.Bounds{3e-6, 3.2e-6}}}},
		},
	}
}

func openMetrics(t *testing.T, runs ...Answered) string {
	t.Helper()
	var out bytes.Buffer
	if err := OpenMetrics(&out, runs); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestOpenMetricsGolden(t *testing.T) {
	got := openMetrics(t, answered())
	name := filepath.Join("testdata", "openmetrics.txt")
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
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The older format has the same samples, and nothing that its readers do not know.
func TestPrometheusText(t *testing.T) {
	var out bytes.Buffer
	if err := Prometheus(&out, []Answered{answered()}); err != nil {
		t.Fatal(err)
	}
	samples := func(text string) (lines []string) {
		for line := range strings.Lines(text) {
			if !strings.HasPrefix(line, "#") {
				lines = append(lines, line)
			}
		}
		return lines
	}
	if diff := cmp.Diff(samples(openMetrics(t, answered())), samples(out.String())); diff != "" {
		t.Errorf("other samples (-OpenMetrics +Prometheus):\n%s", diff)
	}
	// The types of the format, in client_model's metrics.proto, without those that have several samples.
	typed := regexp.MustCompile(`^# TYPE ([a-z0-9_]+) (gauge|counter|untyped)\n$`)
	types := map[string]bool{}
	for line := range strings.Lines(out.String()) {
		name := typed.FindStringSubmatch(line)
		switch {
		case name != nil && types[name[1]]:
			t.Errorf("%s has two types", name[1])
		case name != nil:
			types[name[1]] = true
		case strings.HasPrefix(line, "# HELP "):
		case strings.HasPrefix(line, "#"):
			t.Errorf("its readers do not know %q", line)
		default:
			if sample, _, _ := strings.Cut(line, "{"); !types[sample] {
				t.Errorf("%s has no type before it", sample)
			}
		}
	}
}

type sample struct {
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels"`
	Value  float64           `json:"value"`
}

// Prometheus' parser for Python, which refuses anything that the standard does not allow, reads the same figures, units
// and labels. Two runs are in the same families.
func TestStrictParserReadsOpenMetrics(t *testing.T) {
	second := answered()
	second.Run = "another"
	text := openMetrics(t, answered(), second)
	name := filepath.Join(t.TempDir(), "metrics.txt")
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	var families []struct {
		Name    string   `json:"name"`
		Type    string   `json:"type"`
		Unit    string   `json:"unit"`
		Help    string   `json:"help"`
		Samples []sample `json:"samples"`
	}
	if err := json.Unmarshal(pythontest.Run(t, "testdata/read_openmetrics.py", name), &families); err != nil {
		t.Fatal(err)
	}
	units := map[string]string{}
	var samples []sample
	for _, f := range families {
		units[f.Name] = f.Type + " " + f.Unit
		if f.Help == "" {
			t.Errorf("%s has no help", f.Name)
		}
		samples = append(samples, f.Samples...)
	}
	if lines := strings.Count(text, "\n") - strings.Count(text, "\n#") - 1; len(samples) != lines {
		t.Errorf("%d samples were read of %d lines", len(samples), lines)
	}
	want := map[string]string{
		"nearfar_run": "info ", "nearfar_run_started_timestamp_seconds": "gauge seconds",
		"nearfar_run_trials": "gauge ", "nearfar_run_failed_trials": "gauge ",
		"nearfar_rtt_seconds": "gauge seconds", "nearfar_rtt_low_seconds": "gauge seconds",
		"nearfar_rtt_high_seconds": "gauge seconds", "nearfar_rtt_trials": "gauge ",
		"nearfar_goodput_bits_per_second": "gauge bits_per_second", "nearfar_goodput_trials": "gauge ",
		"nearfar_loss_ratio": "gauge ratio", "nearfar_loss_trials": "gauge ",
		"nearfar_message_rate_per_second": "gauge per_second", "nearfar_message_rate_trials": "gauge ",
		"nearfar_rtt_difference_seconds": "gauge seconds", "nearfar_rtt_difference_low_seconds": "gauge seconds",
		"nearfar_rtt_difference_high_seconds": "gauge seconds", "nearfar_rtt_difference_p_value": "gauge ",
		"nearfar_rtt_layer_seconds": "gauge seconds", "nearfar_rtt_layer_low_seconds": "gauge seconds",
		"nearfar_rtt_layer_high_seconds": "gauge seconds",
	}
	if diff := cmp.Diff(want, units); diff != "" {
		t.Errorf("families (-want +got):\n%s", diff)
	}
	labels := map[string]string{"run": "another", "experiment": "overlay", "workload": "rr-1k", "arm": "l2",
		"stat": "p50"}
	wantSample(t, samples, "nearfar_rtt_seconds", labels, 8.31e-6)
	wantSample(t, samples, "nearfar_rtt_low_seconds", labels, 8.25e-6)
	labels["arm"] = strings.NewReplacer("\r", "\uFFFD", "\x1b", "\uFFFD").Replace(hostile)
	wantSample(t, samples, "nearfar_rtt_seconds", labels, 14.52e-6)
	wantSample(t, samples, "nearfar_rtt_difference_seconds",
		map[string]string{"run": "another", "experiment": "overlay", "workload": "rr-1k", "arm": "vxlan",
			"baseline": "l2", "stat": "p50"}, 6.21e-6)
	wantSample(t, samples, "nearfar_goodput_bits_per_second",
		map[string]string{"run": "another", "experiment": "overlay", "workload": "rr-1k", "arm": "l2",
			"scope": "background"}, 38.2e9)
	wantSample(t, samples, "nearfar_run_started_timestamp_seconds",
		map[string]string{"run": "another", "experiment": "overlay"}, 1795288920.25)
}

func wantSample(t *testing.T, samples []sample, name string, labels map[string]string, value float64) {
	t.Helper()
	for _, s := range samples {
		if s.Name == name && cmp.Equal(s.Labels, labels) {
			if s.Value != value {
				t.Errorf("%s%v is %v, want %v", name, labels, s.Value, value)
			}
			return
		}
	}
	t.Errorf("there is no %s%q", name, labels)
}

// With any name, a sample is one line, and reversing the escapes gives the name.
func FuzzLabels(f *testing.F) {
	for _, seed := range []string{"l2", hostile, "\\", "\\n", "\"}", "\xff\xfe", "\x00", "\n# EOF\n", "\u2028\u0085"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		run := Answered{Run: "r", Answer: answer.Answer{
			Figures: figures.Figures{Arms: []figures.Figure{{Arm: name,
				Quantity: figures.Quantity{Metric: result.RTT, Stat: result.P50, Unit: result.Seconds}, Median: 1}}},
		}}
		var found []string
		for line := range strings.Lines(openMetrics(t, run)) {
			if label, ok := strings.CutPrefix(line, `nearfar_rtt_seconds{run="r",`); ok {
				found = append(found, label)
			}
		}
		arm := ""
		if name != "" {
			arm = `arm="` + found[0][len(`arm="`):strings.LastIndex(found[0], `",stat=`)] + `",`
		}
		if len(found) != 1 || found[0] != arm+"stat=\"p50\"} 1\n" {
			t.Fatalf("samples %q", found)
		}
		want := strings.Map(func(r rune) rune {
			if r < ' ' && r != '\n' || r >= 0x7f && r < 0xa0 {
				return '\uFFFD'
			}
			return r
		}, strings.ToValidUTF8(name, "\uFFFD"))
		if got := unescaped(t, strings.TrimSuffix(strings.TrimPrefix(arm, `arm="`), `",`)); got != want {
			t.Errorf("the arm is %q, want %q", got, want)
		}
	})
}

// unescaped reverses the three escapes of a label's value. It fails at characters that would end the value.
func unescaped(t *testing.T, s string) string {
	t.Helper()
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"' || s[i] == '\n':
			t.Fatalf("%q ends early", s)
		case s[i] != '\\':
			b.WriteByte(s[i])
			continue
		}
		i++
		if i == len(s) {
			t.Fatalf("%q ends within an escape", s)
		}
		switch s[i] {
		case 'n':
			b.WriteByte('\n')
		case '"', '\\':
			b.WriteByte(s[i])
		default:
			t.Fatalf("%q holds an unknown escape", s)
		}
	}
	return b.String()
}

func TestOpenMetricsRefusesTwoOfOneName(t *testing.T) {
	if err := OpenMetrics(&bytes.Buffer{}, []Answered{answered(), answered()}); err == nil ||
		!strings.Contains(err.Error(), "two runs are called") {
		t.Errorf("got %v", err)
	}
}

// Reading a value gives exactly the same number.
func TestNumbersAreWhole(t *testing.T) {
	run := answered()
	run.Answer.Arms[0].Median = 1.0 / 3e5
	_, after, ok := strings.Cut(openMetrics(t, run), `nearfar_rtt_seconds{run="20261121T192200Z-overlay",`+
		`experiment="overlay",workload="rr-1k",arm="l2",stat="p50"} `)
	number, _, _ := strings.Cut(after, "\n")
	if v, err := strconv.ParseFloat(number, 64); !ok || err != nil || v != 1.0/3e5 {
		t.Errorf("a third is %q", number)
	}
}
