//go:build linux

package ssh

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"nearfar/internal/hosts/hosttest"
	"nearfar/internal/kits/winetest"
	"nearfar/internal/onhost/host"
)

// placed is the path of the real agent on the hosts, where nearfar did not put it.
func (r *rig) placed() string { return filepath.Join(r.dir, "placed", "nearfar-agent") }

// place puts the real agent there.
var place = func() func(t *testing.T, r *rig) {
	var once sync.Once
	return func(t *testing.T, r *rig) {
		once.Do(func() {
			b, err := os.ReadFile("/proc/self/exe")
			if err == nil {
				err = os.MkdirAll(filepath.Dir(r.placed()), 0o755)
			}
			if err == nil {
				err = os.WriteFile(r.placed(), append(bytes.Clone(b), realMark...), 0o755)
			}
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}()

// TestCommand: the agent is on the host already. The file's command, or the one that sshd forces, starts it. A process
// continues when the connection is cut, and only the program is left at the end.
func TestCommand(t *testing.T) {
	r := useRig(t)
	place(t, r)
	for name, command := range map[string]string{
		"plain": r.placed() + " --stdio", "fish@plain": r.placed() + " --stdio",
		"forced@plain": "this is not looked at",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := r.options(name)
			o.Command, o.Agents = command, nil // nothing is copied
			c := connectReal(t, o)
			var out lineCounter
			p, err := c.Host().Start(t.Context(), host.Cmd{Stdout: &out, Argv: []string{
				"sh", "-c", "i=0; while [ $i -lt 100 ]; do i=$((i+1)); echo $i; sleep 0.02; done; exit 7"}})
			if err != nil {
				t.Fatal(err)
			}
			waitFor(t, "output", func() bool { return out.lines() > 10 })
			c.killSSH()
			var exit *host.ExitError
			if err := p.Wait(); !errors.As(err, &exit) || exit.Code != 7 || out.lines() != 100 || c.dials.Load() != 2 {
				t.Errorf("%v, %d lines, %d connections", err, out.lines(), c.dials.Load())
			}
			folder := sessionFolder(o.Agent.Session)
			if !exists(folder) {
				t.Errorf("the agent has no folder %s", folder)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			waitFor(t, "the end of the agent's folder", func() bool { return !exists(folder) })
		})
	}
}

// sessionFolder is the folder of an agent whose command names none.
func sessionFolder(session string) string {
	sum := sha256.Sum256([]byte(session))
	return filepath.Join(os.TempDir(), "nearfar-agent-"+hex.EncodeToString(sum[:8]))
}

// connectWindows connects to an agent for Windows, under Wine, which is the command of a session.
func connectWindows(t *testing.T, r *rig, w *winetest.Wine, program, name string) *connected {
	t.Helper()
	o := r.options("plain")
	o.Agents = nil // nothing is copied
	o.Agent.Name, o.Agent.Endpoint = name, hosttest.Loopback(t, name)
	o.Command = "env " + strings.Join(w.Env, " ") + " " + w.Loader + " " + program + " --stdio"
	return connectReal(t, o)
}

// TestWindowsBySSH runs agents for Windows, under Wine, as the command of sessions of a real sshd.
func TestWindowsBySSH(t *testing.T) {
	if testing.Short() {
		t.Skip("it prepares Wine")
	}
	t.Parallel()
	r := useRig(t)
	w := winetest.New(t)
	program := w.WithUDP(t, w.Build(t, "agentcli.test.exe", "nearfar/internal/onhost/agentcli", true), "udp.exe")
	folders := func() (found []string) {
		prefix := filepath.Join(filepath.Dir(w.Folder), "prefix")
		_ = filepath.WalkDir(prefix, func(path string, _ fs.DirEntry, err error) error {
			if err == nil && strings.HasPrefix(filepath.Base(path), "nearfar-agent-") {
				found = append(found, path)
			}
			return nil // what vanishes meanwhile does not matter
		})
		return found
	}
	t.Run("conformance", func(t *testing.T) {
		hosttest.Run(t, hosttest.Kind{
			Hosts: func(t *testing.T) (client, server host.Host) {
				return connectWindows(t, r, w, program, "client").Host(),
					connectWindows(t, r, w, program, "server").Host()
			},
			Processes: true, Pinning: true, Files: true, IPv6: true,
			NoTCPOwner: true, // Wine 8: GetExtendedTcpTable gives 0 for listening sockets
		})
	})
	t.Run("session ends", func(t *testing.T) {
		c := connectWindows(t, r, w, program, "win")
		if f, err := c.Facts(t.Context()); err != nil || f.System.OS != "windows" || f.Connection == "" {
			t.Errorf("the facts are %+v, %v", f, err)
		}
		if len(folders()) == 0 {
			t.Error("the agent has no folder")
		}
		var out lineCounter
		p, err := c.Host().Start(t.Context(), host.Cmd{
			Argv: []string{host.Self, hosttest.Verb, "tree"}, Stdout: &out,
		})
		if err != nil {
			t.Fatal(err)
		}
		waitFor(t, "output", func() bool { return out.lines() > 0 })
		begin := time.Now()
		c.killSSH()
		if err := p.Wait(); !errors.Is(err, host.ErrLost) || !strings.Contains(err.Error(), "the agent has ended") {
			t.Errorf("a process whose session ended: %v", err)
		}
		t.Logf("lost after %v", time.Since(begin).Round(time.Millisecond))
	})
	waitFor(t, "the end of the agents' folders", func() bool { return len(folders()) == 0 })
}
