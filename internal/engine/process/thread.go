package process

import (
	"runtime"
)

// OnThread runs a hot loop on a thread of its own, which ends with it; the returned channel is closed at the end.
// only closes the one socket that the loop uses; nil where it opens others.
func OnThread(only func(), loop func()) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if onMainThread() {
			// The runtime never ends this one: its table of files would keep connections open that the process has closed. While
			// it is locked here, the loop runs on another.
			<-OnThread(only, loop)
			runtime.UnlockOSThread()
			return
		}
		// Never unlocked: the runtime then ends the thread, and its table of files, with the goroutine.
		own := only != nil && ownFiles()
		loop()
		if own {
			only() // in this thread's table; the owner closes it in the process's
		}
	}()
	return done
}

func Wait(threads []<-chan struct{}) {
	for _, t := range threads {
		<-t
	}
}
