package daemon

import (
	"context"
	"os"
	"sync/atomic"
	"time"

	"nearfar/internal/agent"
)

// The worker ends when its owner is silent. A worker that is stopped (SIGSTOP), or hangs, cannot: it would keep the
// servers that it started, and their ports. So it says all the time that it works, and its keeper kills it when it does
// not.
const (
	beatFile = 4 // the worker's end of the pipe
	// beatsPerSilence is how often the worker says so in the time of silence.
	beatsPerSilence = 8
)

// beatPause is the time between two beats.
func beatPause(silence time.Duration) time.Duration {
	if silence <= 0 {
		silence = agent.DefaultSilence
	}
	return max(silence, time.Second) / beatsPerSilence
}

// beat writes to the pipe until ctx ends. The worker's end takes a while after that, and the keeper bounds it.
func beat(ctx context.Context, pipe *os.File, silence time.Duration) {
	defer func() { _ = pipe.Close() }()
	tick := time.NewTicker(beatPause(silence))
	defer tick.Stop()
	for {
		if _, err := pipe.Write([]byte{'.'}); err != nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// watchBeats calls kill if no beat comes for the time of silence. It returns when the pipe has ended. The time consists
// of steps, as in the agent's own watch: timers that expired while the machine was stopped count as one.
func watchBeats(pipe *os.File, silence time.Duration, kill func()) {
	var heard atomic.Int64
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for b := make([]byte, 64); ; {
			n, err := pipe.Read(b)
			heard.Add(int64(n))
			if err != nil {
				return
			}
		}
	}()
	pause := beatPause(silence)
	for silent, before := 0, int64(0); ; {
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ended:
			timer.Stop()
			return
		}
		if now := heard.Load(); now != before {
			silent, before = 0, now
			continue
		}
		if silent++; silent > beatsPerSilence {
			kill()
			return
		}
	}
}
