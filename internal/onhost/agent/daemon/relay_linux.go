package daemon

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"nearfar/internal/onhost/agent"
)

// startLimit is how long a daemon may take until it can be reached.
const startLimit = 20 * time.Second

// Relay connects standard input and output with the agent of a folder, and starts that agent if it does not run. serve
// is the command line, without the program, with which this program calls Serve. Without a folder, the session gets its
// own folder below the folder for temporary files. Relay returns when one side has ended.
func Relay(ctx context.Context, o Options, serve []string, stdin, stdout *os.File) error {
	introduction, err := agent.ReadIntroduction(stdin)
	if err != nil {
		return err
	}
	if o.Folder == "" {
		o.Folder = folderOf(introduction.Session)
	}
	if o.Folder, err = filepath.Abs(o.Folder); err != nil {
		return err
	}
	conn, err := dial(ctx, o.Folder)
	if err != nil && isGone(err) {
		if introduction.Again {
			// An agent that was killed, together with its keeper, could not do it.
			_ = clear(o.Folder, o.Remove)
			return errors.Join(introduction.WriteMark(stdout), agent.RefuseGone(stdout),
				errors.New("the agent of this session has ended"))
		}
		removeLeftovers(filepath.Dir(o.Folder), filepath.Base(o.Folder), time.Now())
		if err = o.start(ctx, serve, introduction); err != nil {
			_ = clear(o.Folder, o.Remove) // no keeper does it
			return err
		}
		conn, err = dial(ctx, o.Folder)
	}
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if err := introduction.WriteMark(stdout); err != nil {
		return err
	}
	done := make(chan error, 2)
	pass := func(to io.Writer, from io.Reader) {
		_, err := io.Copy(to, from)
		done <- err
	}
	go pass(conn, stdin)
	go pass(stdout, conn)
	return <-done
}

// folderOf is the folder of a session whose introduction names none. A later connection of the session finds it again,
// and no other session knows its name.
func folderOf(session string) string {
	sum := sha256.Sum256([]byte(session))
	return filepath.Join(os.TempDir(), "nearfar-agent-"+hex.EncodeToString(sum[:8]))
}

func dial(ctx context.Context, folder string) (net.Conn, error) {
	if err := checkLength(folder); err != nil {
		return nil, err
	}
	return (&net.Dialer{}).DialContext(ctx, "unix", Socket(folder))
}

// isGone says that no agent listens.
func isGone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ECONNREFUSED)
}

// start starts a daemon in a session of its own, and returns when it can be reached.
func (o Options) start(ctx context.Context, serve []string, introduction agent.Introduction) error {
	cmd := exec.CommandContext(context.WithoutCancel(ctx), self, o.args(serve)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return Launch(ctx, cmd, introduction, nil)
}

// Launch starts a command that calls Serve, sends it the introduction and returns when its agent can be reached. The
// standard input of the command ends with the introduction, unless attached is not nil: then it gets the other end of
// it, which ends the agent when it is closed.
func Launch(ctx context.Context, cmd *exec.Cmd, introduction agent.Introduction, attached *io.WriteCloser) error {
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	said := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(out).ReadString('\n')
		said <- strings.TrimSpace(line)
	}()
	_, err = introduction.WriteTo(in)
	if attached != nil {
		*attached = in
	} else {
		_ = in.Close()
	}
	line := ""
	select {
	case line = <-said:
	case <-time.After(startLimit):
		line = fmt.Sprintf("it did not start within %v", startLimit)
	case <-ctx.Done():
		line = ctx.Err().Error()
	}
	if err == nil && line == ready {
		return nil
	}
	_ = in.Close()
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if line == "" {
		line = cmd.ProcessState.String()
	}
	return fmt.Errorf("the agent did not start: %s", line)
}
