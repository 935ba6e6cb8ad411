//go:build linux

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/kits/kubetest"
	"nearfar/internal/measure/deploy"
)

// insideCluster runs a process of a test cluster, if this program was started as one.
func insideCluster() bool { return kubetest.Inside() }

// runsBesideEachOther is how many runs a test makes in a cluster at a time.
const runsBesideEachOther = 3

// A kubeRig is a real cluster, and a kubeconfig that reaches it from here.
type kubeRig struct {
	*kubetest.Cluster
	t       *testing.T
	dir     string
	forward *kubetest.Forward
	// kubeconfig reaches the cluster from here, Kubeconfig from inside.
	kubeconfig string
}

func newKubeRig(t *testing.T, o kubetest.Options) *kubeRig {
	t.Helper()
	r := &kubeRig{Cluster: kubetest.Start(t, o), t: t, dir: workspace(t)}
	r.forward = r.Forward()
	r.kubeconfig = r.forward.Kubeconfig(r.Kubeconfig)
	return r
}

// in is the rig for a subtest, with a workspace of its own. Subtests can share the cluster at the same time.
func (r *kubeRig) in(t *testing.T) *kubeRig {
	t.Helper()
	own := *r
	own.t, own.dir = t, workspace(t)
	return &own
}

// Kubectl runs kubectl as the administrator. If it fails, the rig's own test fails, and not the one that started the
// cluster.
func (r *kubeRig) Kubectl(args ...string) string {
	r.t.Helper()
	out, err := r.Try(args...)
	if err != nil {
		r.t.Fatal(err)
	}
	return out
}

// nothingLeft fails the test if something of nearfar is in the cluster, from whichever run. `nearfar down --check` must
// agree.
func (r *kubeRig) nothingLeft() {
	r.t.Helper()
	r.noneOf("app.kubernetes.io/managed-by=nearfar")
	nearfar(r.t, r.dir, nil, "down", "--check", "--kubeconfig", r.kubeconfig)
}

// nothingLeftOf fails the test if something of a run is in the cluster.
func (r *kubeRig) nothingLeftOf(a answer.Answer) {
	r.t.Helper()
	r.noneOf("nearfar/run=" + podsOf(r.t, a).Run)
}

func (r *kubeRig) noneOf(selector string) {
	r.t.Helper()
	got, err := r.Try("get", "namespaces,pods,services,serviceaccounts,networkpolicies", "-A", "-l", selector, "-o",
		"name")
	if err != nil || strings.TrimSpace(got) != "" {
		r.t.Errorf("left in the cluster: %s %v", got, err)
	}
}

// podsOf reads what run.json says of the pods.
func podsOf(t *testing.T, a answer.Answer) deploy.Pods {
	t.Helper()
	record := recordOf(t, a)
	if record.Pods == nil {
		t.Fatal("run.json has no pods")
	}
	return *record.Pods
}

// A kubeRun is a running nearfar.
type kubeRun struct {
	cmd *exec.Cmd
	// lines are the lines of standard error so far; told receives each of them.
	mu    sync.Mutex
	lines []string
	told  chan string
	out   bytes.Buffer
	ended chan struct{} // closed when nearfar has ended
}

// start starts a run of an experiment, from this machine.
func (r *kubeRig) start(file string) *kubeRun {
	r.t.Helper()
	return r.startAs(r.kubeconfig, file, func(argv ...string) *exec.Cmd {
		return exec.CommandContext(context.Background(), argv[0], argv[1:]...)
	})
}

// startInside starts a run from the network namespace of the control plane, which reaches nodes and pods: a machine
// beside the cluster's nodes. args are further flags.
func (r *kubeRig) startInside(file string, args ...string) *kubeRun {
	r.t.Helper()
	return r.startAs(r.Kubeconfig, file, func(argv ...string) *exec.Cmd {
		return r.Command(context.Background(), argv...)
	}, args...)
}

func (r *kubeRig) startAs(
	kubeconfig, file string, command func(argv ...string) *exec.Cmd, args ...string,
) *kubeRun {
	r.t.Helper()
	dir := workspace(r.t)
	args = append([]string{
		program, "run", "--force", "--progress", "plain", "-f", "json", "--kubeconfig", kubeconfig,
		write(r.t, dir, file),
	}, args...)
	p := &kubeRun{
		cmd:  command(args...),
		told: make(chan string, 1000), ended: make(chan struct{}),
	}
	p.cmd.Dir, p.cmd.Stdout = dir, &p.out
	p.cmd.Env = append(os.Environ(), "HOME="+dir)
	stderr, err := p.cmd.StderrPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		r.t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		p.read(stderr)
		_ = p.cmd.Wait() // the test looks at the exit code
	}()
	r.t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // it has usually ended
		<-p.ended
	})
	return p
}

func (p *kubeRun) read(stderr io.Reader) {
	defer close(p.told)
	for s := bufio.NewScanner(stderr); s.Scan(); {
		p.mu.Lock()
		p.lines = append(p.lines, s.Text())
		p.mu.Unlock()
		p.told <- s.Text()
	}
}

// until waits for a line. It returns false if nearfar ends without it.
func (p *kubeRun) until(t *testing.T, what string) bool {
	t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		select {
		case line, more := <-p.told:
			if !more {
				return false
			}
			if strings.Contains(line, what) {
				return true
			}
		case <-limit.C:
			t.Fatalf("it does not say %q:\n%s", what, p.said())
		}
	}
}

func (p *kubeRun) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.lines, "\n")
}

// id is the run's mark on what it makes in the cluster.
func (p *kubeRun) id(t *testing.T) string {
	t.Helper()
	return podsOf(t, answer.Answer{Ran: answer.Ran{Run: onlyRun(t, p.cmd.Dir)}}).Run
}

// answer waits for the end of the run, whose trials must all succeed, and returns its answer.
func (p *kubeRun) answer(t *testing.T) answer.Answer {
	t.Helper()
	<-p.ended
	if p.cmd.ProcessState.ExitCode() != 0 {
		t.Fatalf("the run failed:\n%s", p.said())
	}
	a := answerOf(t, p.out.Bytes(), p.cmd.Dir)
	wantNoFailures(t, a)
	return a
}
