package rr

import (
	"testing"
	"time"
)

func TestReplyTimeout(t *testing.T) {
	for roundTrip, want := range map[time.Duration]time.Duration{0: leastReplyTimeout,
		50 * time.Millisecond: 500 * time.Millisecond, time.Second: mostReplyTimeout} {
		if got := replyTimeout(roundTrip); got != want {
			t.Errorf("%v for a round trip of %v", got, roundTrip)
		}
	}
}
