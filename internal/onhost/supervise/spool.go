package supervise

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

// A spool keeps the output of one stream in a file, up to a limit. Writing to it never fails and never waits for a
// reader. A nil spool is a stream that nobody wants.
type spool struct {
	limit int64

	mu      sync.Mutex
	file    *os.File
	out     Output
	ended   bool
	closed  bool
	changed chan struct{} // closed at the next change; nil if nobody waits for one
}

func newSpool(folder string, limit int64) (*spool, error) {
	f, err := createSpoolFile(folder)
	if err != nil {
		return nil, err
	}
	return &spool{limit: limit, file: f}, nil
}

// Write keeps the bytes, or counts them if there is no room.
func (s *spool) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	room := min(int64(len(b)), s.limit-s.out.Kept)
	if s.closed || s.out.Failure != "" {
		room = 0
	}
	if room > 0 {
		n, err := s.file.WriteAt(b[:room], s.out.Kept)
		s.out.Kept += int64(n)
		if err != nil {
			s.out.Failure = err.Error()
		}
		room = int64(n)
		s.announce()
	}
	s.out.Lost += int64(len(b)) - room
	return len(b), nil
}

// announce wakes the readers. The lock is held.
func (s *spool) announce() {
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// end says that nothing more will be written.
func (s *spool) end() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.announce()
}

// read reads from an offset, waits until there is something, and returns io.EOF at the end.
func (s *spool) read(ctx context.Context, offset int64, b []byte) (int, error) {
	if s == nil {
		return 0, io.EOF
	}
	for {
		n, wait, err := s.tryRead(offset, b)
		if wait == nil {
			return n, err
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// tryRead reads the available bytes, or returns a channel that is closed at the next change.
func (s *spool) tryRead(offset int64, b []byte) (n int, wait <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return 0, nil, ErrForgotten
	case offset < 0 || offset > s.out.Kept:
		return 0, nil, errors.New("an offset beyond the end of the output")
	case offset < s.out.Kept:
		n, err = s.file.ReadAt(b[:min(int64(len(b)), s.out.Kept-offset)], offset)
		if n > 0 {
			err = nil
		}
		return n, nil, err
	case s.ended:
		return 0, nil, io.EOF
	}
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	return 0, s.changed, nil
}

func (s *spool) output() Output {
	if s == nil {
		return Output{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out
}

// close frees the file.
func (s *spool) close() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.closed = true
	s.announce()
	_ = s.file.Close()
	_ = os.Remove(s.file.Name()) // it has no name any more where files without names are possible
}

// pipes are the ends of a process's standard streams. The ends of discarded streams are nil in ours.
type pipes struct{ theirs, ours [3]*os.File }

// openPipes opens the standard streams of a process, and makes the spools of its output. What is open stays open if it
// fails.
func (s *Supervisor) openPipes(p *process, c Command) (*pipes, error) {
	all := &pipes{}
	var err error
	if len(c.Stdin) > 0 {
		all.ours[0], all.theirs[0], err = pipe(false)
	} else {
		all.theirs[0], err = os.Open(os.DevNull)
	}
	if err != nil {
		return all, err
	}
	for i, discard := range c.Discard {
		if discard {
			all.theirs[i+1], err = os.OpenFile(os.DevNull, os.O_WRONLY, 0)
		} else if all.ours[i+1], all.theirs[i+1], err = pipe(true); err == nil {
			p.output[i], err = newSpool(s.o.Folder, s.o.MaxOutput)
		}
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

// outputGrace is how long output is read after the process has ended: its children may hold the pipe open.
const outputGrace = 200 * time.Millisecond

// run feeds the process and keeps its output, until shortly after its end.
func (f *pipes) run(ended <-chan struct{}, stdin []byte, output [2]*spool) {
	var done sync.WaitGroup
	if in := f.ours[0]; in != nil {
		done.Go(func() {
			// A process need not read all of its input.
			_, _ = in.Write(stdin)
			_ = in.Close()
		})
	}
	for i, o := range output {
		if o != nil {
			done.Go(func() {
				copyOutput(o, f.ours[i+1])
				o.end()
			})
		}
	}
	go func() {
		<-ended
		for _, file := range f.ours {
			if file != nil {
				_ = file.SetDeadline(time.Now().Add(outputGrace))
			}
		}
		done.Wait()
		closeAll(f.ours[:])
	}()
}

// copyOutput copies until the end of the pipe, or until the pipe's deadline, and then what the pipe holds.
func copyOutput(to io.Writer, from *os.File) {
	b := make([]byte, 32<<10)
	for {
		n, err := from.Read(b)
		if n > 0 {
			_, _ = to.Write(b[:n]) // a spool's Write never fails
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			drain(to, from, b)
			return
		}
		if err != nil {
			return // the end of the pipe
		}
	}
}
