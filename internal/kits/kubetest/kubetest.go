//go:build linux

// Package kubetest runs a real cluster of Kubernetes on this machine, for tests. Each node is a set of namespaces with
// its own file system, containerd, kubelet and kube-proxy; the control plane has its own too. All processes of a
// cluster are below one process: when the test ends, or its process is killed, the kernel ends all of them, and nothing
// is left. Clusters do not see each other, and do not change the machine's own network.
//
// A test package that uses it calls Inside first in its TestMain, because the first processes of a cluster are the
// test's own program, started again.
//
// Two networks of pods are there at once. The default network carries packets between nodes over plain routes. Pods
// with the RuntimeClass VXLAN have addresses of a second network, whose packets between nodes go through VXLAN. The
// names of Services are known to pods. There is no load balancer. NetworkPolicies are enforced only in namespaces for
// which a test calls EnforcePolicies.
package kubetest

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"nearfar/internal/hosts/lab"
	"nearfar/internal/kits/kubetest/tree"
)

// VXLAN is the RuntimeClass of pods whose packets to other nodes go through VXLAN.
const VXLAN = "vxlan"

// Options says what cluster to start.
type Options struct {
	// Nodes are one to nine nodes; none stands for n1 in zone a and n2 in zone b.
	Nodes []NodeOptions
	// Wires are links of their own between pairs of nodes.
	Wires []Wire
}

// NodeOptions says what node to start.
type NodeOptions struct {
	// Name is the node's name: lower-case letters and digits, eight at most.
	Name string
	// Zone is the value of the label topology.kubernetes.io/zone; empty for none.
	Zone string
	// Labels are further labels. Of those below kubernetes.io, NodeRestriction allows only some.
	Labels map[string]string
	// ProviderID is the node's spec.providerID; empty for one of kubetest.
	ProviderID string
}

// A Wire replaces the link between two nodes. All packets between the two cross it, also those between their pods, in
// both networks.
type Wire struct {
	A, B string
	// Delay, Rate (bits per second; 0 is unlimited) and Loss (0 to 1) are those of a lab's wire, in each direction.
	Delay      time.Duration
	Rate, Loss float64
}

// Inside runs one of a cluster's own processes, if this process was started as one, and reports whether it did.
// TestMain returns then. It also runs the processes of a lab, of which wires are made.
func Inside() bool {
	if len(os.Args) < 2 {
		return false
	}
	ran, err := tree.Run(os.Args[1:])
	switch os.Args[1] {
	case lab.InitVerb:
		ran, err = true, lab.RunInit()
	case lab.WireVerb:
		ran, err = true, lab.RunWire(os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return ran
}

// A Cluster is a running cluster. Methods without an error fail the test.
type Cluster struct {
	// Kubeconfig is the path of the administrator's kubeconfig. The server that it names is reached only in the network
	// namespace of the control plane: see Dial and Command.
	Kubeconfig string
	// Folder holds logs and kubeconfigs. It is removed when the test ends.
	Folder string

	t         testing.TB
	programs  string // the folder of the components
	keys      *authority
	admin     *credentials
	client    *http.Client
	processes *processes
	// names is where pods ask for the addresses of Services.
	names net.PacketConn
	// network is the network namespace of the control plane.
	network *os.File
	order   []*Node
	lab     *lab.Lab

	mu sync.Mutex
	// images is how many archives were loaded.
	images int
}

// folderPattern is the name of a cluster's folder, and of its control groups.
const folderPattern = "nearfar-kube-*"

// Start starts a cluster, and waits until all its nodes are ready. It skips the test with -short, and if the kernel or
// the rights of this process do not suffice. It fails the test if a program is missing.
func Start(t testing.TB, o Options) *Cluster {
	t.Helper()
	if testing.Short() {
		t.Skip("a cluster takes seconds")
	}
	requireRights(t)
	if len(o.Nodes) == 0 {
		o.Nodes = []NodeOptions{{Name: "n1", Zone: "a"}, {Name: "n2", Zone: "b"}}
	}
	c := &Cluster{t: t}
	started := time.Now()
	var err error
	if c.programs, err = components(); err != nil {
		t.Fatal(err)
	}
	if err := tree.Sweep(filepath.Join(os.TempDir(), folderPattern)); err != nil {
		t.Fatalf("removing what an earlier test left: %v", err)
	}
	if c.Folder, err = os.MkdirTemp("", folderPattern); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.stop)
	err = c.start(o)
	switch {
	case errors.Is(err, errUnsupported):
		t.Skip(err)
	case err != nil:
		t.Fatalf("starting a cluster: %v", err)
	}
	t.Logf("the cluster was ready after %.1f s", time.Since(started).Seconds())
	return c
}

// For makes t the test that the cluster's methods fail, until t ends. It is for subtests, one after the other.
func (c *Cluster) For(t testing.TB) *Cluster {
	before := c.t
	c.t = t
	t.Cleanup(func() { c.t = before })
	return c
}

// stop ends all processes of the cluster, and waits until nothing is left of it.
func (c *Cluster) stop() {
	if c.t.Failed() {
		c.t.Logf("last lines of the logs:%s", c.tails())
	}
	if c.client != nil {
		c.client.CloseIdleConnections()
	}
	if c.names != nil {
		_ = c.names.Close()
	}
	if c.network != nil {
		_ = c.network.Close()
	}
	for _, n := range c.order {
		if n.network != nil {
			_ = n.network.Close()
		}
	}
	if c.lab != nil {
		if err := c.lab.Close(); err != nil {
			c.t.Errorf("closing the wires: %v", err)
		}
	}
	var err error
	if c.processes != nil {
		err = c.processes.close()
	} else {
		err = tree.Remove(c.Folder)
	}
	if err != nil {
		c.t.Errorf("stopping the cluster: %v", err)
	}
}
