package serve

import (
	"fmt"
	"runtime"
	"time"
)

// quiet runs functions one after the other on a thread of the lowest priority, so that they use only CPU time that the
// measuring programs leave.
type quiet struct{ work chan func() }

func newQuiet() *quiet {
	q := &quiet{work: make(chan func())}
	go q.serve()
	return q
}

// serve never returns. Its thread cannot go back to the Go scheduler, because an ordinary user may not raise its
// priority again. It must not end either: the kernel would kill the processes that were started by this thread and
// asked for a signal at its end (PR_SET_PDEATHSIG), such as the lab's.
func (q *quiet) serve() {
	runtime.LockOSThread()
	lowerPriority()
	for f := range q.work {
		f()
	}
}

// do runs f and waits for its end. It returns the CPU time that f used. A panic of f becomes an error.
func (q *quiet) do(f func()) (time.Duration, error) {
	type end struct {
		used time.Duration
		err  error
	}
	ended := make(chan end, 1)
	q.work <- func() {
		before := threadTime()
		err := guarded(f)
		ended <- end{threadTime() - before, err}
	}
	e := <-ended
	return e.used, e.err
}

// guarded runs f. A panic of f becomes an error, so that a page cannot end a run.
func guarded(f func()) (err error) {
	defer func() {
		if problem := recover(); problem != nil {
			err = fmt.Errorf("the page's data cannot be made: %v", problem)
		}
	}()
	f()
	return nil
}
