package wire

import (
	"encoding/json"
	"strings"
	"testing"

	"nearfar/internal/base/clean"
)

// TestPeerTextIsClean: the other side's text about a failure cannot act on a terminal, and is bounded.
func TestPeerTextIsClean(t *testing.T) {
	payload, err := json.Marshal(Failure{
		Message: "no\x1b]0;owned\x07\u009b2J\r\u202e\u200b" + strings.Repeat("x", 10_000),
	})
	if err != nil {
		t.Fatal(err)
	}
	said := DecodeFailure(payload).Error()
	if strings.ContainsFunc(said, func(r rune) bool { return !clean.Shown(r) }) || len(said) > 1000 ||
		!strings.HasPrefix(said, `no\u001b]0;owned\u0007`) {
		t.Errorf("%.1000q", said)
	}
}
