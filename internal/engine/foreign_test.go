package engine

import (
	"encoding/json"
	"strings"
	"testing"

	"nearfar/internal/clean"
)

// TestSecretLength: both sides refuse a secret that could be guessed, and no message holds it.
func TestSecretLength(t *testing.T) {
	for secret, want := range map[string]string{
		"x":                              "1 character,",
		"sieben7":                        "7 characters,",
		"größe42":                        "7 characters,",
		strings.Repeat("l", MaxSecret+1): "longer than 1024 bytes",
	} {
		served := Serve(t.Context(), ServeOptions{Listen: "127.0.0.1:0", Secret: []byte(secret)})
		o := RunOptions{Server: "127.0.0.1:1", Secret: []byte(secret), Params: rrParams(TCP)}
		_, measured := Run(t.Context(), o, &collector{})
		for side, err := range map[string]error{"server": served, "client": measured} {
			if err == nil || !strings.Contains(err.Error(), want) ||
				len(secret) > 1 && strings.Contains(err.Error(), secret) {
				t.Errorf("%s, %.20q: %v", side, secret, err)
			}
		}
	}
	for _, secret := range []string{"achtacht", "größe 42", strings.Repeat("l", MaxSecret)} {
		if err := CheckSecret([]byte(secret)); err != nil {
			t.Errorf("%.20q: %v", secret, err)
		}
	}
}

// TestPeerTextIsClean: what the other side says of a failure cannot act on a terminal, and is bounded.
func TestPeerTextIsClean(t *testing.T) {
	payload, err := json.Marshal(failure{
		Message: "no\x1b]0;owned\x07\u009b2J\r\u202e\u200b" + strings.Repeat("x", 10_000),
	})
	if err != nil {
		t.Fatal(err)
	}
	said := decodeFailure(payload).Error()
	if strings.ContainsFunc(said, func(r rune) bool { return !clean.Shown(r) }) || len(said) > 1000 ||
		!strings.HasPrefix(said, `no\u001b]0;owned\u0007`) {
		t.Errorf("%.1000q", said)
	}
}
