package session

import (
	"testing"
	"time"
)

// TestShortWindows: a window gives a figure if it was at least half as long as asked for, and something came.
func TestShortWindows(t *testing.T) {
	const asked = 100 * time.Millisecond
	for _, w := range []struct {
		had   time.Duration
		count int64
		want  string
	}{
		{asked, 1, ""},
		{asked / 2, 1, ""},
		{3 * asked, 1, ""},
		{asked/2 - 1, 1 << 30, "the window gives no figure: 100ms were asked for, 50ms passed on the client's clock, and " +
			"1073741824 bytes were received in it: a machine was too busy, or the path stood still"},
		{12345678, 7, "the window gives no figure: 100ms were asked for, 12.346ms passed on the client's clock, and " +
			"7 bytes were received in it: a machine was too busy, or the path stood still"},
		{asked, 0, "the window gives no figure: 100ms were asked for, 100ms passed on the client's clock, and " +
			"0 bytes were received in it: a machine was too busy, or the path stood still"},
		{0, 0, "the window gives no figure: 100ms were asked for, 0s passed on the client's clock, and " +
			"0 bytes were received in it: a machine was too busy, or the path stood still"},
	} {
		got := ""
		if err := CheckWindow(asked, w.had, w.count, "bytes were received"); err != nil {
			got = err.Error()
		}
		if got != w.want {
			t.Errorf("%v with %d bytes: %q\nwant %q", w.had, w.count, got, w.want)
		}
	}
}
