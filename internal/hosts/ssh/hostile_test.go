//go:build linux

package ssh

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"nearfar/internal/hosts/hosttest"
	"nearfar/internal/onhost/agent"
	"nearfar/internal/onhost/host"
)

// hostileVerb makes the placed program a hostile agent; its argument is the mode.
const hostileVerb = "hostile"

// stdio is standard input and output as a connection.
type stdio struct {
	io.Reader
	io.WriteCloser
}

func hostileMain(mode string) int {
	i, err := agent.ReadIntroduction(os.Stdin)
	if err == nil {
		err = i.WriteMark(os.Stdout)
	}
	if err == nil {
		err = hosttest.ServeHostile(stdio{os.Stdin, os.Stdout}, mode)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// TestHostileAgentsBySSH: hostile agents that real sshd starts.
func TestHostileAgentsBySSH(t *testing.T) {
	r := useRig(t)
	place(t, r)
	modes := hosttest.HostileModes()
	hosttest.Besiege(t, modes, func(ctx context.Context, t *testing.T, name, mode string) (host.Host, error) {
		o := r.options("plain")
		o.Command, o.Agents = r.placed()+" "+hostileVerb+" "+mode, nil // nothing is copied
		o.Agent.Name, o.Agent.Limit, o.Agent.Silence = name, hosttest.BesiegeLimit, hosttest.BesiegeLimit
		o.Agent.Endpoint = hosttest.Loopback(t, name)
		c, err := Connect(ctx, o)
		if err != nil {
			return nil, err
		}
		return c.Host(), nil
	})
}

// TestAgentThatCannotStart: the error says why the agent does not start on the host, and its folder does not stay.
func TestAgentThatCannotStart(t *testing.T) {
	r := useRig(t)
	place(t, r)
	o := r.options("plain")
	o.Command, o.Agents = "ulimit -n 12; exec "+r.placed()+" --stdio", nil
	c, err := Connect(t.Context(), o)
	if err == nil {
		_ = c.Close()
		t.Fatal("it started")
	}
	if !strings.Contains(err.Error(), "too many open files") {
		t.Errorf("says %v", err)
	}
	if folder := sessionFolder(o.Agent.Session); exists(folder) {
		t.Errorf("%s stays", folder)
	}
}
