package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"time"

	"nearfar/internal/onhost/host"
	"nearfar/internal/onhost/machine"
	"nearfar/internal/onhost/supervise"
)

// handle serves one call. The error is one of the connection.
func (s *server) handle(ctx context.Context, stream io.ReadWriter) error {
	var q request
	in := &budgeted{r: stream, used: &s.requests}
	defer in.giveBack()
	if err := readMessage(in, maxMessage, &q); errors.Is(err, errBusy) {
		return writeMessage(stream, failure(err))
	} else if err != nil {
		return err
	}
	if q.hasBody() {
		return s.handleBody(ctx, stream, in, q)
	}
	if err := s.refusal(q); err != nil {
		return writeMessage(stream, failure(err))
	}
	// The owner sends nothing more on this stream. When it gives the call up, it closes the stream.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = stream.Read(make([]byte, 1))
		cancel()
	}()
	if q.Early {
		if err := s.supervisor.Await(ctx, q.Key); err != nil {
			return writeMessage(stream, failure(err))
		}
	}
	if q.Call == callRead {
		return s.read(ctx, stream, q)
	}
	r, err := s.answer(ctx, q)
	return writeMessage(stream, result(r, err))
}

// refusal is why no call is served, or not this one.
func (s *server) refusal(q request) error {
	select {
	case <-s.ending:
		if q.Call != callClose && q.Call != callRelease {
			return errEnding
		}
	default:
	}
	return q.check()
}

// handleBody serves a call with a body. It reads all of the body, because the owner sends it all before it reads the
// reply.
// What stays in memory is read from in.
func (s *server) handleBody(ctx context.Context, stream io.ReadWriter, in *budgeted, q request) error {
	body := &chunkReader{r: stream}
	failed := s.refusal(q)
	var r reply
	switch {
	case failed != nil:
	case q.Call == callPut && s.o.Allow != nil && !s.o.Commands:
		failed = errNoFiles
	case q.Call == callPut:
		failed = s.files.put(string(q.Path), fs.FileMode(q.Mode), body, q.Size)
	default:
		body.r = in
		stdin, err := io.ReadAll(io.LimitReader(body, q.Size+1))
		body.r = stream
		if errors.Is(err, errBusy) {
			return writeMessage(stream, failure(err))
		}
		if err != nil {
			return err
		}
		if int64(len(stdin)) != q.Size {
			failed = fmt.Errorf("%w: a body of another length", errProtocol)
			break
		}
		r.Started, failed = s.begin(ctx, q, stdin)
	}
	if _, err := io.Copy(io.Discard, io.LimitReader(body, maxPut)); err != nil {
		return err
	}
	return writeMessage(stream, result(r, failed))
}

func result(r reply, err error) reply {
	if err != nil {
		return failure(err)
	}
	return r
}

// answer carries out a call without a body.
func (s *server) answer(ctx context.Context, q request) (reply, error) {
	switch q.Call {
	case callFacts:
		return reply{Facts: new(readFacts(s.o.Folder))}, nil
	case callWait:
		end, err := s.supervisor.Wait(ctx, q.Key)
		return reply{Code: end.Code, Signal: end.Signal, OOM: end.OutOfMemory, Ended: end.At}, err
	case callStop:
		return reply{}, s.supervisor.Stop(ctx, q.Key, q.Grace)
	case callKill:
		return reply{}, s.supervisor.Kill(q.Key)
	case callForget:
		return reply{}, s.supervisor.Forget(q.Key)
	case callServes:
		return reply{}, s.supervisor.Serves(ctx, q.Key, q.Protocol, q.Port)
	case callObserve:
		o, err := s.observe(ctx, q)
		return reply{Observed: &o}, err
	case callReserve:
		return reply{}, s.reserved.reserve(q.Key, q.Ports)
	case callClock:
		return reply{Now: time.Now().Round(0)}, nil
	case callLoad:
		if load, known := machine.ReadLoad(ctx); known {
			return reply{Load: &load}, nil
		}
		return reply{}, nil
	case callWireBegin:
		return reply{}, s.wires.begin(q.Key, q.Wire, s.o.Allow != nil)
	case callWireEnd:
		seen, err := s.wires.end(q.Key)
		return reply{Wire: seen}, err
	case callRelease, callClose:
		released := q.Call == callRelease
		if released && s.o.Release == nil {
			break
		}
		if released {
			s.released.Store(true)
		}
		s.asked.Store(true)
		s.end()
		<-s.ended
		if released && s.failed == nil {
			s.o.Release()
		}
		return reply{}, s.failed
	}
	return reply{}, fmt.Errorf("%w: %w", errProtocol, errUnknownCall)
}

// errNoFiles is the error of an agent with ServerOptions.Allow.
var errNoFiles = errors.New("this agent only runs measuring tools: it takes no files, and tells nothing about files")

// endedFirst is how long a start waits for the end of the process before it: longer than anybody gives a server to end.
const endedFirst = 30 * time.Second

// begin starts a process when all that comes before it is done.
func (s *server) begin(ctx context.Context, q request, stdin []byte) (started time.Time, err error) {
	if q.Ended != "" {
		limited, cancel := context.WithTimeout(ctx, endedFirst)
		defer cancel()
		if err := s.supervisor.Gone(limited, q.Ended); err != nil {
			return started, fmt.Errorf("the process before it did not end: %w", err)
		}
	}
	if q.After != "" {
		limited, cancel := context.WithTimeout(ctx, observeFirst)
		defer cancel()
		s.observations.await(limited, q.After)
	}
	if err := s.start(q, stdin); err != nil {
		return started, err
	}
	return s.supervisor.Started(q.Key)
}

func (s *server) start(q request, stdin []byte) error {
	argv := convert[string](q.Argv)
	if s.o.Allow != nil {
		c := host.Cmd{Argv: argv, Env: convert[string](q.Env), Stdin: stdin}
		if err := s.o.Allow(&c); err != nil {
			return err
		}
		argv = c.Argv
	}
	return s.supervisor.Start(q.Key, supervise.Command{
		Argv: argv, Env: append(temporaryFolder(s.files.root), convert[string](q.Env)...),
		Stdin: stdin, CPUs: q.CPUs, Discard: q.Discard,
	})
}

// temporaryFolder sets the folder for temporary files of a process.
func temporaryFolder(folder string) []string {
	if runtime.GOOS == "windows" {
		return []string{"TMP=" + folder, "TEMP=" + folder}
	}
	return []string{"TMPDIR=" + folder}
}

// read sends the output of a process from an offset until its end, and then the state of the process.
func (s *server) read(ctx context.Context, stream io.ReadWriter, q request) error {
	if _, err := s.supervisor.Output(q.Key, q.Stream); err != nil {
		return writeMessage(stream, failure(err))
	}
	if err := writeMessage(stream, reply{}); err != nil {
		return err
	}
	chunks := &chunkWriter{w: stream}
	b := make([]byte, maxChunk)
	for offset := q.Offset; ; {
		n, err := s.supervisor.Read(ctx, q.Key, q.Stream, offset, b)
		if n > 0 {
			if _, err := chunks.Write(b[:n]); err != nil {
				return err
			}
			offset += int64(n)
		}
		if err == nil {
			continue
		}
		if closeErr := chunks.Close(); closeErr != nil {
			return closeErr
		}
		if !errors.Is(err, io.EOF) {
			return writeMessage(stream, failure(err))
		}
		out, err := s.supervisor.Output(q.Key, q.Stream)
		return writeMessage(stream, result(reply{Output: &out}, err))
	}
}
