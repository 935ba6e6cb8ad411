package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"nearfar/internal/declare/result"
)

// gateOf runs the command on two runs, once for each list of arguments. It returns the exit codes and outputs.
func gateOf(t *testing.T, base, other madeRun, gates ...[]string) (codes []int, outputs []string) {
	t.Helper()
	parent := t.TempDir()
	a, b := filepath.Join(parent, "base"), filepath.Join(parent, "new")
	for path, m := range map[string]madeRun{a: base, b: other} {
		if err := m.write(path); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range gates {
		var out, errors bytes.Buffer
		code := Main(append([]string{"gate", a, b}, args...), strings.NewReader(""), &out, &errors)
		if code != exitDone && code != exitGate {
			t.Fatalf("exit code %d: %s", code, errors.String())
		}
		codes, outputs = append(codes, code), append(outputs, out.String())
	}
	if err := os.RemoveAll(parent); err != nil {
		t.Fatal(err)
	}
	return codes, outputs
}

// simulatedPairs is the number of pairs of runs in a simulation, and least how many of them must have the result that
// is tested. The seeds are fixed, so that the same build always gives the same result. A build that gives the result
// in 90 % of the pairs passes with a probability of 0.2 % (39 % with -short), one that gives it in 95 % with 12 %.
func simulatedPairs() (pairs uint64, least int) {
	if testing.Short() {
		return 20, 19
	}
	return 100, 98
}

// TestGateOnRunsThatAreAlike has pairs of runs without a true difference. A gate with rules without a margin, in both
// directions and for two arms, fails none of them, because two single runs do not show how much runs differ. A gate
// that judged them at the level of its checks would fail up to 5 % of all pairs: of 120, none with a probability of
// 0.2 %.
func TestGateOnRunsThatAreAlike(t *testing.T) {
	t.Parallel()
	const pairs = 40
	for _, blocks := range []int{7, 10, 20} {
		counts := map[string]int{}
		for i := range uint64(pairs) {
			m := madeRun{
				arms: []string{"l2", "vxlan"}, workloads: []string{"rr"}, blocks: blocks, level: 10e-6, scatter: 0.03,
			}
			base, other := m, m
			base.seed, other.seed = 1000*uint64(blocks)+2*i, 1000*uint64(blocks)+2*i+1
			codes, outputs := gateOf(t, base, other,
				[]string{"--fail-if", "rr rtt.p50 > +0%", "--fail-if", "rr rtt.p50 < -0%"})
			first, _, _ := strings.Cut(outputs[0], "\n")
			counts[first]++
			if (codes[0] == exitGate) != (first == "Gate: FAILED") {
				t.Fatalf("exit code %d with %q", codes[0], first)
			}
		}
		t.Logf("%d blocks: %v", blocks, counts)
		if counts["Gate: FAILED"] > 0 {
			t.Errorf("%d blocks: failed in %d of %d pairs", blocks, counts["Gate: FAILED"], pairs)
		}
	}
}

// TestGateForFivePercentOnRunsThatAreAlike: with 20 blocks the gate passes nearly all pairs, and fails none.
func TestGateForFivePercentOnRunsThatAreAlike(t *testing.T) {
	t.Parallel()
	pairs, least := simulatedPairs()
	counts := map[string]int{}
	for i := range pairs {
		base := madeRun{
			arms: []string{"l2"}, workloads: []string{"rr"}, blocks: 20, level: 10e-6, scatter: 0.03,
			seed: 90_000 + 2*i,
		}
		other := base
		other.seed++
		_, outputs := gateOf(t, base, other, []string{"--fail-if", "rr rtt.p50 > +5%"})
		first, _, _ := strings.Cut(outputs[0], "\n")
		counts[first]++
	}
	t.Logf("%v", counts)
	if counts["Gate: FAILED"] > 0 || counts["Gate: passed"] < least {
		t.Errorf("%v", counts)
	}
}

// TestGateOnATrueRise has pairs of runs of which the second is 10 % slower. With 20 blocks, a gate for 5 % fails nearly
// all pairs, and a gate for 20 % passes nearly all.
func TestGateOnATrueRise(t *testing.T) {
	t.Parallel()
	const blocks = 20
	pairs, least := simulatedPairs()
	failed, passed := 0, 0
	for i := range pairs {
		base := madeRun{
			arms: []string{"l2"}, workloads: []string{"rr"}, blocks: blocks, level: 10e-6, scatter: 0.03,
			seed: 50_000 + 2*i,
		}
		other := base
		other.level, other.seed = 11e-6, base.seed+1
		codes, outputs := gateOf(t, base, other,
			[]string{"--fail-if", "rr rtt.p50 > +5%"}, []string{"--fail-if", "rr rtt.p50 > +20%"})
		if codes[0] == exitGate {
			failed++
		}
		if strings.HasPrefix(outputs[1], "Gate: passed") {
			passed++
		}
	}
	t.Logf("+10 %% with %d blocks and 3 %% scatter: a gate for 5 %% failed %d of %d, one for 20 %% passed %d",
		blocks, failed, pairs, passed)
	if failed < least || passed < least {
		t.Errorf("+10 %%: a gate for 5 %% failed %d of %d, one for 20 %% passed %d", failed, pairs, passed)
	}
}

// TestHostileTextInSides: no text from hosts and files makes a format of compare, gate or report contain something that
// a terminal, a page or a spreadsheet would execute, and the output stays small.
func TestHostileTextInSides(t *testing.T) {
	t.Parallel()
	text := "=cmd|' /C calc'!A0 <script>alert(1)</script> \x1b]0;owned\x07\x1b[31m\r\n::stop-commands::x\t" +
		strings.Repeat("endless ", result.MaxTexts/4/8) // a trial has the text three times
	arm := "=arm\x1b[2J<script>alert(1)</script>\r\n+x"
	parent := t.TempDir()
	a, b := filepath.Join(parent, "a"), filepath.Join(parent, "b")
	for path, seed := range map[string]uint64{a: 1, b: 2} {
		m := madeRun{
			arms: []string{arm, "l2"}, workloads: []string{"@w\x1b[1m"}, blocks: 2, seed: seed,
			level: 1e-5, scatter: 0.01, text: text,
		}
		if err := m.write(path); err != nil {
			t.Fatal(err)
		}
	}
	const rule = "* rtt.p50 > +5%"
	for _, command := range [][]string{
		{"compare", "-f", "terminal", a, b}, {"compare", "-f", "markdown", a, b}, {"compare", "-f", "csv", a, b},
		{"report", "-f", "terminal", a}, {"report", "-f", "markdown", a}, {"report", "-f", "csv", a},
		{"gate", "-f", "terminal", a, b, "--fail-if", rule}, {"gate", "-f", "markdown", a, b, "--fail-if", rule},
		{"gate", "-f", "junit", a, b, "--fail-if", rule}, {"gate", "-f", "github", a, b, "--fail-if", rule},
		{"compare", a + ":nothing", b}, {"gate", a, b + ":nothing", "--fail-if", rule},
	} {
		var out, errors bytes.Buffer
		Main(command, strings.NewReader(""), &out, &errors)
		what := strings.Join(command[:3], " ")
		if answered := !strings.Contains(strings.Join(command, " "), ":nothing"); answered && out.Len() == 0 {
			t.Errorf("%s prints nothing: %.300s", what, errors.String())
		}
		if out.Len()+errors.Len() > 1<<20 {
			t.Errorf("%s: %d bytes", what, out.Len()+errors.Len())
		}
		for _, r := range out.String() + errors.String() {
			if r < ' ' && r != '\n' || r == 0x7f {
				t.Fatalf("%s has the control character %q", what, r)
			}
		}
		if (command[2] == "markdown" || command[2] == "junit") && strings.Contains(out.String(), "<script>") {
			t.Errorf("%s has a tag", what)
		}
		if command[2] == "csv" {
			for i, cell := range strings.FieldsFunc(out.String(), func(r rune) bool { return r == ',' || r == '\n' }) {
				if cell = strings.Trim(cell, `"`); cell != "" && strings.ContainsRune("=+@", rune(cell[0])) {
					t.Errorf("%s: cell %d is a formula: %.40q", what, i, cell)
				}
			}
		}
	}
}

// TestSidesOfTenThousandTrials compares and gates runs of 10,000 trials a side. It asserts the output. The time, which
// depends on the machine, is only printed with -v.
func TestSidesOfTenThousandTrials(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 20,000 trials")
	}
	t.Parallel()
	m := madeRun{
		arms: []string{"l2", "routed", "vxlan", "dlr", "full"}, workloads: []string{"rr", "rr-1k"},
		blocks: 1000, level: 10e-6, scatter: 0.02, seed: 1,
	}
	base := made(t, "base", m)
	m.seed, m.factor = 2, map[string]float64{"full": 1.01}
	other := made(t, "new", m)
	var out, errors bytes.Buffer
	begun := time.Now()
	code := Main([]string{"compare", base, other}, strings.NewReader(""), &out, &errors)
	if code != exitDone || !strings.Contains(out.String(), "With full in B, the median round trip of rr takes ") {
		t.Errorf("exit code %d: %.400s %s", code, out.String(), errors.String())
	}
	t.Logf("compare took %v", time.Since(begun))
	out.Reset()
	begun = time.Now()
	args := []string{"gate", base, other, "--fail-if", "rr rtt.p50 > +0.5%"}
	if code := Main(args, strings.NewReader(""), &out, &errors); code != exitGate {
		t.Errorf("exit code %d: %.400s %s", code, out.String(), errors.String())
	}
	t.Logf("gate took %v", time.Since(begun))
	if !strings.Contains(out.String(), "FAIL          full rr rtt p50 > +0.500 %") {
		t.Errorf("%.600s", out.String())
	}
}

// TestDocumentedSides runs every line of docs/compare.md and docs/gate.md, and reads the rules of the workflow.
func TestDocumentedSides(t *testing.T) {
	var lines []string
	for _, page := range []string{"compare.md", "gate.md"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "docs", page))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "nearfar ") {
				line, _, _ = strings.Cut(line, "  #")
				lines = append(lines, strings.TrimSpace(line))
			}
		}
	}
	workflow, err := os.ReadFile(filepath.Join("..", "..", "docs", "examples", "gate.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var document map[string]any
	if err := yaml.Unmarshal(workflow, &document); err != nil || document["jobs"] == nil {
		t.Fatalf("the workflow is not valid YAML: %v", err)
	}
	gate := "nearfar gate runs/main runs/branch"
	for line := range strings.Lines(string(workflow)) {
		if at := strings.Index(line, "--fail-if"); at >= 0 {
			gate += " " + strings.TrimSuffix(strings.TrimSpace(line[at:]), " \\")
		}
	}
	if lines = append(lines, gate); len(lines) < 9 || strings.Count(gate, "--fail-if") != 3 {
		t.Fatalf("%q", lines)
	}
	t.Chdir(t.TempDir())
	m := madeRun{
		arms: []string{"l2", "routed", "vxlan"}, workloads: []string{"rr-1k", "rr-4k", "bulk"},
		blocks: 12, level: 1e-5, scatter: 0.01,
	}
	for i, run := range []string{
		"20261121T192200Z-overlay", "20261128T190000Z-overlay", "main", "branch",
		"main-2", "main-3", "branch-2", "branch-3", "old-1", "old-2", "old-3", "new-1", "new-2", "new-3",
	} {
		m.seed = uint64(i + 1)
		if err := m.write(filepath.Join("runs", run)); err != nil {
			t.Fatal(err)
		}
	}
	const sockperf = "$ sockperf ping-pong -i 10.0.0.2 --tcp -m 64 --full-rtt -t 1\n" +
		"sockperf: == version #3.7-no.git == \n" +
		"[ 0] IP = 10.0.0.2        PORT = 11111 # TCP\n" +
		"sockperf: [Valid Duration] RunTime=0.550 sec; SentMessages=27500; ReceivedMessages=27500\n" +
		"sockperf: ====> avg-rtt=20.000 (std-dev=1.000)\n" +
		"sockperf: Summary: Round trip is 20.000 usec\n"
	for _, file := range []string{"before.txt", "after.txt", "sockperf.txt"} {
		if err := os.WriteFile(file, []byte(sockperf), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, folder := range []string{"before", "after"} {
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			output := fmt.Sprintf(`{"start": {"version": "iperf 3.12", "test_start": {"protocol": "TCP", "num_streams": 1}},
				"end": {"sum_sent": {"bits_per_second": 9.5e9}, "sum_received": {"bits_per_second": %de7}}}`, 940+i)
			if err := os.WriteFile(filepath.Join(folder, fmt.Sprint(i, ".json")), []byte(output), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, line := range lines {
		var out, errors bytes.Buffer
		code := Main(words(line)[1:], strings.NewReader(""), &out, &errors)
		// A gate may fail because of the made-up differences. A limit for all workloads is an error, because the stream
		// has no round trip.
		wrong := code == exitUsage || code == exitFailed && !strings.Contains(line, "'* ") ||
			code != exitDone && strings.HasPrefix(line, "nearfar compare")
		if wrong {
			t.Errorf("%s: exit code %d: %s%s", line, code, out.String(), errors.String())
		}
	}
}

// words splits a command line like a shell. It knows only single quotes.
func words(line string) []string {
	var words []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			words = append(words, part)
		} else {
			words = append(words, strings.Fields(part)...)
		}
	}
	return words
}
