package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"
)

// gateOf makes two runs and runs the command on them.
func gateOf(t *testing.T, base, other madeRun, args ...string) (code int, stdout string) {
	t.Helper()
	parent := t.TempDir()
	a, b := filepath.Join(parent, "base"), filepath.Join(parent, "new")
	for path, m := range map[string]madeRun{a: base, b: other} {
		if err := m.write(path); err != nil {
			t.Fatal(err)
		}
	}
	var out, errors bytes.Buffer
	code = Main(append([]string{"gate", a, b}, args...), strings.NewReader(""), &out, &errors)
	if code != exitDone && code != exitGate {
		t.Fatalf("exit code %d: %s", code, errors.String())
	}
	if err := os.RemoveAll(parent); err != nil {
		t.Fatal(err)
	}
	return code, out.String()
}

// TestGateOnRunsThatAreAlike: of pairs of runs between which nothing differs, a gate that looks for any change at all, in either
// direction and in two arms, fails none: its rules have no margin, and nothing tells how much single runs differ.
func TestGateOnRunsThatAreAlike(t *testing.T) {
	for _, blocks := range []int{7, 10, 20} {
		const pairs = 200
		counts := map[string]int{}
		for i := range uint64(pairs) {
			m := madeRun{arms: []string{"l2", "vxlan"}, workloads: []string{"rr"}, blocks: blocks, level: 10e-6, scatter: 0.03}
			base, other := m, m
			base.seed, other.seed = 1000*uint64(blocks)+2*i, 1000*uint64(blocks)+2*i+1
			code, out := gateOf(t, base, other, "--fail-if", "rr rtt.p50 > +0%", "--fail-if", "rr rtt.p50 < -0%")
			first, _, _ := strings.Cut(out, "\n")
			counts[first]++
			if (code == exitGate) != (first == "Gate: FAILED") {
				t.Fatalf("exit code %d with %q", code, first)
			}
		}
		t.Logf("%d blocks: %v", blocks, counts)
		if counts["Gate: FAILED"] > 0 {
			t.Errorf("%d blocks: failed in %d of %d pairs", blocks, counts["Gate: FAILED"], pairs)
		}
	}
}

// TestGateForFivePercentOnRunsThatAreAlike: with enough blocks it passes nearly always.
func TestGateForFivePercentOnRunsThatAreAlike(t *testing.T) {
	const pairs = 200
	counts := map[string]int{}
	for i := range uint64(pairs) {
		base := madeRun{arms: []string{"l2"}, workloads: []string{"rr"}, blocks: 20, level: 10e-6, scatter: 0.03, seed: 90_000 + 2*i}
		other := base
		other.seed++
		_, out := gateOf(t, base, other, "--fail-if", "rr rtt.p50 > +5%")
		first, _, _ := strings.Cut(out, "\n")
		counts[first]++
	}
	t.Logf("%v", counts)
	if counts["Gate: FAILED"] > 0 || counts["Gate: passed"] < pairs*95/100 {
		t.Errorf("%v", counts)
	}
}

// TestGateOnATrueRise: of a hundred pairs of runs of which the second is 10 % slower, with enough blocks the gate for 5 % fails at
// least 95; the one for 20 % passes as often.
func TestGateOnATrueRise(t *testing.T) {
	const pairs, blocks = 200, 20
	failed, passed := 0, 0
	for i := range uint64(pairs) {
		base := madeRun{arms: []string{"l2"}, workloads: []string{"rr"}, blocks: blocks, level: 10e-6, scatter: 0.03, seed: 50_000 + 2*i}
		other := base
		other.level, other.seed = 11e-6, base.seed+1
		if code, _ := gateOf(t, base, other, "--fail-if", "rr rtt.p50 > +5%"); code == exitGate {
			failed++
		}
		if _, out := gateOf(t, base, other, "--fail-if", "rr rtt.p50 > +20%"); strings.HasPrefix(out, "Gate: passed") {
			passed++
		}
	}
	t.Logf("+10 %% with %d blocks and 3 %% scatter: a gate for 5 %% failed %d of %d, one for 20 %% passed %d", blocks, failed, pairs, passed)
	if failed < pairs*95/100 || passed < pairs*95/100 {
		t.Errorf("+10 %%: a gate for 5 %% failed %d of %d, one for 20 %% passed %d", failed, pairs, passed)
	}
}

// TestHostileTextInSides: whatever hosts and files say, no form of compare, gate or report holds what a terminal, a page or a
// spreadsheet would act upon, nor grows without bounds.
func TestHostileTextInSides(t *testing.T) {
	text := "=cmd|' /C calc'!A0 <script>alert(1)</script> \x1b]0;owned\x07\x1b[31m\r\n::stop-commands::x\t" + strings.Repeat("endless ", 10<<20/8)
	arm := "=arm\x1b[2J<script>alert(1)</script>\r\n+x"
	parent := t.TempDir()
	a, b := filepath.Join(parent, "a"), filepath.Join(parent, "b")
	for path, seed := range map[string]uint64{a: 1, b: 2} {
		m := madeRun{arms: []string{arm, "l2"}, workloads: []string{"@w\x1b[1m"}, blocks: 2, seed: seed, level: 1e-5, scatter: 0.01}
		m.text = text
		if err := m.write(path); err != nil {
			t.Fatal(err)
		}
	}
	for _, command := range [][]string{
		{"compare", "-f", "terminal", a, b}, {"compare", "-f", "markdown", a, b}, {"compare", "-f", "csv", a, b},
		{"report", "-f", "terminal", a}, {"report", "-f", "markdown", a}, {"report", "-f", "csv", a},
		{"gate", "-f", "terminal", a, b, "--fail-if", "* rtt.p50 > +5%"}, {"gate", "-f", "markdown", a, b, "--fail-if", "* rtt.p50 > +5%"},
		{"gate", "-f", "junit", a, b, "--fail-if", "* rtt.p50 > +5%"}, {"gate", "-f", "github", a, b, "--fail-if", "* rtt.p50 > +5%"},
		{"compare", a + ":nothing", b}, {"gate", a, b + ":nothing", "--fail-if", "* rtt.p50 > +5%"},
	} {
		var out, errors bytes.Buffer
		Main(command, strings.NewReader(""), &out, &errors)
		what := strings.Join(command[:3], " ")
		if out.Len()+errors.Len() > 1<<20 {
			t.Errorf("%s: %d bytes", what, out.Len()+errors.Len())
		}
		for _, r := range out.String() + errors.String() {
			if r < ' ' && r != '\n' || r == 0x7f {
				t.Fatalf("%s holds the control character %q", what, r)
			}
		}
		if (command[2] == "markdown" || command[2] == "junit") && strings.Contains(out.String(), "<script>") {
			t.Errorf("%s holds a tag", what)
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

// TestSidesOfTenThousandTrials compares and gates runs of 10,000 trials a side. It asserts what is said; how long it took, which
// depends on the machine, it prints with -v.
func TestSidesOfTenThousandTrials(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 20,000 trials")
	}
	m := madeRun{arms: []string{"l2", "routed", "vxlan", "dlr", "full"}, workloads: []string{"rr", "rr-1k"}, blocks: 1000, level: 10e-6, scatter: 0.02, seed: 1}
	base := made(t, "base", m)
	m.seed, m.factor = 2, map[string]float64{"full": 1.01}
	other := made(t, "new", m)
	var out, errors bytes.Buffer
	begun := time.Now()
	if code := Main([]string{"compare", base, other}, strings.NewReader(""), &out, &errors); code != exitDone || !strings.Contains(out.String(), "full +") {
		t.Errorf("exit code %d: %.400s %s", code, out.String(), errors.String())
	}
	t.Logf("compare took %v", time.Since(begun))
	out.Reset()
	begun = time.Now()
	if code := Main([]string{"gate", base, other, "--fail-if", "rr rtt.p50 > +0.5%"}, strings.NewReader(""), &out, &errors); code != exitGate {
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
		t.Fatalf("the workflow is no YAML: %v", err)
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
	m := madeRun{arms: []string{"l2", "routed", "vxlan"}, workloads: []string{"rr-1k", "rr-4k", "bulk"}, blocks: 12, level: 1e-5, scatter: 0.01}
	for i, run := range []string{"20261121T192200Z-overlay", "20261128T190000Z-overlay", "main", "branch", "main-2", "main-3", "branch-2", "branch-3",
		"old-1", "old-2", "old-3", "new-1", "new-2", "new-3"} {
		m.seed = uint64(i + 1)
		if err := m.write(filepath.Join("runs", run)); err != nil {
			t.Fatal(err)
		}
	}
	const sockperf = "$ sockperf ping-pong -i 10.0.0.2 --tcp -m 64 --full-rtt -t 1\nsockperf: == version #3.7-no.git == \n" +
		"[ 0] IP = 10.0.0.2        PORT = 11111 # TCP\nsockperf: [Valid Duration] RunTime=0.550 sec; SentMessages=27500; ReceivedMessages=27500\n" +
		"sockperf: ====> avg-rtt=20.000 (std-dev=1.000)\nsockperf: Summary: Round trip is 20.000 usec\n"
	for _, file := range []string{"before.txt", "after.txt", "sockperf.txt"} {
		if err := os.WriteFile(file, []byte(sockperf), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, line := range lines {
		var out, errors bytes.Buffer
		code := Main(words(line)[1:], strings.NewReader(""), &out, &errors)
		// A limit for every workload is an error where one of them is a stream, and a made-up difference may fail a gate.
		if strings.HasPrefix(line, "nearfar compare") && code != exitDone || code == exitUsage || code == exitFailed && !strings.Contains(line, "'* ") {
			t.Errorf("%s: exit code %d: %s%s", line, code, out.String(), errors.String())
		}
	}
}

// words parts a command line as a shell does; only single quotes are known.
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
