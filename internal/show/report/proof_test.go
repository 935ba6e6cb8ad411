package report

import (
	"strings"
	"testing"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/environment"
	"nearfar/internal/conclude/answer/proof"
	"nearfar/internal/declare/check"
)

// unproved is an answer in which vxlan is not proved to be what it claims, with hostile evidence.
func unproved() answer.Answer {
	a := sample()
	const text = "vxlan is not proved to be what it claims: encapsulation vxlan is refuted in 2 of 10 trials"
	for i := range a.Comparisons {
		if a.Comparisons[i].Arm == "vxlan" {
			a.Comparisons[i].Unproved = text
		}
	}
	a.Layers[1].Unproved = text
	a.Proof = []proof.ArmProof{
		{Arm: "l2", Outcome: check.Proved, Trials: 10, Expectations: []proof.ExpectationOver{
			{Expectation: check.Expectation{Name: check.ExpectEncapsulation, Value: "none"}, Outcome: check.Proved,
				Proved: 10, Evidence: "client: eth0 sent 12 packets without a tunnel; server: eth0 sent 12"},
		}},
		{Arm: "vxlan", Outcome: check.Refuted, Trials: 10, Dropped: 1, Expectations: []proof.ExpectationOver{
			{Expectation: check.Expectation{Name: check.ExpectEncapsulation, Value: "vxlan"}, Outcome: check.Refuted,
				Proved: 8, Refuted: 2, Evidence: "packets left by \x1b[31meth0 <script>", NotProved: []int{3, 9}},
			{Expectation: check.Expectation{Name: check.ExpectFact, Path: "client.kernel", Value: "6.8"},
				Outcome: check.Unknown, Proved: 9, Unknown: 1, Evidence: "there is no fact client.kernel"},
		}},
	}
	a.Unproved = text + "."
	a = withFindings(a)
	a.Verdict += " " + a.Unproved
	return a
}

func TestGoldenOfUnproved(t *testing.T) {
	for _, format := range []string{"terminal", "markdown", "csv"} {
		text := written(t, unproved(), Options{Format: format})
		golden(t, "unproved-"+format, text)
		checkHarmless(t, format, text)
	}
}

func TestTheFirstLineSaysThatAnAnswerIsUnverified(t *testing.T) {
	a := unproved()
	a.AllowUnverified()
	for format, begin := range map[string]string{"terminal": "", "markdown": "**"} {
		text := written(t, a, Options{Format: format, Width: 200})
		line, _, _ := strings.Cut(text, "\n")
		if want := begin + "Unverified, as --allow-unverified permits: vxlan is not proved"; !strings.HasPrefix(
			strings.ReplaceAll(line, `\`, ""), want) {
			t.Errorf("%s begins with %q", format, line)
		}
	}
}

// What providers answered is a line for each host, safe for a terminal.
func TestProviderAnswers(t *testing.T) {
	group := "pg\x1b[31m"
	a := answer.Answer{
		Ran: answer.Ran{Baseline: "near"},
		Hosts: environment.Hosts{ProviderAnswers: []environment.ProviderAnswer{
			{Arm: "near", Side: "client", Cloud: "aws", Instance: "i-1", Deployments: []int{1, 2},
				Provider: check.Provider{Group: &group, Strategy: "cluster", NetworkNodes: []string{"nn-1", "nn-2"}}},
		}},
	}
	text := written(t, a, Options{Width: 200})
	const want = "What the providers answered\n  near, client (aws i-1) in deployments [1 2]: group pg\\u001b[31m, " +
		"strategy cluster, network nodes nn-1 nn-2\n"
	if !strings.Contains(text, want) {
		t.Errorf("%q lacks %q", text, want)
	}
	for range mostProviderAnswers + 1 {
		a.ProviderAnswers = append(a.ProviderAnswers, a.ProviderAnswers[0])
	}
	if text := written(t, a, Options{}); !strings.Contains(text, "\n  2 more: -f json lists all.\n") {
		t.Errorf("a long list: %s", text)
	}
}

func TestUnprovedFitsTheTerminal(t *testing.T) {
	for width := leastWidth; width <= 200; width += 3 {
		for line := range strings.Lines(written(t, unproved(), Options{Width: width})) {
			if columns(strings.TrimRight(line, "\n")) > width {
				t.Fatalf("width %d, %d columns: %s", width, columns(line), line)
			}
		}
	}
}
