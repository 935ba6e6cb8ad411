// Package ssh reaches a host through the system's ssh.
//
// One ssh session serves a host, whatever the number of processes. Its remote command reads a short POSIX script,
// bootstrap.sh, from standard input. The script makes a folder, asks for the agent's program, and turns the session
// into the byte stream of the agent. See docs/ssh.md.
//
// ssh itself reads the user's configuration, keys and known_hosts, and uses the ssh-agent and jump hosts. This package
// adds options to the command line and reads what ssh prints.
package ssh

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"sync"
	"time"

	"nearfar/internal/base/clean"
	"nearfar/internal/onhost/agent"
	"nearfar/internal/onhost/host"
)

// Options say how to reach a host.
type Options struct {
	// Agent has the host's name for messages, and the secret that the agent gets.
	Agent agent.Options
	// Name is what ssh connects to: a name of its configuration, an address, or user@address.
	Name string
	// Config is the configuration file for ssh (-F); empty for the user's and the system's own.
	Config string
	// Folder is where the agent's folder is made on the host; empty for the first usable one of the user's cache
	// (or home), TMPDIR, /tmp and /var/tmp. A leading ~/ is the home directory there. A missing folder is made, and
	// stays.
	Folder string
	// Sudo starts the agent, and so everything that it starts, as root by sudo -n.
	Sudo bool
	// Command starts the agent in the session, in place of the script: an agent that is on the host already, such as
	// "/opt/nearfar-agent --stdio". Folder, Sudo and Agents are not used then. Empty for the script.
	Command string
	// Agents returns the agent for a system. It may be called from several goroutines.
	Agents func(host.System) (Program, error)
	// Terminal is where ssh may ask for passwords and host keys; nil refuses what needs an answer.
	Terminal *Terminal
	// Note receives what the user should know of a host that was reached, as a sentence; nil discards it.
	Note func(text string)
}

// A Program is an executable file to copy to a host.
type Program struct {
	// SHA256 is the hash of the file, as 64 hexadecimal digits.
	SHA256 string
	// Size is the length of the file in bytes.
	Size int64
	// Gzip is the file, compressed with gzip.
	Gzip []byte
}

// Connect connects to the host's agent. The error wraps an *Error if the host cannot be reached.
func Connect(ctx context.Context, o Options) (*agent.Client, error) {
	return agent.Connect(ctx, Dial(o), o.Agent)
}

// Dial returns the connections to the host's agent. The first one copies the agent to the host and starts it. Each
// later one returns to the same agent; if that has ended, the error wraps agent.ErrGone. All other errors are an
// *Error, or the cause of ctx. The function may be called from several goroutines, and makes one connection at a time.
func Dial(o Options) agent.Dialer {
	d := &dialer{o: o, pauses: pauses()}
	return d.dial
}

// A dialer makes the connections to one agent.
type dialer struct {
	o  Options
	mu sync.Mutex
	// settings are ssh's settings for the name; nil until the first connection.
	settings *Settings
	// program is the agent for the host's system, once the system is known.
	program Program
	// id is the last part of the name of the agent's folder.
	id string
	// folder is the agent's folder; empty until the script has started the agent.
	folder string
	// started says that a connection was made.
	started bool
	// pauses are the waits between attempts to log in.
	pauses []time.Duration
	// alone says that a master of the user is not used.
	alone bool
}

// Limits of time. ConnectTimeout and ServerAlive* are used if the user's configuration does not set them.
const (
	// connectTimeout bounds the connection to sshd.
	connectTimeout = 10 * time.Second
	// aliveInterval and aliveCount end a connection that has been silent for 15 s.
	aliveInterval = 5 * time.Second
	aliveCount    = 3
	// stepTimeout bounds each step after the connection: authentication, a line of the script.
	stepTimeout = 20 * time.Second
	// copyTimeout bounds the time for 64 KiB of the agent, and for the rest that ssh has taken but not yet sent: up to
	// 2 MiB. A connection that is dead is noticed earlier (aliveInterval).
	copyTimeout = 2 * time.Minute
	// masterTimeout bounds the time for the first line by a master of the user: it has logged in already.
	masterTimeout = 10 * time.Second
	// promptTimeout bounds the time for an answer at the terminal.
	promptTimeout = 2 * time.Minute
)

func (d *dialer) dial(ctx context.Context) (io.ReadWriteCloser, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.settings == nil {
		s, err := Expand(ctx, d.o.Config, d.o.Name)
		if err != nil {
			return nil, err
		}
		id := make([]byte, 8)
		// It never fails.
		_, _ = rand.Read(id)
		d.settings, d.id = &s, hex.EncodeToString(id)
	}
	c, err := d.connectShared(ctx)
	var failure *Error
	if err == nil || !errors.As(err, &failure) || !failure.Cause.needsAnswer() {
		return d.result(c, err)
	}
	if d.started {
		failure.Advice = "the connection was lost, and cannot be made again without an answer at the terminal: " +
			"use a key in an ssh-agent"
		return nil, err
	}
	asked := d.o.Terminal.ask(ctx, func(tty *tty) { c, err = d.connect(ctx, tty) })
	if !asked {
		failure.addAdvice("there is no terminal at which ssh could ask")
	}
	return d.result(c, err)
}

// connectShared makes a connection that asks nothing, by the user's master if there is one. A master that does not
// serve the session is avoided from then on: it may have been stopped, or its own connection may be dead.
func (d *dialer) connectShared(ctx context.Context) (*connection, error) {
	c, err := d.connectAgain(ctx)
	var failure *Error
	if err == nil || !errors.As(err, &failure) || !failure.early || d.alone || !d.settings.hasMaster() {
		return c, err
	}
	d.alone = true
	if d.o.Note != nil {
		d.o.Note(fmt.Sprintf("the ssh that is a master at %s does not serve this session (%s): nearfar connects without it",
			clean.Line(d.settings.controlPath), failure.Detail))
	}
	c, err = d.connectAgain(ctx)
	if errors.As(err, &failure) {
		failure.addAdvice("there is a master at " + clean.Line(d.settings.controlPath) +
			", which did not serve the session either")
	}
	return c, err
}

// pauses are the waits between attempts to log in to an sshd that ends connections before the login: it may have too
// many of them (MaxStartups of sshd_config). Each is longer by up to a quarter, so that several hosts behind one sshd do
// not come at the same time.
func pauses() []time.Duration {
	return []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second}
}

// connectAgain connects, and tries again if the host's sshd ends the connection before the login. A connection that was
// lost is not tried again here: the agent's client does that.
func (d *dialer) connectAgain(ctx context.Context) (*connection, error) {
	begun := time.Now()
	for attempt := 0; ; attempt++ {
		c, err := d.connect(ctx, nil)
		var failure *Error
		if err == nil || !errors.As(err, &failure) || failure.Cause != Closed || !failure.early || d.started {
			return c, err
		}
		if attempt == len(d.pauses) {
			failure.addAdvice(fmt.Sprintf("nearfar tried %d times in %v", attempt+1,
				time.Since(begun).Round(time.Second)))
			return c, err
		}
		if attempt == 0 && d.o.Note != nil {
			d.o.Note(failure.Detail + ": nearfar tries again")
		}
		pause := d.pauses[attempt]
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(pause + mathrand.N(pause/4)):
		}
	}
}

// result avoids an interface that holds a nil pointer.
func (d *dialer) result(c *connection, err error) (io.ReadWriteCloser, error) {
	if err != nil {
		return nil, err
	}
	return c, nil
}

// connect runs ssh once, at the terminal if there is one.
func (d *dialer) connect(ctx context.Context, t *tty) (*connection, error) {
	b := bootstrap{dialer: d, mark: "nearfar-" + rand.Text()}
	script := b.script()
	if d.o.Command != "" {
		script = b.introduction(ctx)
	}
	c, err := open(d.arguments(len(script), t != nil), t)
	if err != nil {
		return nil, &Error{Name: d.o.Name, Cause: NoSSH, Detail: clean.Line(err.Error())}
	}
	c.host = d.o.Agent.Name
	b.c = c
	stop := context.AfterFunc(ctx, c.kill)
	defer stop()
	err = b.run(script, t)
	if err == nil && d.o.Command == "" {
		// If ssh has ended in the meantime, the first Read says why.
		_, _ = d.o.Agent.Introduction(ctx).WriteTo(c.in)
	}
	if err == nil && stop() {
		d.started = true
		return c, nil
	}
	if errors.Is(err, io.EOF) {
		// ssh is about to end, and its exit status shows why.
		c.wait(goodbye)
	}
	c.kill()
	<-c.ended
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if errors.Is(err, errGone) {
		return nil, fmt.Errorf("%w: the machine has no folder %s", agent.ErrGone, clean.Line(d.folder))
	}
	var failure *Error
	if !errors.As(err, &failure) {
		failure = b.explain(err)
	}
	failure.Name, failure.early = d.o.Name, !b.begun
	return nil, failure
}
