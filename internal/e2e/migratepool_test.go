//go:build linux

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"nearfar/internal/cloud/pool"
	"nearfar/internal/kits/kubetest"
)

// web is a Deployment that takes a second until a pod is ready, with a PodDisruptionBudget, and a DaemonSet.
const web = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - name: main
        image: ` + kubetest.Busybox + `
        command: [sleep, infinity]
        # Not a readinessProbe, which would start a process in each pod every second until the end.
        startupProbe: {exec: {command: ["true"]}, initialDelaySeconds: 1, periodSeconds: 1, timeoutSeconds: 10}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: everywhere}
spec:
  selector: {matchLabels: {app: everywhere}}
  template:
    metadata: {labels: {app: everywhere}}
    spec:
      terminationGracePeriodSeconds: 0
      containers: [{name: main, image: ` + kubetest.Busybox + `, command: [sleep, infinity]}]
`

// A poolRig is a cluster with a fake Azure and a Deployment that is watched.
type poolRig struct {
	*kubeRig
	azure, bin string
	client     *kubernetes.Clientset
	watched    *readyWatch
}

func newPoolRig(t *testing.T) *poolRig {
	t.Helper()
	var nodes []kubetest.NodeOptions
	for _, name := range []string{"n1", "n2"} {
		id := "azure:///subscriptions/0-1/resourceGroups/mc_rg/providers/Microsoft.Compute/" +
			"virtualMachineScaleSets/aks-" + name + "-vmss/virtualMachines/0"
		nodes = append(nodes, kubetest.NodeOptions{Name: name, ProviderID: id})
	}
	r := &poolRig{kubeRig: newKubeRig(t, kubetest.Options{Nodes: nodes})}
	r.azure, r.bin = newAzure(t, r.kubeRig)
	var err error
	if r.client, err = kubeClient(r.kubeconfig); err != nil {
		t.Fatal(err)
	}
	r.Apply(web)
	r.Kubectl("rollout", "status", "deployment/web", "--timeout=90s")
	r.Kubectl("rollout", "status", "daemonset/everywhere", "--timeout=90s")
	r.watched = watchReady(t, r.client)
	return r
}

// migrate is a command line of migrate-pool.
func (r *poolRig) migrate(args ...string) *exec.Cmd {
	all := append([]string{"migrate-pool", "--kubeconfig", r.kubeconfig, "--pace", "0s"}, args...)
	cmd := exec.Command(program, all...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "HOME="+r.dir, fakeAzure+"="+r.azure, "PATH="+r.bin+":"+os.Getenv("PATH"))
	return cmd
}

// begin are the flags of a migration of the pool that exists now. Pods in the network of a node are left out, except
// in one test: they take seconds.
func (r *poolRig) begin(t *testing.T) []string {
	t.Helper()
	return []string{"-g", "rg", "--cluster", "kube", "--from", r.pools(t)[0].Name, "--yes", "--no-guest-check"}
}

// do runs a command line to its end, and returns what it printed.
func (r *poolRig) do(t *testing.T, code int, args ...string) string {
	t.Helper()
	cmd := r.migrate(args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	begun := time.Now()
	if err := cmd.Run(); cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != code {
		t.Fatalf("nearfar migrate-pool %q: %v, want exit code %d\n%s", args, err, code, out.String())
	}
	t.Logf("migrate-pool %s: %.1f s", strings.Join(args, " "), time.Since(begun).Seconds())
	return out.String()
}

func (r *poolRig) pools(t *testing.T) []*azurePool {
	t.Helper()
	a, err := readAzure(r.azure)
	if err != nil {
		t.Fatal(err)
	}
	return a.Pools
}

// state is the state of the newest migration; nil if there is none yet.
func (r *poolRig) state(t *testing.T) *pool.State {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(r.dir, pool.Folder(), "from-*.json"))
	if err != nil {
		t.Fatal(err)
	}
	var newest *pool.State
	for _, file := range files {
		s, err := pool.ReadState(file)
		if err != nil {
			t.Fatal(err)
		}
		if newest == nil || s.Begun.After(newest.Begun) {
			newest = s
		}
	}
	return newest
}

// version changes when a state is written: its file is replaced.
func (r *poolRig) version(t *testing.T) (version string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(r.dir, pool.Folder(), "from-*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		var s unix.Stat_t
		if unix.Stat(file, &s) == nil {
			version += fmt.Sprintln(s.Ino, s.Mtim)
		}
	}
	return version
}

// wantOn checks that one pool is left, and that the Deployment is ready on its node.
func (r *poolRig) wantOn(t *testing.T, name string) {
	t.Helper()
	pools := r.pools(t)
	if len(pools) != 1 || pools[0].Name != name {
		t.Fatalf("the pools are %+v, want %s alone", pools, name)
	}
	node, err := r.client.CoreV1().Nodes().Get(t.Context(), pools[0].Nodes[0], metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if node.Spec.Unschedulable {
		t.Errorf("node %s of pool %s is cordoned", node.Name, name)
	}
	for _, p := range r.watched.pods(t) {
		if p.Spec.NodeName != node.Name {
			t.Errorf("pod %s is on %s, want %s", p.Name, p.Spec.NodeName, node.Name)
		}
	}
}

// killAt runs a command line and kills it with SIGKILL as soon as its state has a step. It returns the step that the
// state then has, which can be a later one.
func (r *poolRig) killAt(t *testing.T, step pool.Step, args ...string) pool.Step {
	t.Helper()
	cmd := r.migrate(args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	before := r.state(t)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	seen := ""
	for tick := time.Tick(time.Millisecond); ; {
		select {
		case err := <-ended:
			t.Logf("migrate-pool %q ended before the step %s: %v\n%s", args, step, err, out.String())
			return r.state(t).Step
		case <-tick:
		}
		// Reading the states every millisecond would take much of a CPU.
		version := r.version(t)
		if version == seen {
			continue
		}
		seen = version
		s := r.state(t)
		if s != nil && s.Step == step && (before == nil || before.ID != s.ID || !s.Changed.Equal(before.Changed) ||
			before.Step == step) {
			break
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Logf("migrate-pool %q ended before it was killed", args)
	}
	at := r.state(t).Step
	t.Logf("killed at the step %s, wanted %s", at, step)
	return at
}

// forward are the steps at which a migration can be killed.
func forward() []pool.Step {
	return []pool.Step{pool.AddPool, pool.WaitNodes, pool.CheckPool, pool.Cordon, pool.Drain, pool.CheckOld,
		pool.AskDelete, pool.DeleteOld}
}

// backward are the steps at which an undo can be killed.
func backward() []pool.Step {
	return []pool.Step{pool.UndoUncordon, pool.UndoCordon, pool.UndoDrain, pool.UndoCheck, pool.UndoAsk,
		pool.UndoDelete}
}

// TestMigratePool: pools are replaced in one cluster, one after the other. The Deployment keeps the minimum of its
// budget all the time.
func TestMigratePool(t *testing.T) {
	t.Parallel()
	r := newPoolRig(t)
	random := killRandom(t)
	for _, c := range []struct {
		name string
		test func(r *poolRig, t *testing.T)
	}{
		{"whole", (*poolRig).whole},
		{"killed", func(r *poolRig, t *testing.T) { r.killed(t, someMoments(random, 4, forward())) }},
		{"undo killed", func(r *poolRig, t *testing.T) { r.undoKilled(t, someMoments(random, 3, backward())) }},
		{"undone", func(r *poolRig, t *testing.T) { r.undone(t, someMoments(random, 2, forward())) }},
		{"blocked", (*poolRig).blocked},
	} {
		if !t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) { c.test(r.in(t), t) }) {
			return // the pools may be in any state
		}
	}
}

// in is the rig for a subtest, in the same folder: the states of migrations are there.
func (r *poolRig) in(t *testing.T) *poolRig {
	own, rig := *r, *r.kubeRig
	own.kubeRig, rig.t = &rig, t
	return &own
}

// whole replaces the pool linpool.
func (r *poolRig) whole(t *testing.T) {
	base := []string{"-g", "rg", "--cluster", "kube", "--from", "linpool"}

	// A pod without a controller and an emptyDir stop it. Nothing else does.
	r.Apply(`{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "alone"}, "spec": {
"terminationGracePeriodSeconds": 0, "volumes": [{"name": "scratch", "emptyDir": {}}],
"containers": [{"name": "main", "image": "` + kubetest.Busybox + `",
"command": ["sleep", "infinity"], "volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}]}]}}`)
	r.Kubectl("wait", "--for=condition=Ready", "pod/alone", "--timeout=60s")
	out := r.do(t, 1, append(base, "--dry-run")...)
	for _, want := range []string{
		"From pool linpool to pool linpool2", "az aks nodepool add", "--node-vm-size Standard_D2s_v3", "--max-pods 30",
		"without --force: no controller makes these pods again; they are gone after it: default/alone",
		"without --delete-emptydir-data", "Deployment default/web; PodDisruptionBudget default/web",
		"PodDisruptionBudget default/web: evictions allowed now: 1 (pods healthy: 2, needed: 1)",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the dry run does not say %q:\n%s", want, out)
		}
	}
	if s := r.state(t); s != nil || len(r.pools(t)) != 1 {
		t.Errorf("the dry run changed something: %+v", s)
	}
	t.Logf("the dry run:\n%s", out)

	// The scale set of the new pool says no: no workload moves, and undo deletes the pool.
	r.changeAzure(t, func(a *azure) { a.Accelerated = false })
	out = r.do(t, 4, append(base, "--yes", "--force", "--delete-emptydir-data")...)
	if !strings.Contains(out, "accelerated networking of the new pool is off") ||
		!strings.Contains(out, "guest of node n2: unknown") {
		t.Errorf("it does not say that accelerated networking is off, and what the guest says:\n%s", out)
	}
	r.nothingLeft()
	r.do(t, 0, "--undo", "--yes")
	r.wantOn(t, "linpool")

	// A no keeps the old pool, and undo goes back from there.
	r.changeAzure(t, func(a *azure) { a.Accelerated = true })
	cmd := r.migrate(append(base, "--force", "--delete-emptydir-data", "--no-guest-check")...)
	cmd.Stdin = strings.NewReader("yes\nno\n")
	text, err := cmd.CombinedOutput()
	if err == nil || r.state(t).Step != pool.AskDelete || len(r.pools(t)) != 2 {
		t.Fatalf("after a no: %v, the pools are %+v\n%s", err, r.pools(t), text)
	}
	r.do(t, 0, "--undo", "--yes")
	r.wantOn(t, "linpool")
	out = r.do(t, 0, append(base, "--yes", "--no-guest-check")...)
	r.wantOn(t, "linpool2")
	t.Logf("the migration:\n%s", out)
	if out := r.do(t, 1, "--undo", "--from", "linpool"); !strings.Contains(out, "cannot be undone") {
		t.Errorf("undo after the end:\n%s", out)
	}
}

func (r *poolRig) changeAzure(t *testing.T, change func(*azure)) {
	t.Helper()
	a, err := readAzure(r.azure)
	if err != nil {
		t.Fatal(err)
	}
	change(a)
	if err := a.write(r.azure); err != nil {
		t.Fatal(err)
	}
}

// blocked: a budget that allows no eviction is reported and waited for, and the limit leaves a state from which the
// migration goes on. Without az, both pools are found by labels.
func (r *poolRig) blocked(t *testing.T) {
	old := r.pools(t)[0].Nodes[0]
	after := map[string]string{"n1": "n2", "n2": "n1"}[old]
	r.Kubectl("uncordon", after)
	r.Kubectl("label", "node", old, "pool=old")
	r.Kubectl("label", "node", after, "pool=new")
	r.Kubectl("patch", "pdb", "web", "--type=merge", "-p", `{"spec": {"minAvailable": 2}}`)
	base := []string{
		"--from-selector", "pool=old", "--to-selector", "pool=new", "--keep-old", "--yes", "--no-guest-check",
	}
	out := r.do(t, 1, append(base, "--drain-limit", "7s")...)
	for _, want := range []string{
		"waiting: PodDisruptionBudget default/web: evictions allowed now: 0 (pods healthy: 2, needed: 2); it keeps " +
			"web-",
		"it is not empty after 7s", "stopped at the step drain",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
	for _, p := range r.watched.pods(t) {
		if p.Spec.NodeName != old {
			t.Errorf("pod %s has moved to %s", p.Name, p.Spec.NodeName)
		}
	}
	if out := r.do(t, 1, base...); !strings.Contains(out, "is not finished (drain)") {
		t.Errorf("a second migration:\n%s", out)
	}
	// Ctrl-C ends the wait.
	cmd := r.migrate("--resume")
	said := r.until(t, cmd, "waiting: PodDisruptionBudget", func() { _ = cmd.Process.Signal(os.Interrupt) })
	if code := cmd.ProcessState.ExitCode(); code != 130 || !strings.Contains(said, "--resume goes on") {
		t.Fatalf("after Ctrl-C, the exit code is %d\n%s", code, said)
	}
	// The budget allows evictions while the drain waits.
	cmd = r.migrate("--resume", "--drain-limit", "60s")
	said = r.until(t, cmd, "waiting: PodDisruptionBudget", func() {
		r.Kubectl("patch", "pdb", "web", "--type=merge", "-p", fmt.Sprintf(`{"spec": {"minAvailable": %d}}`, minimum))
	})
	if !cmd.ProcessState.Success() {
		t.Fatalf("%v\n%s", cmd.ProcessState, said)
	}
	for _, p := range r.watched.pods(t) {
		if p.Spec.NodeName != after {
			t.Errorf("pod %s is on %s", p.Name, p.Spec.NodeName)
		}
	}
	// Undo of pools that migrate-pool has not made only uncordons.
	r.do(t, 0, "--undo", "--from-selector", "pool=old")
	if node, err := r.client.CoreV1().Nodes().Get(t.Context(), old, metav1.GetOptions{}); err != nil ||
		node.Spec.Unschedulable {
		t.Errorf("after undo, %s is cordoned: %v", old, err)
	}
}

// until runs a command line to its end, and calls then when it has printed a text for the first time. It returns what
// the command printed, and fails the test if the text is not part of it.
func (r *poolRig) until(t *testing.T, cmd *exec.Cmd, text string, then func()) string {
	t.Helper()
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	lines := startTelling(t, cmd, func() {}, out)
	var said []string
	for line := range lines {
		said = append(said, line)
		if strings.Contains(line, text) && then != nil {
			then()
			then = nil
		}
	}
	_ = cmd.Wait() // the caller looks at the state of the process
	if then != nil {
		t.Fatalf("it never says %q:\n%s", text, strings.Join(said, "\n"))
	}
	return strings.Join(said, "\n")
}

// killed: a migration that is killed at the steps reaches its end.
func (r *poolRig) killed(t *testing.T, steps []pool.Step) {
	// A process can be past a step before it is killed. Then another migration covers the step.
	missing := slices.Clone(steps)
	for attempt := 0; len(missing) > 0; attempt++ {
		if attempt == 4 {
			t.Fatalf("never killed at %v", missing)
		}
		old := r.pools(t)[0].Name
		args := r.begin(t)
		for _, step := range slices.Clone(missing) {
			at := r.killAt(t, step, args...)
			missing = slices.DeleteFunc(missing, func(s pool.Step) bool { return s == at })
			args = []string{"--resume", "--yes", "--no-guest-check"}
			if at == pool.Done {
				break
			}
		}
		if s := r.state(t); !s.Over() {
			r.do(t, 0, args...)
		}
		now := r.pools(t)
		if len(now) != 1 || now[0].Name == old {
			t.Fatalf("after the migration of %s, the pools are %+v", old, now)
		}
		r.wantOn(t, now[0].Name)
	}
}

// undoKilled: an undo that is killed at the steps reaches its end.
func (r *poolRig) undoKilled(t *testing.T, steps []pool.Step) {
	missing := slices.Clone(steps)
	for attempt := 0; len(missing) > 0; attempt++ {
		if attempt == 4 {
			t.Fatalf("never killed at %v", missing)
		}
		old := r.pools(t)[0].Name
		r.killAt(t, pool.AskDelete, r.begin(t)...)
		for _, step := range slices.Clone(missing) {
			at := r.killAt(t, step, "--undo", "--yes")
			missing = slices.DeleteFunc(missing, func(s pool.Step) bool { return s == at })
			if at == pool.Undone {
				break
			}
		}
		if s := r.state(t); !s.Over() {
			r.do(t, 0, "--undo", "--yes")
		}
		r.wantOn(t, old)
	}
}

// undone: a migration that is killed at one of the steps can be undone from there.
func (r *poolRig) undone(t *testing.T, steps []pool.Step) {
	for _, step := range steps {
		for attempt := 0; ; attempt++ {
			if attempt == 4 {
				t.Fatalf("never killed at %s", step)
			}
			old := r.pools(t)[0].Name
			at := r.killAt(t, step, r.begin(t)...)
			if at == pool.Done || at == pool.DeleteOld && r.deleting(t) {
				// The deletion was begun: it can only be finished.
				if at != pool.Done {
					r.do(t, 1, "--undo", "--yes")
					r.do(t, 0, "--resume", "--yes")
				}
				r.wantOn(t, r.pools(t)[0].Name)
			} else {
				r.do(t, 0, "--undo", "--yes")
				r.wantOn(t, old)
			}
			if at == step {
				break
			}
		}
	}
}

// deleting says that a pool is being deleted, or gone.
func (r *poolRig) deleting(t *testing.T) bool {
	t.Helper()
	pools := r.pools(t)
	deleting := func(p *azurePool) bool { return p.ProvisioningState == "Deleting" }
	return len(pools) < 2 || slices.ContainsFunc(pools, deleting)
}
