// Package cloudtool runs the command-line programs of clouds: az, aws and gcloud. nearfar passes no credentials: each
// program uses the login that it has. What a program prints is untrusted, and bounded.
package cloudtool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"nearfar/internal/base/bounded"
	"nearfar/internal/base/clean"
	"nearfar/internal/base/processgroup"
)

const (
	// maxErrors bounds how much of a program's standard error is kept, in bytes.
	maxErrors = 16 << 10
	// killDelay is how long a killed program may keep its output open.
	killDelay = 5 * time.Second
)

// A FailedError says that a program ended with an error of its own.
type FailedError struct {
	Err error
	// Said is the beginning of its standard error, as one clean line.
	Said string
}

func (e *FailedError) Error() string {
	if e.Said == "" {
		return e.Err.Error()
	}
	return e.Err.Error() + ": " + e.Said
}

// Unwrap gives the error of the process.
func (e *FailedError) Unwrap() error { return e.Err }

// Run runs a program of this machine and returns its standard output, at most maxOutput bytes. The program has no
// standard input, so that it cannot wait for a person, and a Ctrl-C at the terminal does not reach it. If ctx ends, it
// is killed with all processes that it started, and the error is the one of ctx. The error is exec.ErrNotFound for a
// program that is not installed, and a FailedError for a program that fails, or that says that its answer is not whole.
func Run(ctx context.Context, maxOutput int, argv ...string) ([]byte, error) {
	program, err := exec.LookPath(argv[0])
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program, argv[1:]...)
	cmd.Env = append(os.Environ(), "AWS_PAGER=", "CLOUDSDK_CORE_DISABLE_PROMPTS=1",
		"CLOUDSDK_COMPUTE_ALLOW_PARTIAL_ERROR=false", "PYTHONIOENCODING=utf-8")
	processgroup.Own(cmd, syscall.SIGKILL) // as a whole: az and gcloud are scripts that start Python
	cmd.WaitDelay = killDelay
	stdout, stderr := bounded.New(maxOutput), bounded.New(maxErrors)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	switch err := cmd.Run(); {
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, &FailedError{err, strings.TrimSpace(clean.Line(string(stderr.Bytes())))}
	case stdout.Cut() != "":
		return nil, fmt.Errorf("it printed more than %d bytes", maxOutput)
	case isPartial(string(stderr.Bytes())):
		return nil, &FailedError{errors.New("it could not ask everything"),
			strings.TrimSpace(clean.Line(string(stderr.Bytes())))}
	}
	return stdout.Bytes(), nil
}

// isPartial says whether gcloud warns that a list is not whole. By default gcloud 578 lists what it gets and ends with
// exit code 0, also if all requests were refused, for lack of a login or of permissions. The property
// compute/allow_partial_error ends that for lists of Compute Engine; clusters have another text.
func isPartial(said string) bool {
	return strings.Contains(said, "Some requests did not succeed") ||
		strings.Contains(said, "List results may be incomplete")
}

// Missing says whether a program could not be run because it is not installed.
func Missing(err error) bool { return errors.Is(err, exec.ErrNotFound) }

// Name is a command without its flags: "aws ec2 describe-instances".
func Name(argv ...string) string {
	for i, a := range argv {
		if strings.HasPrefix(a, "-") {
			argv = argv[:i]
			break
		}
	}
	return strings.Join(argv, " ")
}
