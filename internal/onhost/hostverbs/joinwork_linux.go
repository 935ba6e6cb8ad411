package hostverbs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"nearfar/internal/onhost/agent"
	"nearfar/internal/onhost/supervise"
)

// joinResult is the file to which the worker writes why it failed.
const joinResult = 3

const (
	// joinEndLimit is how long the worker may take to end when it is asked to, and joinKillLimit how long processes may
	// take that it left behind.
	joinEndLimit  = 15 * time.Second
	joinKillLimit = 10 * time.Second
)

// joinAgent starts the worker, which is the agent, and removes what the worker leaves behind if it is killed. If this
// process is killed, the worker's standard input ends, and the worker with all that it started.
func (v *Verbs) joinAgent(ctx context.Context, o *joinOptions) error {
	folder, err := os.MkdirTemp("", "nearfar-agent-")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(folder) }() // RemoveFiles says what is left
	if err := supervise.AdoptOrphans(); err != nil {
		return err
	}
	result, theirs, err := os.Pipe()
	if err != nil {
		return err
	}
	defer func() { _ = result.Close() }()
	worker := exec.CommandContext(ctx, "/proc/self/exe", append([]string{"agent", "--worker", folder}, o.args()...)...)
	worker.Stdout, worker.Stderr = v.Data, v.Stderr
	worker.ExtraFiles = []*os.File{theirs}
	in, err := worker.StdinPipe()
	if err == nil {
		worker.Cancel, worker.WaitDelay = in.Close, joinEndLimit // the end of its standard input asks it to end
		err = worker.Start()
	}
	_ = theirs.Close() // the worker has it
	if err != nil {
		return err
	}
	failed := make(chan string, 1)
	go func() {
		why, _ := io.ReadAll(io.LimitReader(result, 1<<16))
		failed <- string(why)
	}()
	workerErr := worker.Wait()
	err = errors.Join(supervise.KillDescendants(joinKillLimit), agent.RemoveFiles(folder))
	why := strings.TrimSpace(<-failed)
	switch {
	case ctx.Err() != nil:
		return errors.Join(ctx.Err(), err)
	case why != "":
		return errors.Join(errors.New(why), err)
	case workerErr != nil:
		return errors.Join(fmt.Errorf("the agent ended: %w", workerErr), err)
	}
	return err
}

// joinWork is the worker. It ends with its standard input. Its errors go to the process that started it.
func (v *Verbs) joinWork(ctx context.Context, o *joinOptions) error {
	signal.Ignore(unix.SIGHUP, unix.SIGINT, unix.SIGPIPE) // the process that started it says when to end
	ctx, stop := signal.NotifyContext(context.WithoutCancel(ctx), unix.SIGTERM)
	defer stop()
	result := os.NewFile(joinResult, "result")
	if result == nil {
		return errors.New("this option is for the agent itself")
	}
	unix.CloseOnExec(joinResult)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	err := o.serve(ctx, o.worker, v.Data, v.Stderr)
	_ = os.Remove(o.worker) // the process that started this one says what is left, unless it was killed
	if err != nil {
		_, err = fmt.Fprintln(result, err)
		return err
	}
	return nil
}
