package cli

import (
	"strings"
	"testing"
	"time"
)

func TestExpiring(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		until, takes time.Duration
		want         string
	}{
		{time.Hour, 59 * time.Minute, ""},
		{time.Hour, time.Hour, ""},
		{time.Hour, 61 * time.Minute, "at least 1h1m0s more, and the machines are meant to exist until " +
			"2026-11-23T13:00:00Z, which is in 1h0m0s"},
		{-time.Second, 0, "until 2026-11-23T11:59:59Z, which is past"},
	} {
		got := expiring(now.Add(c.until), now, c.takes)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("until %v, takes %v: %q, want %q", c.until, c.takes, got, c.want)
		}
	}
}
