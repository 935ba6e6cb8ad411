//go:build linux

package kube

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/remotecommand"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/hosts/hosttest"
	"nearfar/internal/onhost/agent"
	"nearfar/internal/onhost/host"
)

// readied is a set of pods in a store, whose exec streams are served by a function.
func readied(t *testing.T, ctx context.Context, agentImage string,
	exec func(ctx context.Context, argv []string, o remotecommand.StreamOptions) error,
) (*Deployed, string) {
	t.Helper()
	c, _ := fakeCluster(nil)
	c.exec = func(ctx context.Context, _ place, argv []string, o remotecommand.StreamOptions) error {
		return exec(ctx, argv, o)
	}
	pod := linuxPod()
	pod.AgentImage = agentImage
	d := c.New(plan(t, testRun(), between("a", experiment.ThroughPod, pod, pod))[0], func(string) {})
	if err := d.Make(context.WithoutCancel(ctx)); err != nil {
		t.Fatal(err)
	}
	return d, d.Set.Uses["a"].Server
}

// visitHostile connects to an agent in a pod that is hostile in a mode.
func visitHostile(ctx context.Context, t *testing.T, name, mode string) (host.Host, error) {
	d, pod := readied(t, ctx, "r.example/agent:1", func(ctx context.Context, _ []string,
		o remotecommand.StreamOptions) error {
		conn := execConn{o.Stdin, o.Stdout}
		served := make(chan error, 1)
		go func() {
			_, err := agent.ReadIntroduction(conn)
			if err == nil {
				err = hosttest.ServeHostile(conn, mode)
			}
			served <- err
		}()
		select {
		case err := <-served:
			return err
		case <-ctx.Done():
			_ = conn.Close()
			return ctx.Err()
		}
	})
	c, err := d.Connect(ctx, pod, agent.Options{
		Name: name, Session: agent.NewSession(), Limit: hosttest.BesiegeLimit, Silence: hosttest.BesiegeLimit,
		Endpoint: hosttest.Loopback(t, name),
	}, testAgents)
	if err != nil {
		return nil, err
	}
	return c.Host(), nil
}

// execConn is the stream of a process in a pod, as the process sees it.
type execConn struct {
	io.Reader
	io.Writer
}

// Close ends both directions.
func (c execConn) Close() error {
	var errs []error
	for _, end := range []any{c.Reader, c.Writer} {
		if closer, ok := end.(io.Closer); ok {
			errs = append(errs, closer.Close())
		}
	}
	return errors.Join(errs...)
}

// TestHostilePods: whatever the agent in a pod answers, or does not, its owner is held up for a bounded time, in little
// memory, with an error that names the host.
//
// What judges an agent is the same code for all kinds of hosts, and packages agent, ssh and tls always visit it in all
// modes. NEARFAR_HOSTILE_PODS=1 does so here, which takes two minutes.
func TestHostilePods(t *testing.T) { hosttest.Besiege(t, hostileModes(), visitHostile) }

func hostileModes() []string {
	if os.Getenv("NEARFAR_HOSTILE_PODS") != "" {
		return hosttest.HostileModes()
	}
	return []string{"data-flood", "greets-never", "read-flood", "stop-never"}
}

// TestHostilePodsInterrupted: an interrupt ends every wait for an agent in a pod.
func TestHostilePodsInterrupted(t *testing.T) {
	hosttest.BesiegeInterrupted(t, hostileModes(), visitHostile)
}

// execModes are the ways in which exec lies, before an agent speaks.
func execModes() map[string]func(ctx context.Context, o remotecommand.StreamOptions) error {
	type stream = remotecommand.StreamOptions
	write := func(w io.Writer, text string) { _, _ = io.WriteString(w, text) }
	flood := func(ctx context.Context, w io.Writer, text string) error {
		for ctx.Err() == nil {
			if _, err := io.WriteString(w, text); err != nil {
				return err
			}
		}
		return ctx.Err()
	}
	kib := strings.Repeat("x", 1<<10)
	return map[string]func(ctx context.Context, o stream) error{
		"ends":   func(context.Context, stream) error { return nil },
		"stalls": func(ctx context.Context, _ stream) error { <-ctx.Done(); return ctx.Err() },
		"reads alone": func(_ context.Context, o stream) error {
			_, err := io.Copy(io.Discard, o.Stdin)
			return err
		},
		"ends half": func(_ context.Context, o stream) error {
			write(o.Stdout, "nearfar: system Linux x86")
			return nil
		},
		"no shell": func(context.Context, stream) error {
			return errors.New(`exec: "sh": executable file not found in $PATH`)
		},
		"floods":          func(ctx context.Context, o stream) error { return flood(ctx, o.Stdout, kib) },
		"floods lines":    func(ctx context.Context, o stream) error { return flood(ctx, o.Stdout, "warning\n") },
		"floods the side": func(ctx context.Context, o stream) error { return flood(ctx, o.Stderr, kib) },
		"lies about the copy": func(ctx context.Context, o stream) error {
			write(o.Stdout, "nearfar: system Linux x86_64 gzip\n")
			go func() { _, _ = io.Copy(io.Discard, o.Stdin) }()
			write(o.Stdout, "nearfar: send\nnearfar: stored\n")
			<-ctx.Done()
			return ctx.Err()
		},
		"never stores": func(ctx context.Context, o stream) error {
			write(o.Stdout, "nearfar: system Linux x86_64 gzip\n")
			go func() { _, _ = io.Copy(io.Discard, o.Stdin) }()
			write(o.Stdout, "nearfar: send\n")
			<-ctx.Done()
			return ctx.Err()
		},
		"a huge error": func(context.Context, stream) error { return errors.New(strings.Repeat("x", 4<<20)) },
		"drips": func(ctx context.Context, o stream) error {
			for ctx.Err() == nil {
				if _, err := io.WriteString(o.Stdout, "x"); err != nil {
					return err
				}
				pause(ctx, 20*time.Millisecond)
			}
			return ctx.Err()
		},
	}
}

// TestHostileExec: whatever exec does, with the copy of the agent and without, connecting ends within its limit, and an
// interrupt ends it within a second.
func TestHostileExec(t *testing.T) {
	if _, err := testAgent(); err != nil { // it is packed once, which takes seconds
		t.Fatal(err)
	}
	for name, exec := range execModes() {
		for _, image := range []string{"", "r.example/agent:1"} {
			for _, interrupted := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/copied=%v/interrupted=%v", name, image == "", interrupted), func(t *testing.T) {
					t.Parallel()
					ctx, cancel := context.WithTimeout(t.Context(), hostileLimit)
					defer cancel()
					d, pod := readied(t, ctx, image, func(ctx context.Context, _ []string,
						o remotecommand.StreamOptions) error {
						return exec(ctx, o)
					})
					d.cluster.limits = limits{dial: 2 * time.Second, install: 3 * time.Second}
					var at time.Time
					if interrupted {
						time.AfterFunc(200*time.Millisecond, func() {
							at = time.Now()
							cancel()
						})
					}
					began := time.Now()
					_, err := d.Connect(ctx, pod, agent.Options{
						Name: "vm", Session: agent.NewSession(), Limit: hosttest.BesiegeLimit,
						Silence: hosttest.BesiegeLimit, Endpoint: hosttest.Loopback(t, "vm"),
					}, testAgents)
					took := time.Since(began)
					t.Logf("%v: %.300v", took.Round(time.Millisecond), err)
					switch {
					case err == nil:
						t.Error("nothing failed")
					case len(err.Error()) > 4096:
						t.Errorf("the error has %d bytes", len(err.Error()))
					case interrupted && ctx.Err() != nil:
						if late := time.Since(at); late > time.Second+2*time.Second { // a busy machine adds to it
							t.Errorf("the wait ended %v after the interrupt", late)
						}
					case ctx.Err() != nil:
						t.Errorf("it took %v", took)
					case !strings.Contains(err.Error(), "vm: "):
						t.Errorf("the error does not name the host: %.300v", err)
					}
				})
			}
		}
	}
}
