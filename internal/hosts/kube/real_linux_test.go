//go:build linux

package kube

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/hosts/hosttest"
	"nearfar/internal/kits/kubetest"
	"nearfar/internal/onhost/agent"
	"nearfar/internal/onhost/host"
)

// A rig is a real cluster with what the tests of this package share.
type rig struct {
	*kubetest.Cluster
	forward *kubetest.Forward
	cluster *Cluster
}

func newRig(t *testing.T, o kubetest.Options) *rig {
	t.Helper()
	if testing.Short() {
		t.Skip("it starts a cluster")
	}
	r := &rig{Cluster: kubetest.Start(t, o)}
	r.forward = r.Forward()
	r.cluster = r.open(t, r.Kubeconfig)
	return r
}

// open opens the cluster as the user of a kubeconfig.
func (r *rig) open(t *testing.T, kubeconfig string) *Cluster {
	t.Helper()
	c, err := Open(r.forward.Kubeconfig(kubeconfig), "kubetest")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// realRun is a run of its own for each call.
func realRun() Run {
	now := time.Now()
	return Run{
		ID: strings.ToLower(rand.Text()[:8]), Owner: Owner(), Process: Process(), Now: now, Expires: now.Add(time.Hour),
	}
}

// small asks for no CPU, so that many pods fit into the test's nodes.
func small(image string) *experiment.Pod {
	return &experiment.Pod{OS: experiment.PodLinux, Image: image, Resources: []byte("{}")}
}

// deploy makes the pods of arms. They are removed when the test ends.
func (r *rig) deploy(t *testing.T, run Run, arms ...experiment.Arm) *Deployed {
	t.Helper()
	d := r.cluster.New(plan(t, run, arms...)[0], func(text string) { t.Log(text) })
	t.Cleanup(func() {
		begun := time.Now()
		if err := d.Remove(); err != nil {
			t.Error(err)
		}
		t.Logf("all was gone after %.1f s", time.Since(begun).Seconds())
	})
	begun := time.Now()
	if err := d.Make(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d pods were ready after %.1f s", len(d.Set.pods), time.Since(begun).Seconds())
	return d
}

// testAgent is the test's own program, which agentcli runs in the pods.
var testAgent = sync.OnceValues(func() (Program, error) {
	content, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return Program{}, err
	}
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	if err != nil {
		return Program{}, err
	}
	if _, err := z.Write(content); err != nil {
		return Program{}, err
	}
	if err := z.Close(); err != nil {
		return Program{}, err
	}
	sum := sha256.Sum256(content)
	return Program{SHA256: hex.EncodeToString(sum[:]), Size: int64(len(content)), Gzip: packed.Bytes()}, nil
})

func testAgents(host.System) (Program, error) { return testAgent() }

// connect connects to the agent in a pod.
func connect(t *testing.T, d *Deployed, pod string, o agent.Options) *agent.Client {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	at, err := d.Addresses(pod, nil)
	if err != nil {
		t.Fatal(err)
	}
	o.Name, o.Session, o.Endpoint.Dial = pod, agent.NewSession(), at
	c, err := d.Connect(ctx, pod, o, testAgents)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// TestCluster runs all tests of this package that need a real cluster, at the same time in one cluster: none of them
// damages it.
func TestCluster(t *testing.T) {
	t.Parallel()
	r := newRig(t, kubetest.Options{})
	r.Apply(refusing)
	r.Kubectl("create", "namespace", "perf")
	for name, test := range map[string]func(*rig, *testing.T){
		"conformance": (*rig).conformance, "refusals": (*rig).refusals, "rights": (*rig).rights,
		"windows": (*rig).windowsObjects,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(r, t)
		})
	}
}

// conformance runs the suite on pods.
func (r *rig) conformance(t *testing.T) {
	d := r.deploy(t, realRun(), between("pods", experiment.ThroughPod, small(kubetest.Tools), small(kubetest.Tools)))
	use := d.Set.Uses["pods"]
	var port atomic.Int32
	port.Store(20000)
	hosttest.Run(t, hosttest.Kind{
		Processes: true, Signals: true, Pinning: true, Files: true,
		Hosts: func(t *testing.T) (client, server host.Host) {
			first := int(port.Add(8))
			return connect(t, d, use.Client, agent.Options{Endpoint: host.Endpoint{Port: first}}).Host(),
				connect(t, d, use.Server, agent.Options{Endpoint: host.Endpoint{Port: first + 4}}).Host()
		},
	})
}

// left fails the test if objects of a run are in the cluster.
func (r *rig) left(t *testing.T, s *Set) {
	t.Helper()
	all, looked, err := r.cluster.Find(t.Context(), nil)
	all = slices.DeleteFunc(all, func(f Found) bool { return f.Run != s.Run.ID })
	if err != nil || len(all) > 0 {
		t.Errorf("left: %v, looked at %q: %v", all, looked, err)
	}
	if !s.Made {
		return
	}
	_, err = r.cluster.client.CoreV1().Namespaces().Get(t.Context(), s.Namespace, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("namespace %s is left: %v", s.Namespace, err)
	}
}
