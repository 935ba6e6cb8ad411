package process

import (
	"runtime"
)

// OnThread runs a hot loop on a thread of its own, which ends with the loop. The returned channel is closed at the
// end. closeOwn closes the only socket that the loop uses; it is nil if the loop opens others.
//
// A goroutine that was not started this way must not wait in the kernel without a limit. The runtime does not know that
// it waits. If its thread was the one that waits for the runtime's timers, no other takes that over, and the time limit
// that should interrupt it never comes.
func OnThread(closeOwn func(), loop func()) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if onMainThread() {
			// The runtime never ends the main thread, so its table of files would keep connections open that the
			// process has closed. While the main thread is locked here, the loop runs on another one.
			<-OnThread(closeOwn, loop)
			runtime.UnlockOSThread()
			return
		}
		// The thread stays locked: the runtime then ends it, and its table of files, together with the goroutine.
		own := closeOwn != nil && ownFiles()
		loop()
		if own {
			closeOwn() // in this thread's table; the owner closes it in the process's
		}
	}()
	return done
}

// Wait waits for threads that OnThread started.
func Wait(threads []<-chan struct{}) {
	for _, t := range threads {
		<-t
	}
}
