package hostverbs

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"nearfar/internal/onhost/supervise"
)

// asSupervisor makes this test's program supervise a server, on the CPU that it names or on any for "any".
const asSupervisor = "NEARFAR_TEST_SUPERVISE_ON"

func TestMain(m *testing.M) {
	var err error
	switch on := os.Getenv(asSupervisor); {
	case len(os.Args) > 2 && os.Args[1] == "engine":
		v := &Verbs{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Data: os.Stdout, Suggest: cobra.NoArgs}
		cmd := v.Engine()
		cmd.SetArgs(os.Args[2:])
		err = cmd.ExecuteContext(context.Background())
	case on != "":
		err = superviseServer(on)
	default:
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// superviseServer starts a native server as an agent does, says when it serves, and waits for its end.
func superviseServer(on string) error {
	folder, err := os.MkdirTemp("", "")
	if err != nil {
		return err
	}
	s, err := supervise.New(supervise.Options{Folder: folder, Self: "nearfar", Alone: true})
	if err != nil {
		return err
	}
	c := supervise.Command{
		Argv:  strings.Fields("nearfar engine serve --listen 127.0.0.1:0 --secret-stdin --once"),
		Stdin: []byte("0123456789abcdef0123456789abcdef\n"),
	}
	if cpu, err := strconv.Atoi(on); err == nil {
		c.CPUs = []int{cpu}
	}
	if err := s.Start("server", c); err != nil {
		return err
	}
	b := make([]byte, 1000)
	n, err := s.Read(context.Background(), "server", 1, 0, b)
	if err != nil {
		return err
	}
	fmt.Printf("%q\n", b[:n])
	_ = os.RemoveAll(folder)
	_, err = s.Wait(context.Background(), "server")
	return err
}

// childrenOf lists the children of a process.
func childrenOf(t *testing.T, pid int) (children []int) {
	t.Helper()
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range threads {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, thread.Name()))
		for word := range strings.FieldsSeq(string(text)) {
			child, err := strconv.Atoi(word)
			if err != nil {
				t.Fatal(err)
			}
			children = append(children, child)
		}
	}
	return children
}

// runs says whether a process runs: a zombie does not.
func runs(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

// TestServerEndsWithItsAgent: a native server that no client has reached yet ends when the agent that started it is
// killed, also if nobody is left to kill the server. It serves on while the agent lives.
func TestServerEndsWithItsAgent(t *testing.T) {
	for _, on := range []string{"any", "0"} {
		t.Run(on, func(t *testing.T) {
			agent := exec.Command(os.Args[0])
			agent.Env = append(os.Environ(), asSupervisor+"="+on)
			agent.Stderr = os.Stderr
			out, err := agent.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := agent.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() {
				_ = agent.Process.Kill()
				_ = agent.Wait()
			}()
			line, err := bufio.NewReader(out).ReadString('\n')
			if err != nil || !strings.Contains(line, "serves on") {
				all, _ := io.ReadAll(out)
				t.Fatalf("the server does not serve: %s%s (%v)", line, all, err)
			}
			servers := childrenOf(t, agent.Process.Pid)
			if len(servers) != 1 || !runs(servers[0]) {
				t.Fatalf("the agent has the processes %v", servers)
			}
			defer func() {
				if runs(servers[0]) {
					_ = syscall.Kill(servers[0], syscall.SIGKILL)
				}
			}()
			if err := agent.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			killed := time.Now()
			for runs(servers[0]) {
				if time.Since(killed) > 20*time.Second {
					t.Fatal("the server runs on, though its agent was killed")
				}
				time.Sleep(time.Millisecond)
			}
			t.Logf("the server ended %v after its agent", time.Since(killed))
		})
	}
}
