package steps

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"nearfar/internal/base/clean"
	"nearfar/internal/base/processgroup"
)

// skipCode is the exit code with which a command says that a step cannot be tested, as for `git bisect run`
// (https://git-scm.com/docs/git-bisect). From abortCode on, it says that nothing can go on: a shell has 126 and 127 for
// commands that it cannot run, and 128 and more for those that a signal ended.
const (
	skipCode  = 125
	abortCode = 126
)

const (
	// lastPrinted is how much of the end of a command's output is read for its last line, in bytes, and maxSaid how
	// much of that line is shown, in characters.
	lastPrinted = 4 << 10
	maxSaid     = 300
	// endDelay is how long a command may take to end after it was told to.
	endDelay = 10 * time.Second
)

// A SkipError says that a step cannot be put in place.
type SkipError struct{ Why string }

func (e *SkipError) Error() string { return e.Why }

// Place runs the command that puts a step in place, on this machine, with the user's own rights and without a shell. It
// has no standard input, and its output goes to the end of log: a file, so that a service that the command starts and
// leaves behind can print. When ctx ends, or the limit is reached, it is told to end with all that it started. The
// error is a SkipError if this step alone cannot be put in place: the command failed, or took too long.
func Place(ctx context.Context, words []string, limit time.Duration, log *os.File) error {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(limited, words[0], words[1:]...) // #nosec G204 -- the command is the user's own
	processgroup.Own(cmd, syscall.SIGTERM)
	cmd.WaitDelay = endDelay
	cmd.Stdout, cmd.Stderr = log, log
	before, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	err = cmd.Run()
	name := clean.Line(words[0])
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case limited.Err() != nil:
		return &SkipError{fmt.Sprintf("%s took longer than %v", name, limit)}
	case !errors.As(err, &exit):
		return fmt.Errorf("%s cannot be run: %w", name, err)
	case exit.ExitCode() == skipCode:
		return &SkipError{name + " skips it" + said(log, before)}
	case exit.ExitCode() >= abortCode || exit.ExitCode() < 0:
		return fmt.Errorf("%s ended with %w%s", name, err, said(log, before))
	}
	return &SkipError{fmt.Sprintf("%s ended with %v%s", name, err, said(log, before))}
}

// said is the last line that a command printed since a place in the log, behind a colon; empty if it printed none.
func said(log *os.File, since int64) string {
	end, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return ""
	}
	from := max(since, end-lastPrinted)
	printed, err := io.ReadAll(io.NewSectionReader(log, from, end-from))
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(printed)), "\n")
	last := clean.Cut(clean.Line(strings.TrimSpace(lines[len(lines)-1])), maxSaid)
	if last == "" {
		return ""
	}
	return ": " + last
}
