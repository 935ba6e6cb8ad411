package engine

import (
	"strings"
	"testing"

	"nearfar/internal/onhost/engine/enginetest"
	"nearfar/internal/onhost/engine/session"
	"nearfar/internal/onhost/engine/wire"
)

// TestSecretLength: both sides refuse a secret that could be guessed, and no message holds it.
func TestSecretLength(t *testing.T) {
	for secret, want := range map[string]string{
		"x":                                   "1 character,",
		"sieben7":                             "7 characters,",
		"größe42":                             "7 characters,",
		strings.Repeat("l", wire.MaxSecret+1): "longer than 1024 bytes",
	} {
		served := Serve(t.Context(), session.ServeOptions{Listen: "127.0.0.1:0", Secret: []byte(secret)})
		o := session.RunOptions{Server: "127.0.0.1:1", Secret: []byte(secret), Params: enginetest.RR(wire.TCP)}
		_, measured := Run(t.Context(), o, &collector{})
		for side, err := range map[string]error{"server": served, "client": measured} {
			if err == nil || !strings.Contains(err.Error(), want) ||
				len(secret) > 1 && strings.Contains(err.Error(), secret) {
				t.Errorf("%s, %.20q: %v", side, secret, err)
			}
		}
	}
	for _, secret := range []string{"achtacht", "größe 42", strings.Repeat("l", wire.MaxSecret)} {
		if err := wire.CheckSecret([]byte(secret)); err != nil {
			t.Errorf("%.20q: %v", secret, err)
		}
	}
}
