package report

import (
	"strings"
	"testing"

	"nearfar/internal/answer"
)

// The report lists what the arms set above their figures, with control characters escaped.
func TestSettingsAreSaid(t *testing.T) {
	a := sample()
	a.Settings = []answer.Settings{{Arm: "bbr", Text: "congestion bbr in bulk"},
		{Arm: "evil", Text: "wait \x1b[31mspin"}}
	for format, title := range map[string]string{"terminal": "What the arms set\n",
		"markdown": "## What the arms set\n"} {
		text := written(t, a, Options{Format: format})
		at, figures := strings.Index(text, title), strings.Index(text, "Arms: median over trials")
		if at < 0 || at > figures || !strings.Contains(text[at:figures], "bbr: congestion bbr in bulk") ||
			strings.Contains(text, "\x1b[31mspin") {
			t.Errorf("%s:\n%s", format, text)
		}
	}
}
