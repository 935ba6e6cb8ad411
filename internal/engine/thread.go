package engine

import "runtime"

// onThread runs a hot loop on a thread of its own, which ends with it; the returned channel is closed at the end.
// only is the one socket that the loop uses, or nil where it opens others.
func onThread(only *socket, loop func()) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		// Never unlocked: the runtime then ends the thread, and its table of files, with the goroutine.
		runtime.LockOSThread()
		own := only != nil && ownFiles()
		loop()
		if own {
			only.close() // in this thread's table; the owner closes it in the process's
		}
	}()
	return done
}

func wait(threads []<-chan struct{}) {
	for _, t := range threads {
		<-t
	}
}
