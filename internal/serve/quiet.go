package serve

import (
	"fmt"
	"runtime"
)

// quiet does work on one thread of the lowest priority, one piece after the other, so that it takes only the time that the
// measuring programs leave.
type quiet struct{ work chan func() }

func newQuiet() *quiet {
	q := &quiet{work: make(chan func())}
	go q.serve()
	return q
}

// serve never returns: its thread cannot be given back to the Go scheduler, because nobody may raise its priority again, and
// must not end, because the kernel kills the processes that a thread has started with it where they asked for that, as the
// lab's do.
func (q *quiet) serve() {
	runtime.LockOSThread()
	lowerPriority()
	for f := range q.work {
		f()
	}
}

// do waits until f has been done. What makes f panic is an error: a page is not worth a run.
func (q *quiet) do(f func()) error {
	ended := make(chan error, 1)
	q.work <- func() {
		defer func() {
			if problem := recover(); problem != nil {
				ended <- fmt.Errorf("the page's data cannot be made: %v", problem)
				return
			}
			ended <- nil
		}()
		f()
	}
	return <-ended
}
