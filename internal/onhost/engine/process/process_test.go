package process

import (
	"runtime"
	"testing"
)

// TestSessionsStartWithLittleMemory: a process that has served for long does not reach its memory limit while it
// measures. The collector would start then, and could not stop a hot thread that waits in the kernel.
func TestSessionsStartWithLittleMemory(t *testing.T) {
	Tune()
	var earlier []byte
	for range 40 {
		earlier = make([]byte, memoryLimit/100)
	}
	runtime.KeepAlive(earlier)
	FreeMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if m.HeapAlloc > memoryLimit/20 {
		t.Errorf("%d bytes are in use", m.HeapAlloc)
	}
}

// TestHotLoopsLeaveTheMainThread: the runtime never ends the first thread of a process, so a table of files that a loop
// had for itself there would keep the session's connections open for good.
func TestHotLoopsLeaveTheMainThread(t *testing.T) {
	for range 200 {
		<-OnThread(nil, func() {
			if onMainThread() {
				t.Error("a loop runs on the main thread")
			}
		})
	}
}

func TestPreemptionOff(t *testing.T) {
	for text, want := range map[string]bool{"": false, "asyncpreemptoff=1": true, "a=b, asyncpreemptoff=1": true,
		"asyncpreemptoff=0": false} {
		if preemptionOff(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
	env := WithPreemptionOff([]string{"A=1", "GODEBUG=x=y"})
	if len(env) != 2 || env[0] != "A=1" || env[1] != "GODEBUG=asyncpreemptoff=1,x=y" {
		t.Errorf("%q", env)
	}
}
