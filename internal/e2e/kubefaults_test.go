//go:build linux

package e2e

import (
	"cmp"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/declare/rundir"
	"nearfar/internal/kits/kubetest"
)

// faultyPods is a run between two pods, with trials that are long enough for something to happen in them. They take
// little CPU time, because other tests run beside them.
const faultyPods = `
nearfar: v1
name: faulty-pods
arms:
  pods: {kubernetes: {NAMESPACE client: {SIDE resources: {}}, server: {SIDE resources: {}}}}
workloads: [{name: load, tool: native, mode: load, rate: 200/s, duration: 500ms, warmup: 100ms}]
schedule: {blocks: BLOCKS, seed: 1}
`

// podRun is the experiment with a namespace, as a part of the file, a number of blocks, and keys of both sides.
func podRun(namespace string, blocks int, side ...string) string {
	return strings.NewReplacer("NAMESPACE", namespace, "BLOCKS", strconv.Itoa(blocks), "SIDE",
		strings.Join(side, "")).Replace(faultyPods)
}

// A kubeFault happens in the second trial of a run.
type kubeFault struct {
	// before prepares the cluster.
	before func(r *kubeRig)
	do     func(r *kubeRig, p *kubeRun)
	// code is the exit code of the run; -1 if a signal ended it.
	code int
	// failed is how many trials the fault makes fail. They are repeated in new pods if the run goes on.
	failed int
	// says is what the failed trials say, ends what the run says if it fails.
	says, ends string
	// within is how long the run may go on after the fault.
	within time.Duration
	// alone says that the fault disturbs other runs: none is there.
	alone bool
	// blocks is how many blocks the run has; 0 for 12, because a fault takes seconds on a busy machine. namespace and
	// side are further keys of the arm and its sides. Without a namespace, nearfar makes one, and it takes the cluster
	// more than five seconds to delete it.
	blocks          int
	namespace, side string
	// after repairs what the fault broke.
	after func(r *kubeRig)
}

// serverPod is the pod of the run's server, and its node.
func (r *kubeRig) serverPod(p *kubeRun) (namespace, name, node string) {
	r.t.Helper()
	got := strings.Fields(r.Kubectl("get", "pods", "-A", "-l", "nearfar/side=server,nearfar/run="+p.id(r.t), "-o",
		"jsonpath={.items[0].metadata.namespace} {.items[0].metadata.name} {.items[0].spec.nodeName}"))
	if len(got) != 3 {
		r.t.Fatalf("pods: %q", got)
	}
	return got[0], got[1], got[2]
}

// deletePod deletes the server's pod.
func (r *kubeRig) deletePod(p *kubeRun) {
	r.t.Helper()
	namespace, name, _ := r.serverPod(p)
	r.Kubectl("delete", "pod", "-n", namespace, name, "--wait=false")
}

// signalled is a fault of nearfar itself.
func signalled(s os.Signal) func(r *kubeRig, p *kubeRun) {
	return func(r *kubeRig, p *kubeRun) {
		if err := p.cmd.Process.Signal(s); err != nil {
			r.t.Error(err)
		}
	}
}

// kubeFaults are the faults, by name. The order does not matter.
func kubeFaults() map[string]kubeFault {
	const soon = 40 * time.Second // the remaining trials, on a busy machine
	const anew = 2 * time.Minute  // new pods, on a busy machine, beside other runs
	const deleted = "pods/server is lost: .*(deleted|being deleted)"
	return map[string]kubeFault{
		"exec streams cut": {
			within: soon, blocks: 6, // the fault happens at once
			before: func(r *kubeRig) { // the connections of this run alone
				r.forward = r.Forward()
				r.kubeconfig = r.forward.Kubeconfig(r.Kubeconfig)
			},
			do: func(r *kubeRig, _ *kubeRun) {
				if n := r.forward.Cut(); n == 0 {
					r.t.Error("there was no connection")
				}
			},
		},
		"API server restarted": {
			alone: true, within: 2 * soon, namespace: "namespace: default,",
			do: func(r *kubeRig, _ *kubeRun) { r.RestartAPIServer() },
		},
		"kubelet restarted": {
			alone: true, within: 2 * soon, namespace: "namespace: default,",
			do: func(r *kubeRig, p *kubeRun) {
				_, _, node := r.serverPod(p)
				r.Node(node).StopKubelet()
				r.Node(node).StartKubelet()
			},
		},
		"pod deleted": {within: anew, failed: 1, says: deleted, do: (*kubeRig).deletePod},
		"pod ended": {
			within: anew, failed: 1, says: "pods/server is lost: .*ended with exit status",
			do: func(r *kubeRig, p *kubeRun) {
				namespace, name, _ := r.serverPod(p)
				// The command ends with the container, so kubectl fails in most cases.
				_, _ = r.Try("exec", "-n", namespace, name, "--", "kill", "1")
			},
		},
		"namespace deleted": {
			within: anew, failed: 1, says: "pods/(client|server) is lost: .*deleted", blocks: 30,
			do: func(r *kubeRig, p *kubeRun) {
				// It takes the cluster some seconds until it deletes the pods.
				namespace, _, _ := r.serverPod(p)
				r.Kubectl("delete", "namespace", namespace, "--wait=false")
			},
		},
		"quota reached": {
			within: anew, code: 1, failed: 1, says: deleted, namespace: "namespace: full,",
			ends: "cannot be made anew: (.|\n)*the namespace's quota is used up",
			before: func(r *kubeRig) {
				r.Kubectl("create", "namespace", "full")
				r.Kubectl("create", "quota", "pods", "-n", "full", "--hard=pods=2")
			},
			do: func(r *kubeRig, p *kubeRun) {
				r.Kubectl("patch", "quota", "pods", "-n", "full", "-p", `{"spec": {"hard": {"pods": "1"}}}`)
				r.deletePod(p)
			},
			after: func(r *kubeRig) { r.Kubectl("delete", "namespace", "full") },
		},
		"image gone": {
			within: anew, code: 1, failed: 1, says: deleted, namespace: "ready: 30s,",
			side:   `agentImage: "` + agentImage + `",`,
			ends:   "cannot be made anew: (.|\n)*the image " + agentImage + " cannot be pulled",
			before: (*kubeRig).loadAgentImage,
			do: func(r *kubeRig, p *kubeRun) {
				for _, n := range r.Nodes() {
					remove := n.Command(r.t.Context(), "ctr", "--namespace", "k8s.io", "images", "rm", agentImage)
					if out, err := remove.CombinedOutput(); err != nil {
						r.t.Errorf("%v: %s", err, out)
					}
				}
				r.deletePod(p)
			},
		},
		"interrupted": {code: 130, within: soon, do: signalled(os.Interrupt)},
		"killed": {
			alone: true, code: -1, within: soon, do: signalled(syscall.SIGKILL),
			after: func(r *kubeRig) {
				out := string(nearfar(r.t, r.dir, nil, "down", "--all", "--kubeconfig", r.kubeconfig))
				if !strings.Contains(out, "deleting Namespace nearfar-") || !strings.Contains(out, "Nothing of") {
					r.t.Errorf("down --all says\n%s", out)
				}
			},
		},
		"killed, and another run": {
			alone: true, code: -1, within: soon, do: signalled(syscall.SIGKILL),
			after: func(r *kubeRig) {
				next := r.start(podRun("", 2))
				next.until(r.t, "which an earlier run left behind")
				<-next.ended
				if next.cmd.ProcessState.ExitCode() != 0 {
					r.t.Errorf("the next run failed:\n%s", next.said())
				}
				// The next run does not wait for the end of what it deletes.
				r.Kubectl("wait", "--for=delete", "namespace", "-l", "nearfar/run", "--timeout=60s")
			},
		},
	}
}

// TestKubernetesNodeGone is TestKubernetesFaults for a node that is gone. It has a cluster of its own, because most of
// the time it waits for the agent's time of silence to pass. Three nodes: pods can move if one of them is gone.
func TestKubernetesNodeGone(t *testing.T) {
	t.Parallel()
	r := newKubeRig(t, kubetest.Options{Nodes: []kubetest.NodeOptions{{Name: "n1"}, {Name: "n2"}, {Name: "n3"}}})
	var gone string
	kubeFault{
		alone: true, within: 4 * time.Minute, failed: 1, says: "is lost: .*no connection to the agent for 1m0s",
		do: func(r *kubeRig, p *kubeRun) {
			_, _, gone = r.serverPod(p)
			r.Node(gone).StopKubelet()
		},
		after: func(r *kubeRig) { r.Node(gone).StartKubelet() },
	}.run(t, r)
}

// TestKubernetesFaults lets things go wrong in mid-trial. The run goes on or ends as declared, it says why, and nothing
// is left in the cluster.
func TestKubernetesFaults(t *testing.T) {
	t.Parallel()
	r := newKubeRig(t, kubetest.Options{})
	beside, alone := map[string]func(*testing.T){}, map[string]func(*testing.T){}
	for name, fault := range kubeFaults() {
		group := beside
		if fault.alone {
			group = alone
		}
		group[name] = func(t *testing.T) { fault.run(t, r.in(t)) }
	}
	t.Run("beside each other", func(t *testing.T) { together(t, runsBesideEachOther, beside) })
	t.Run("alone", func(t *testing.T) { together(t, 1, alone) })
}

// run starts the run, makes the fault, and checks how the run ends.
func (f kubeFault) run(t *testing.T, r *kubeRig) {
	if f.before != nil {
		f.before(r)
	}
	blocks := cmp.Or(f.blocks, 12)
	p := r.start(podRun(f.namespace, blocks, f.side))
	if !p.until(t, fmt.Sprintf("trial 2/%d", blocks)) {
		t.Fatalf("it ended before the second trial\n%s", p.said())
	}
	run := p.id(t)
	struck := time.Now()
	f.do(r, p)
	<-p.ended
	took := time.Since(struck)
	t.Logf("the run ended %.1f s after the fault, with %v", took.Seconds(), p.cmd.ProcessState)
	if took > f.within {
		t.Errorf("the run went on for %v, want at most %v", took, f.within)
	}
	if got := p.cmd.ProcessState.ExitCode(); got != f.code {
		t.Errorf("exit code %d, want %d\n%s", got, f.code, p.said())
	}
	if f.after != nil {
		f.after(r)
	}
	if f.alone {
		r.nothingLeft()
	} else {
		r.noneOf("nearfar/run=" + run)
	}
	if f.ends != "" && !regexp.MustCompile(f.ends).MatchString(p.said()) {
		t.Errorf("does not say %q:\n%s", f.ends, p.said())
	}
	if strings.Contains(p.said(), "Unhandled Error") || strings.Contains(p.said(), "Ping failed") {
		t.Errorf("prints what the library logs:\n%s", p.said())
	}
	reasons := failures(t, onlyRun(t, p.cmd.Dir))
	if len(reasons) != f.failed {
		t.Errorf("%d trials failed, want %d\n%s", len(reasons), f.failed, p.said())
	}
	for _, reason := range reasons {
		if !regexp.MustCompile(f.says).MatchString(reason) {
			t.Errorf("a trial failed because %q, want %q", reason, f.says)
		}
	}
	if f.code == 1 {
		t.Logf("it says:\n%s", p.said())
	}
	if f.code != 0 {
		return
	}
	a := answerOf(t, p.out.Bytes(), p.cmd.Dir)
	if a.State != rundir.Complete || a.Trials != blocks+f.failed || a.Replaced != f.failed {
		t.Errorf("the run is %s with %d trials, %d replaced", a.State, a.Trials, a.Replaced)
	}
	for _, trial := range trials(t, a) {
		if trial.Facts["client.node"] == "" || trial.Facts["server.pod"] == "" {
			t.Errorf("trial %d, error %q, does not say where its pods were: %v", trial.Trial, trial.Error, trial.Facts)
		}
	}
	said := slices.ContainsFunc(a.Warnings, func(w answer.Warning) bool { return w.Code == "pods-made-anew" })
	if said != (f.failed > 0) {
		t.Errorf("the warnings are %+v", a.Warnings)
	}
}
