package report

import (
	"strings"
	"testing"

	"nearfar/internal/conclude/answer"
)

// The report lists the paths of the arms, and what they set beside them.
func TestPathsAreSaid(t *testing.T) {
	a := sample()
	a.Settings = []answer.Settings{{Arm: "near", Path: "bridge"}, {Arm: "far", Path: "wire (1ms each way)", Text: "ip 6"}}
	text := written(t, a, Options{Format: "terminal"})
	for _, want := range []string{"What the arms are\n", "near: bridge\n", "far: wire (1ms each way); sets ip 6\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}

// The report lists what the arms set above their figures, with control characters escaped.
func TestSettingsAreSaid(t *testing.T) {
	a := sample()
	a.Settings = []answer.Settings{{Arm: "bbr", Text: "congestion bbr in bulk"},
		{Arm: "evil", Text: "wait \x1b[31mspin"}}
	for format, title := range map[string]string{"terminal": "What the arms set\n",
		"markdown": "## What the arms set\n"} {
		text := written(t, a, Options{Format: format})
		at, arms := strings.Index(text, title), strings.Index(text, "Arms: median over trials")
		if at < 0 || at > arms || !strings.Contains(text[at:arms], "bbr: congestion bbr in bulk") ||
			strings.Contains(text, "\x1b[31mspin") {
			t.Errorf("%s:\n%s", format, text)
		}
	}
}
