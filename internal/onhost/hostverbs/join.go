package hostverbs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"nearfar/internal/onhost/agent"
	"nearfar/internal/onhost/agent/allow"
	"nearfar/internal/onhost/agent/tls"
	"nearfar/internal/onhost/confine"
)

// joinOptions are the options of the verb agent.
type joinOptions struct {
	listen, dial  string
	addresses     []string
	expires, idle time.Duration
	peers, path   []string
	// worker is the folder of the process that is the agent; empty in the process that the user started.
	worker string
	// commands lets runs start any program.
	commands bool

	policy *allow.Policy
	only   []netip.Prefix // peers, as they were read
}

// Agent is the verb that runs an agent on a host that nothing can log in to.
func (v *Verbs) Agent() *cobra.Command {
	o := &joinOptions{}
	cmd := &cobra.Command{
		Use:   "agent {--listen ADDRESS:PORT | --dial HOST:PORT}",
		Short: "Measure from and to this host, for a nearfar elsewhere that cannot log in here",
		Long: `Agent prints a join string: one line, for the host's 'agent:' in the experiment file of 'nearfar run'
on another machine. That run then starts its measurements here. With --listen, it connects to this host. With --dial,
this host connects to the machine of the run, which waits there. Without --listen, nothing listens here.

The join string is a secret, and good for one run. A run that ends before it measures does not use it up. A file that it
is written to becomes readable by you alone. The connection is TLS 1.3, and both sides check each other's key. The agent
runs nearfar's own measurements and a fixed list of measuring tools, with arguments that it checks; it is not a shell,
unless --allow-command makes it one.
It ends, with all that it started, when the run is over, when no run used the join string before it expired, and when
the run has been disconnected for the idle time.`,
		Example: `  nearfar agent --listen 0.0.0.0:7770
  nearfar agent --listen 10.0.0.5:7770 --peers 10.0.0.0/24 --expires 15m
  nearfar agent --listen 0.0.0.0:7770 --address gate.example:7770
  nearfar agent --dial laptop.example:7770 > join.txt`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return &UsageError{err}
			}
			if o.worker != "" {
				return v.joinWork(cmd.Context(), o)
			}
			if err := private(v.Data); err != nil {
				return fmt.Errorf("the file for the join string must be readable by you alone: %w", err)
			}
			return v.joinAgent(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.listen, "listen", "", "wait for the run on this `ADDRESS:PORT`; 0.0.0.0 stands for all addresses "+
		"of this host")
	f.StringVar(&o.dial, "dial", "", "connect to the run, which waits on this `HOST:PORT`")
	f.StringArrayVar(&o.addresses, "address", nil, "with --listen: `HOST:PORT` that the run dials to reach this "+
		"host, if it differs from ADDRESS:PORT; may be repeated")
	f.DurationVar(&o.expires, "expires", time.Hour, "how long the join string may be used for the first time")
	f.DurationVar(&o.idle, "idle", 10*time.Minute, "how long the run may be disconnected before the agent ends")
	f.StringArrayVar(&o.peers, "peers", nil, "measure only to these addresses, and serve only them: `NETWORK` such "+
		"as 10.0.0.0/24; may be repeated")
	f.StringArrayVar(&o.path, "path", nil, "look for measuring tools in this `folder` first; may be repeated")
	f.BoolVar(&o.commands, "allow-command", false, "run every program that the run's experiment names (tool: command), "+
		"with all rights of this user: whoever has the join string then has a shell here")
	f.StringVar(&o.worker, "worker", "", "the agent's own folder")
	_ = f.MarkHidden("worker") // it fails only for a flag that does not exist
	return cmd
}

// private makes a file to which standard output was directed readable by its owner alone: the join string is a secret.
func private(out io.Writer) error {
	f, ok := out.(*os.File)
	if !ok {
		return nil
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o077 == 0 {
		return nil // a pipe or a terminal, or a file that is private
	}
	return f.Chmod(0o600)
}

// check checks the options and makes the policy.
func (o *joinOptions) check() error {
	switch {
	case o.listen == "" && o.dial == "":
		return errors.New("say who dials: --listen ADDRESS:PORT if the run can reach this host, or --dial HOST:PORT " +
			"if only this host can reach the run")
	case o.listen != "" && o.dial != "":
		return errors.New("give --listen or --dial, not both")
	case o.dial != "" && len(o.addresses) > 0:
		return errors.New("--address needs --listen: with --dial, nothing listens on this host")
	case o.expires < tls.MinExpires || o.expires > tls.MaxExpires:
		return fmt.Errorf("--expires %v: want %v to %v", o.expires, tls.MinExpires, tls.MaxExpires)
	case o.idle < tls.MinIdle || o.idle > tls.MaxIdle:
		return fmt.Errorf("--idle %v: want %v to %v", o.idle, tls.MinIdle, tls.MaxIdle)
	}
	if o.listen != "" {
		at, all := strings.CutPrefix(o.listen, ":")
		if all {
			at = "0.0.0.0:" + at
		}
		if _, err := netip.ParseAddrPort(at); err != nil {
			return fmt.Errorf("--listen %q: want ADDRESS:PORT, such as 0.0.0.0:7770", o.listen)
		}
	} else if err := tls.CheckAddress(o.dial); err != nil {
		return fmt.Errorf("--dial: %w", err)
	}
	for _, address := range o.addresses {
		if err := tls.CheckAddress(address); err != nil {
			return fmt.Errorf("--address: %w", err)
		}
	}
	for i, folder := range o.path {
		absolute, err := filepath.Abs(folder)
		if err != nil || strings.ContainsRune(folder, filepath.ListSeparator) {
			return fmt.Errorf("--path %q: want one folder", folder)
		}
		o.path[i] = absolute
	}
	var peers []netip.Prefix
	for _, text := range o.peers {
		peer, err := confine.ParsePrefix(text)
		if err != nil {
			return fmt.Errorf("--peers %q: want a network such as 10.0.0.0/24, or an address", text)
		}
		peers = append(peers, peer)
	}
	o.policy, o.only = allow.New(runtime.GOOS, peers...), peers
	if o.commands {
		o.policy.AllowCommands()
	}
	return nil
}

// args are the options as words of a command line.
func (o *joinOptions) args() []string {
	args := []string{"--expires", o.expires.String(), "--idle", o.idle.String()}
	if o.commands {
		args = append(args, "--allow-command")
	}
	for _, flag := range []struct {
		name   string
		values []string
	}{{"--listen", []string{o.listen}}, {"--dial", []string{o.dial}}, {"--address", o.addresses}, {"--peers", o.peers},
		{"--path", o.path}} {
		for _, value := range flag.values {
			if value != "" {
				args = append(args, flag.name, value)
			}
		}
	}
	return args
}

// serve is the agent. It returns when the agent has ended with all that it started.
func (o *joinOptions) serve(ctx context.Context, folder string, join, messages io.Writer) error {
	if len(o.path) > 0 {
		all := append(o.path[:len(o.path):len(o.path)], os.Getenv("PATH"))
		if err := os.Setenv("PATH", strings.Join(all, string(filepath.ListSeparator))); err != nil {
			return err
		}
	}
	say := func(format string, args ...any) { fmt.Fprintf(messages, "nearfar agent: "+format+"\n", args...) }
	if why := confine.Supported().Peers; len(o.only) > 0 && why != "" {
		says := "--peers holds for what this host sends to, and for native; servers of other tools serve whoever reaches " +
			"their ports while they run, so let a firewall admit only these addresses"
		if runtime.GOOS == "linux" {
			says = "--peers cannot be enforced for servers of other tools than native, so they do not run here"
		}
		say("%s (%s)", says, why)
	}
	a, err := tls.NewAgent(ctx, tls.AgentOptions{
		Listen: o.listen, Dial: o.dial, Addresses: o.addresses, Expires: o.expires, Idle: o.idle,
		Log: func(message string) { say("%s", message) },
	})
	if err != nil {
		return err
	}
	defer func() { _ = a.Close() }() // it returns nil
	j := a.Join()
	waits := "waits for a run on "
	if o.dial != "" {
		waits = "dials "
	}
	if o.commands {
		say("--allow-command: the run can start every program here, with all rights of this user")
	}
	say("%s%s; key %v; the join string below is a secret, good for one run, until %s", waits,
		strings.Join(j.Addresses, ", "), j.Key, j.Expires.Local().Format(time.DateTime))
	if _, err := fmt.Fprintln(join, j.Encode()); err != nil {
		return err
	}
	for {
		err := o.serveRun(ctx, a, folder, say)
		if !errors.Is(err, agent.ErrReleased) {
			return err
		}
		say("the run ended before it measured: the join string stays good until %s",
			j.Expires.Local().Format(time.DateTime))
	}
}

// serveRun waits for a run and serves it. Its error is agent.ErrReleased if the run left the agent to another one.
func (o *joinOptions) serveRun(ctx context.Context, a *tls.Agent, folder string, say func(string, ...any)) error {
	ofRun, cancel := context.WithCancel(ctx)
	defer cancel()
	// The next run may connect as soon as this one is told, and its connection is not accepted for this one.
	release := sync.OnceFunc(func() {
		cancel()
		a.Release()
	})
	first, err := a.Accept(ofRun)
	if err != nil {
		return err
	}
	say("a run is connected")
	err = agent.Serve(ctx, func() (io.ReadWriteCloser, error) {
		if c := first; c != nil {
			first = nil
			return c, nil
		}
		return a.Accept(ofRun)
	}, agent.ServerOptions{
		Session: a.Join().Session(), Silence: o.idle, Folder: folder, Alone: true, Allow: o.policy.Limit,
		Commands: o.commands, Release: release,
		Log: func(message string) { say("%s", message) },
	})
	if errors.Is(err, agent.ErrReleased) {
		release() // also if the run left before it was told
	}
	if n := a.Refused(); n > 0 {
		say("%d other connections were refused", n)
	}
	if err == nil && ctx.Err() == nil {
		say("the run is over, and nothing that it started is left")
	}
	return errors.Join(err, ctx.Err())
}
