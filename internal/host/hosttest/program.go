package hosttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"nearfar/internal/host"
)

// Verb is the first argument with which the suite starts this program (host.Self) on a host. The test binary of a kind
// of host that runs processes calls Main if Verb is its first argument:
//
//	func TestMain(m *testing.M) {
//		if len(os.Args) > 1 && os.Args[1] == hosttest.Verb {
//			os.Exit(hosttest.Main(os.Args[1:]))
//		}
//		os.Exit(m.Run())
//	}
const Verb = "hosttest"

// maxFlood bounds the output of flood, in bytes.
const maxFlood = 1 << 26

// Main is the suite's program as a process of its own. args begins with Verb.
func Main(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	p := &program{ctx: ctx, stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, process: true}
	return p.run(args[1:])
}

// Program is the suite's program as a function: host.Self for a kind of host whose processes are functions. argv is the
// whole command line. Program ends when ctx does, as a process ends after SIGTERM.
func Program(ctx context.Context, argv []string, stdin io.Reader, stdout, stderr io.Writer) int {
	p := &program{ctx: ctx, stdin: stdin, stdout: stdout, stderr: stderr}
	if len(argv) < 2 || argv[1] != Verb {
		return p.fail(fmt.Errorf("unexpected command line %q", argv))
	}
	return p.run(argv[2:])
}

type program struct {
	ctx            context.Context
	stdin          io.Reader
	stdout, stderr io.Writer
	// process says that it runs as a process of the host's operating system.
	process bool
}

func (p *program) fail(err error) int {
	// If even that cannot be printed, the exit status tells.
	_, _ = fmt.Fprintln(p.stderr, "hosttest:", err)
	return 99
}

// run does what the words say, and returns the exit status.
func (p *program) run(words []string) int {
	if len(words) == 0 {
		return p.fail(errors.New("nothing to do"))
	}
	argument := strings.Join(words[1:], " ")
	var err error
	switch words[0] {
	case "kind":
		_, err = fmt.Fprint(p.stdout, p.kind())
	case "exit":
		code, convErr := strconv.Atoi(argument)
		if convErr != nil {
			return p.fail(convErr)
		}
		return code
	case "print": // the argument on standard output, and its length on standard error
		if _, err = fmt.Fprint(p.stdout, argument); err == nil {
			_, err = fmt.Fprint(p.stderr, len(argument))
		}
	case "cat":
		_, err = io.Copy(p.stdout, p.stdin)
	case "file":
		var b []byte
		if b, err = os.ReadFile(argument); err == nil {
			_, err = p.stdout.Write(b)
		}
	case "flood":
		err = p.flood(argument)
	case "env":
		_, err = fmt.Fprint(p.stdout, os.Getenv(argument))
	case "cpus":
		err = p.cpus()
	case "wait": // until it is asked to end
		if _, err = fmt.Fprintln(p.stdout, "ready"); err == nil {
			<-p.ctx.Done()
			_, err = fmt.Fprintln(p.stdout, "asked to end")
		}
	case "stubborn": // it ignores SIGTERM
		if _, err = fmt.Fprintln(p.stdout, "ready"); err == nil {
			select {}
		}
	case "tree": // a child in a session of its own, which is stubborn
		var child int
		if child, err = p.child(); err == nil {
			if _, err = fmt.Fprintln(p.stdout, child); err == nil {
				select {}
			}
		}
	case "orphan": // leaves a child that keeps its streams open
		var child int
		if child, err = p.child(); err == nil {
			_, err = fmt.Fprintln(p.stdout, child)
		}
	case "kill-self":
		var self *os.Process
		if self, err = os.FindProcess(os.Getpid()); err == nil {
			if err = self.Signal(syscall.SIGKILL); err == nil {
				select {}
			}
		}
	case "alive":
		return p.alive(argument)
	default:
		err = fmt.Errorf("unknown %q", words[0])
	}
	if err != nil {
		return p.fail(err)
	}
	return 0
}

func (p *program) kind() string {
	if p.process {
		return "process"
	}
	return "function"
}

// flood prints the given number of bytes on each stream, in capitals on standard error.
func (p *program) flood(argument string) error {
	n, err := strconv.Atoi(argument)
	if err != nil || n < 0 || n > maxFlood {
		return fmt.Errorf("a flood of %q bytes", argument)
	}
	line := []byte("abcdefghijklmnopqrstuvwxyz012345")
	for ; n > 0; n -= len(line) {
		if _, err := p.stdout.Write(line[:min(n, len(line))]); err != nil {
			return err
		}
		if _, err := p.stderr.Write(bytes.ToUpper(line[:min(n, len(line))])); err != nil {
			return err
		}
	}
	return nil
}

// cpus prints the CPUs that the process may run on, as Linux lists them.
func (p *program) cpus() error {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(status)) {
		if list, ok := strings.CutPrefix(line, "Cpus_allowed_list:"); ok {
			_, err := fmt.Fprint(p.stdout, strings.TrimSpace(list))
			return err
		}
	}
	return errors.New("no Cpus_allowed_list in /proc/self/status")
}

// child starts a child that ignores SIGTERM, on the same streams and in a session of its own. It returns when the child
// runs.
func (p *program) child() (int, error) {
	if !p.process {
		return 0, errors.New("a function has no children")
	}
	begun, begins, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer func() { _ = begun.Close() }()
	// This program: its path may not be visible here.
	cmd := exec.CommandContext(context.Background(), "/proc/self/exe", Verb, "stubborn")
	cmd.Stdout, cmd.Stderr = begins, p.stderr
	cmd.ExtraFiles = []*os.File{os.Stdout}
	cmd.SysProcAttr = ownSession()
	err = cmd.Start()
	_ = begins.Close()
	if err != nil {
		return 0, err
	}
	if _, err := begun.Read(make([]byte, 1)); err != nil {
		return 0, fmt.Errorf("the child did not begin: %w", err)
	}
	return cmd.Process.Pid, nil
}

// alive returns the exit status 0 if a process with that number exists, and otherwise 1.
func (p *program) alive(argument string) int {
	pid, err := strconv.Atoi(argument)
	if err != nil || pid <= 1 {
		return p.fail(fmt.Errorf("process number %q", argument))
	}
	process, err := os.FindProcess(pid)
	if err != nil || process.Signal(syscall.Signal(0)) != nil {
		return 1
	}
	return 0
}

func self(words ...string) host.Cmd {
	return host.Cmd{Argv: append([]string{host.Self, Verb}, words...)}
}
