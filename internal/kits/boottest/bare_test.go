//go:build linux

package boottest

import (
	"bufio"
	"context"
	_ "embed" // bare.sh
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"nearfar/internal/kits/moduleroot"
)

//go:embed bare.sh
var bareScript string

// A Bare is a system with nothing but what is essential in Debian, in which a test types commands as root. It has the
// network of this machine, so that it reaches the package sources.
type Bare struct {
	t testing.TB
	// folder has its files on this machine. pid is a process in its namespaces.
	folder string
	pid    int
	env    []string
}

// NewBare makes a bare system. scripts/boot-root.sh bare makes its root before. How this machine reaches package
// registries is told to it in the same way: by variables, and by npm's and Go's settings of this user.
func NewBare(t testing.TB) *Bare {
	t.Helper()
	root, err := moduleroot.Built("boot-bare", "scripts/boot-bare.txt")
	if err != nil {
		t.Fatalf("%v: scripts/boot-root.sh bare makes it", err)
	}
	b := &Bare{t: t, folder: t.TempDir()}
	script := filepath.Join(b.folder, "bare.sh")
	if err := os.WriteFile(script, []byte(bareScript), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(context.Background(), "unshare", "--mount", "--propagation", "private", "--pid", "--fork",
		"--kill-child", "--", "sh", script, root, b.folder)
	cmd.Stderr = os.Stderr
	ready, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	start(t, cmd)
	if line, err := bufio.NewReader(ready).ReadString('\n'); err != nil {
		t.Fatalf("no bare system: %q, %v", line, err)
	}
	if b.pid, err = childOf(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	b.env = append([]string{"HOME=/root", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
		b.registries()...)
	return b
}

// registries are the variables that say how to reach package registries. Certificates that they name are copied.
func (b *Bare) registries() (env []string) {
	for _, variable := range os.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		lower := strings.ToLower(name)
		switch {
		case slices.Contains([]string{"http_proxy", "https_proxy", "no_proxy"}, lower),
			strings.HasPrefix(lower, "npm_config_registry"):
			env = append(env, variable)
		case name == "SSL_CERT_FILE", name == "NODE_EXTRA_CA_CERTS":
			if text, err := os.ReadFile(value); err == nil {
				b.Write("/root/"+name, string(text), 0o644)
				env = append(env, name+"=/root/"+name)
			}
		}
	}
	for _, name := range []string{"GOPROXY", "GOSUMDB", "GONOSUMDB", "GOPRIVATE"} {
		if value, err := exec.CommandContext(context.Background(), "go", "env", name).Output(); err == nil {
			env = append(env, name+"="+strings.TrimSpace(string(value)))
		}
	}
	if home, err := os.UserHomeDir(); err == nil {
		if text, err := os.ReadFile(filepath.Join(home, ".npmrc")); err == nil {
			b.Write("/root/.npmrc", string(text), 0o600)
		}
	}
	return env
}

// path is where the programs of this machine find a file of the system, in its mount namespace.
func (b *Bare) path(file string) string { return filepath.Join(b.folder, "root", file) }

// Write writes a file in the system.
func (b *Bare) Write(file, text string, mode os.FileMode) {
	b.t.Helper()
	script := fmt.Sprintf(`umask 077; mkdir -p "$(dirname "$1")" && cat >"$1" && chmod %o "$1"`, mode)
	cmd := b.inside(context.Background(), "", "sh", "-c", script, "sh", b.path(file))
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil {
		b.t.Fatalf("%s is not written: %v\n%s", file, err, out)
	}
}

// Clone puts a clone of the project's last commit into a folder of the system.
func (b *Bare) Clone(folder string) {
	b.t.Helper()
	root, err := moduleroot.Find()
	if err != nil {
		b.t.Fatal(err)
	}
	cmd := b.inside(context.Background(), "", "git", "clone", "--quiet", "--depth=1", "file://"+root, b.path(folder))
	if out, err := cmd.CombinedOutput(); err != nil {
		b.t.Fatalf("no clone: %v\n%s", err, out)
	}
}

// inside is a program of this machine in the namespaces of the system, and in a network namespace if one is given.
func (b *Bare) inside(ctx context.Context, network string, argv ...string) *exec.Cmd {
	enter := []string{"--target", strconv.Itoa(b.pid), "--mount", "--pid"}
	if network != "" {
		enter = append(enter, "--net="+network)
	}
	return exec.CommandContext(ctx, "nsenter", slices.Concat(enter, []string{"--"}, argv)...)
}

// typed is where a shell keeps its variables for the next command.
const typed = "/root/.typed"

// Type runs a command in a folder, as one shell would that runs all commands in turn: variables that a command exports
// are there for the next. It gives what the command prints. On a network, the command reaches the machines there, and
// no package registries.
func (b *Bare) Type(folder, command string, on *Network, limit time.Duration) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	script := fmt.Sprintf("cd %s && if [ -e %s ]; then . %[2]s; fi\n%s\ncode=$?; export -p >%[2]s; exit $code\n",
		folder, typed, command)
	argv := append([]string{"chroot", b.path("/"), "env", "-i"}, b.env...)
	argv = append(argv, "bash", "-c", script)
	network := ""
	if on != nil {
		network = on.namespace()
	}
	cmd := b.inside(ctx, network, argv...)
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	return string(out), err
}
