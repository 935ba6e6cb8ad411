package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"nearfar/internal/base/bounded"
	"nearfar/internal/onhost/host"
)

// besideGrace is how long a process beside a trial may take to write down what it saw.
const besideGrace = 10 * time.Second

// A beside is a process on a host that looks at a trial: one that watches the kernel, or captures packets. What it
// cannot do never fails the trial.
type beside struct {
	host host.Host
	// verb is what it runs, with the options as its standard input. name is what it is called.
	verb, name string
	options    []byte
	// says is the line on its standard error with which it says that it has begun.
	says string
	// most is how many bytes it may write.
	most    int
	out     *bounded.Buffer
	errs    *watched
	process host.Process
	// problem says why nothing is known; empty for none.
	problem string
}

// A looker is a process beside a trial that gives a T in the end.
type looker[T any] interface {
	begin(ctx context.Context, limit time.Duration)
	end() T
}

// lookers are the processes of one kind beside a trial: one, or one for each side's machine.
type lookers[T any] struct {
	all []looker[T]
	// ready is how long each may take until it has begun.
	ready time.Duration
	once  sync.Once
	given []T
}

// begin starts them, and returns when each has begun or failed.
func (l *lookers[T]) begin(ctx context.Context) {
	var starting sync.WaitGroup
	for _, one := range l.all {
		starting.Go(func() { one.begin(ctx, l.ready) })
	}
	starting.Wait()
}

// end ends them, and gives what each has. A second call gives the same.
func (l *lookers[T]) end() []T {
	l.once.Do(func() {
		l.given = make([]T, len(l.all))
		var ending sync.WaitGroup
		for i, one := range l.all {
			ending.Go(func() { l.given[i] = one.end() })
		}
		ending.Wait()
	})
	return l.given
}

// begin starts the process, and returns when it has begun or failed.
func (b *beside) begin(ctx context.Context, limit time.Duration) {
	if b.problem != "" {
		return
	}
	b.out, b.errs = bounded.New(b.most), &watched{Buffer: bounded.New(floodKept)}
	ready := b.errs.when(func(printed []byte) bool {
		return slices.Contains(strings.Split(string(printed), "\n"), b.says)
	})
	process, err := b.host.Start(ctx, host.Cmd{
		Argv: []string{host.Self, b.verb}, Stdin: b.options, Stdout: b.out, Stderr: b.errs,
	})
	if err != nil {
		b.problem = err.Error()
		return
	}
	b.process = process
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = process.Wait() // what it printed says how it ended
	}()
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	select {
	case <-ready:
	case <-ended:
	case <-limited.Done():
		b.problem = fmt.Sprintf("the %s was not ready within %v", b.name, limit)
	}
}

// end ends the process, and gives what it wrote if read can read that. Else problem says why nothing is known.
func (b *beside) end(read func(printed []byte) error) (printed []byte, problem string) {
	if b.process != nil {
		err := errors.Join(b.process.Stop(besideGrace), b.process.Wait())
		wrong := b.readable(read)
		switch {
		case wrong == nil:
			return b.out.Bytes(), ""
		case b.problem != "":
		case err != nil:
			b.problem = fmt.Sprintf("the %s failed: %v; %s", b.name, err, b.errs.Tail())
		default:
			b.problem = fmt.Sprintf("the %s's recording cannot be read: %v", b.name, wrong)
		}
	}
	if b.problem == "" {
		b.problem = "the trial ended before its client was started"
	}
	return nil, b.problem
}

func (b *beside) readable(read func(printed []byte) error) error {
	if cut := b.out.Cut(); cut != "" {
		return errors.New(cut)
	}
	return read(b.out.Bytes())
}
