//go:build linux

package ssh

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nearfar/internal/onhost/host"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares a text with testdata/NAME.golden.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", strings.ReplaceAll(name, " ", "-")+".golden")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// A failing is a way of failing to reach a host.
type failing struct {
	name string
	// to is the name for ssh, and config has lines that come first in ssh's configuration.
	to, config string
	change     func(o *Options)
	// path replaces the PATH of this process.
	path  string
	cause Cause
}

func failings(r *rig) []failing {
	folder := func(f string) func(o *Options) { return func(o *Options) { o.Folder = f } }
	command := func(c string) func(o *Options) { return func(o *Options) { o.Command = c } }
	hostIs := func(lines ...string) string { return "Host x\n\t" + strings.Join(lines, "\n\t") + "\n" }
	plain := "HostName " + plainAddress
	return []failing{
		{name: "unknown name", to: "no-such-machine.invalid", cause: UnknownName},
		{name: "refused", to: "x", config: hostIs(plain, "Port 23"), cause: Refused},
		{name: "unreachable", to: "x", config: hostIs("HostName 10.99.0.1"), cause: Unreachable},
		{name: "firewall drops", to: "x", cause: TimedOut,
			config: hostIs(plain, fmt.Sprint("Port ", droppedPort), "ConnectTimeout 1")},
		{name: "no greeting", to: "x", cause: TimedOut,
			config: hostIs(plain, fmt.Sprint("Port ", silentPort), "ConnectTimeout 1")},
		{name: "key changed", to: "x", cause: KeyChanged,
			config: hostIs(plain, "UserKnownHostsFile "+r.dir+"/known_hosts_changed")},
		{name: "key unknown", to: "x", cause: KeyUnknown,
			config: hostIs(plain, "UserKnownHostsFile /dev/null")},
		{name: "wrong user", to: "nobody-here@plain", cause: Denied},
		{name: "wrong key", to: "keyless-x", cause: Denied,
			config: "Host keyless-x\n\t" + plain + "\n\tIdentityFile " + r.dir + "/wrongkey\n"},
		{name: "locked key", to: "keyless-x", cause: Denied,
			config: "Host keyless-x\n\t" + plain + "\n\tIdentityFile " + r.dir + "/lockedkey\n"},
		{name: "no algorithm", to: "x", config: hostIs(plain, "HostKeyAlgorithms ssh-dss"), cause: NoAlgorithm},
		{name: "jump host down", to: "x", cause: Refused,
			config: "Host down\n\t" + plain + "\n\tPort 23\n" + hostIs("HostName "+behindAddress, "ProxyJump down")},
		{name: "jump host unknown", to: "x", cause: UnknownName,
			config: hostIs("HostName "+behindAddress, "ProxyJump no-such-jump.invalid")},
		{name: "jump host drops", to: "x", cause: TimedOut, config: fmt.Sprintf(
			"Host slow\n\t%s\n\tPort %d\n\tConnectTimeout 1\n%s", plain, droppedPort,
			hostIs("HostName "+behindAddress, "ProxyJump slow"))},
		{name: "jump host does not answer", to: "x", cause: TimedOut, config: fmt.Sprintf(
			"Host slow\n\t%s\n\tPort %d\n%s", plain, droppedPort,
			hostIs("HostName "+behindAddress, "ProxyJump slow", "ConnectTimeout 1"))},
		{name: "jump host refused by host", to: "x", cause: Refused,
			config: hostIs("HostName "+behindAddress, "Port 23", "ProxyJump jump")},
		{name: "jump host denies", to: "x", cause: Denied,
			config: "Host closed\n\t" + plain + "\n\tUser nobody-here\n" +
				hostIs("HostName "+behindAddress, "ProxyJump closed")},
		{name: "no ssh", to: "plain", path: "/nonexistent", cause: NoSSH},
		{name: "no configuration", to: "plain", cause: NoConfig,
			change: func(o *Options) { o.Config = "/nonexistent/config" }},
		{name: "bad configuration", to: "x", config: "Host x\n\tNoSuchOption yes\n", cause: BadConfig},
		{name: "bad name", to: "-oProxyCommand=touch x", cause: BadConfig},
		{name: "shell is false", to: "false@plain", cause: NoShell},
		{name: "shell is nologin", to: "nologin@plain", cause: NoShell},
		{name: "shell is of Windows", to: "cmd@plain", cause: Windows},
		{name: "shell prints without end", to: "endless@plain", cause: NoShell},
		{name: "other architecture", to: "other@plain", cause: NoAgent},
		{name: "Git Bash on Windows", to: "msys@plain", cause: Windows},
		{name: "noexec folder", to: "noexec@plain", change: folder(r.dir + "/noexec"), cause: NoExec},
		{name: "no space", to: "ordinary", change: folder(r.dir + "/small"), cause: NoSpace},
		{name: "folder read-only", to: "ordinary", change: folder(r.dir + "/readonly"), cause: NoFolder},
		{name: "folder not writable", to: "ordinary", change: folder("/usr"), cause: NoFolder},
		{name: "folder is a file", to: "ordinary", change: folder(r.dir + "/config"), cause: NoFolder},
		{name: "sudo asks for a password", to: "sudo@plain", change: func(o *Options) { o.Sudo = true }, cause: Sudo},
		{name: "no sudo", to: "ordinary", change: func(o *Options) { o.Sudo = true }, cause: Sudo},
		{name: "no such command", to: "ordinary", change: command("/opt/none/nearfar-agent --stdio"), cause: NoStart},
		{name: "no such command on Windows", to: "cmd@plain", cause: NoStart,
			change: command(`C:\nearfar\nearfar-agent.exe --stdio`)},
		{name: "command is another program", to: "ordinary", change: command("echo hello"), cause: NoStart},
		{name: "command while nobody listens", to: "x", config: hostIs(plain, "Port 23"),
			change: command("nearfar-agent --stdio"), cause: Refused},
		{name: "agent damaged", to: "ordinary", cause: BadCopy,
			change: func(o *Options) { o.Agents = r.damaged(strings.Repeat("0", 64), nil) }},
		{name: "agent does not start", to: "ordinary", cause: NoStart,
			change: func(o *Options) { o.Agents = r.damaged("", []byte("\x7fELF of another kind")) }},
	}
}

func TestFailures(t *testing.T) {
	r := useRig(t)
	for _, f := range failings(r) {
		t.Run(f.name, func(t *testing.T) {
			o := r.options(f.to)
			if f.config != "" {
				o.Config = filepath.Join(t.TempDir(), "config")
				b, err := os.ReadFile(r.config)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(o.Config, append([]byte(f.config), b...), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if f.change != nil {
				f.change(&o)
			}
			if f.path != "" {
				t.Setenv("PATH", f.path)
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			begin := time.Now()
			c, err := Dial(o)(ctx)
			if err == nil {
				_ = c.Close()
				t.Fatal("the host was reached")
			}
			t.Logf("after %v", time.Since(begin).Round(time.Millisecond))
			var failure *Error
			if !errors.As(err, &failure) || failure.Cause != f.cause {
				t.Errorf("the cause is not %q: %#v", f.cause, err)
			}
			text := r.hide(err.Error())
			if o.Config != r.config {
				text = strings.ReplaceAll(text, filepath.Dir(o.Config), "CONFIG")
			}
			text = regexp.MustCompile(`nearfar-[0-9a-f]{16}`).ReplaceAllString(text, "nearfar-ID")
			text = regexp.MustCompile(`[0-9a-f]{64}`).ReplaceAllString(text, "HASH")
			golden(t, "failure/"+f.name, text+"\n")
			for home := range strings.SplitSeq("ordinary noexec other sudo", " ") {
				found, err := filepath.Glob(filepath.Join(r.dir, "home", home, ".*", "nearfar-*"))
				if err != nil || len(found) > 0 {
					t.Errorf("left on the host: %q (%v)", found, err)
				}
			}
		})
	}
}

// damaged is Options.Agents with another hash, or another program, than the right one.
func (r *rig) damaged(hash string, program []byte) func(host.System) (Program, error) {
	return func(host.System) (Program, error) {
		p := r.program
		if program != nil {
			var err error
			if p, err = pack(program); err != nil {
				return p, err
			}
		}
		if hash != "" {
			p.SHA256 = hash
		}
		return p, nil
	}
}
