package hosttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"nearfar/internal/onhost/host"
	"nearfar/internal/onhost/machine"
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
	p := &program{
		ctx: ctx, stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, process: true, listen: listenHere,
	}
	return p.run(args[1:])
}

// Listen makes a process hold a port until it ends.
type Listen func(protocol string, port int) error

// Program is the suite's program as a function: host.Self for a kind of host whose processes are functions. argv is the
// whole command line. Program ends when ctx does, as a process ends after SIGTERM.
func Program(ctx context.Context, argv []string, stdin io.Reader, stdout, stderr io.Writer, listen Listen) int {
	p := &program{ctx: ctx, stdin: stdin, stdout: stdout, stderr: stderr, listen: listen}
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
	listen  Listen
}

func (p *program) fail(err error) int {
	// If printing fails too, the exit status still shows the failure.
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
	case "file": // a relative path is below the folder for temporary files, as with Put
		if !filepath.IsAbs(argument) {
			argument = filepath.Join(os.TempDir(), argument)
		}
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
	case "listen": // holds a port until it is asked to end
		err = p.hold(words[1:])
	case "knock": // dials an address, and expects one byte
		return p.knock(argument)
	case "stubborn": // it ignores SIGTERM, and answers on a port
		err = p.stubborn(argument)
	case "tree": // a child in a session of its own, which is stubborn
		if err = p.child("stubborn", argument); err == nil {
			select {}
		}
	case "parent": // a child that holds a port
		if err = p.child("listen", words[1:]...); err == nil {
			select {}
		}
	case "orphan": // leaves a child that keeps its streams open
		if err = p.child("stubborn", argument); err == nil {
			err = p.awaitAnswer(argument)
		}
	case "kill-self":
		var self *os.Process
		if self, err = os.FindProcess(os.Getpid()); err == nil {
			if err = self.Signal(syscall.SIGKILL); err == nil {
				select {}
			}
		}
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
	line := bytes.Repeat([]byte("abcdefghijklmnopqrstuvwxyz012345"), 128) // few writes, which are slow under Wine
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

// cpus prints the numbers of the CPUs that the process may run on, separated by spaces.
func (p *program) cpus() error {
	all, err := machine.CPUs()
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(p.stdout, strings.Trim(fmt.Sprint(all), "[]"))
	return err
}

func self(words ...string) host.Cmd {
	return host.Cmd{Argv: append([]string{host.Self, Verb}, words...)}
}
