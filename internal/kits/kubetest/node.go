//go:build linux

package kubetest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"nearfar/internal/kits/kubetest/tree"
)

// A Node is a running node.
type Node struct {
	Name string
	// Address is the node's address, which Kubernetes knows as InternalIP.
	Address string

	cluster *Cluster
	options NodeOptions
	machine tree.Node
	// pid is the node's first process, as the cluster's first process sees it.
	pid     int
	network *os.File
}

// The programs of a node.
const (
	containerd = "containerd"
	kubelet    = "kubelet"
	kubeProxy  = "kube-proxy"
)

// Where a node has its files.
const (
	nodePrograms = "/opt/kubernetes"
	nodePlugins  = "/opt/cni/bin"
	nodeImages   = "/images"
	nodeLogs     = "/var/log"
	// nodeTemporary is in the environment of programs. The test's own folder is not there.
	nodeTemporary = "TMPDIR=/tmp"
)

// Node finds a node.
func (c *Cluster) Node(name string) *Node {
	c.t.Helper()
	for _, n := range c.order {
		if n.Name == name {
			return n
		}
	}
	c.t.Fatalf("the cluster has no node %s", name)
	return nil
}

// Nodes are all nodes, in the order of the options.
func (c *Cluster) Nodes() []*Node { return slices.Clone(c.order) }

// prepare makes the node's namespaces, file system and network.
func (n *Node) prepare() error {
	c := n.cluster
	files, err := n.files()
	if err != nil {
		return err
	}
	logs := filepath.Join(c.Folder, "log", n.Name)
	if err := os.Mkdir(logs, 0o755); err != nil {
		return err
	}
	machine := n.machine
	r, err := c.processes.do(tree.Request{Add: &machine})
	if err != nil {
		return err
	}
	n.pid = r.PID
	for _, p := range c.order {
		if p != n {
			machine.Peers = append(machine.Peers, p.machine)
		}
	}
	machine.Files = files
	machine.Folders = map[string]string{
		nodePrograms: c.programs, nodePlugins: c.programs, nodeImages: filepath.Join(c.Folder, "images"),
	}
	machine.Logs = logs
	if _, err := c.processes.do(tree.Request{Node: n.Name, Setup: &machine}); err != nil {
		return err
	}
	n.network, err = os.Open(n.space("net"))
	return err
}

// space is the path of one of the node's namespaces, as the machine sees it.
func (n *Node) space(kind string) string {
	return fmt.Sprintf("/proc/%d/root/proc/%d/ns/%s", n.cluster.processes.pid, n.pid, kind)
}

// Command is a command on the node: in its namespaces, with its file system.
func (n *Node) Command(ctx context.Context, argv ...string) *exec.Cmd {
	var options []string
	for _, kind := range []string{"net", "uts", "ipc", "pid"} {
		options = append(options, "--"+kind+"="+n.space(kind))
	}
	cmd := n.cluster.processes.in(ctx, append(options, "--mount="+n.space("mnt")), argv...)
	cmd.Env = append(os.Environ(), nodeTemporary)
	return cmd
}

// Network is the path of the node's network namespace.
func (n *Node) Network() string { return n.space("net") }

// run starts a program of the node.
func (n *Node) run(name string, argv ...string) error {
	_, err := n.cluster.processes.do(tree.Request{Node: n.Name, Start: &tree.Program{
		Name: name, Argv: argv, Log: filepath.Join(nodeLogs, name+".log"),
		Env: []string{"HOME=/root", nodeTemporary, collectLater},
	}})
	return err
}

// startContainerd starts containerd, waits until it answers, and loads the images of tests.
func (n *Node) startContainerd() error {
	if err := n.run(containerd, containerd, "-c", containerdFile); err != nil {
		return err
	}
	err := n.cluster.wait(containerd+" answers", startLimit, []string{programKey(n.Name, containerd)}, func() error {
		return n.output("ctr", "version")
	})
	if err != nil {
		return err
	}
	return n.load("test.tar")
}

// load loads the images of an archive in the folder of images.
func (n *Node) load(archive string) error {
	return n.output("ctr", "--namespace", "k8s.io", "images", "import", filepath.Join(nodeImages, archive))
}

// output runs a command on the node, whose output is part of the error.
func (n *Node) output(argv ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	out, err := n.Command(ctx, argv...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, out)
	}
	return nil
}

// startKubelet starts the kubelet and kube-proxy.
func (n *Node) startKubelet() error {
	if err := n.runKubelet(); err != nil {
		return err
	}
	return n.run(kubeProxy, filepath.Join(nodePrograms, kubeProxy), "--config="+proxyFile)
}

func (n *Node) runKubelet() error {
	labels := []string{}
	for name, value := range n.options.Labels {
		labels = append(labels, name+"="+value)
	}
	if n.options.Zone != "" {
		labels = append(labels, "topology.kubernetes.io/zone="+n.options.Zone)
	}
	slices.Sort(labels)
	return n.run(kubelet, filepath.Join(nodePrograms, kubelet), "--config="+kubeletFile,
		"--kubeconfig="+kubeletKey, "--hostname-override="+n.Name, "--node-ip="+n.Address,
		"--node-labels="+strings.Join(labels, ","))
}

// StopKubelet kills the kubelet. Pods continue to run; after a while (nodeGrace) the node is no longer ready.
func (n *Node) StopKubelet() {
	n.cluster.t.Helper()
	if _, err := n.cluster.processes.do(tree.Request{Node: n.Name, Stop: kubelet}); err != nil {
		n.cluster.t.Fatal(err)
	}
}

// StartKubelet starts the kubelet again, and waits until the node is ready.
func (n *Node) StartKubelet() {
	n.cluster.t.Helper()
	err := n.runKubelet()
	if err == nil {
		err = n.waitReady()
	}
	if err != nil {
		n.cluster.t.Fatalf("node %s: %v", n.Name, err)
	}
}

// The configuration files of a node.
const (
	containerdFile = "/etc/containerd.toml"
	kubeletFile    = "/etc/kubelet.json"
	kubeletKey     = "/etc/kubelet.kubeconfig"
	proxyFile      = "/etc/kube-proxy.json"
	proxyKey       = "/etc/kube-proxy.kubeconfig"
	authorityFile  = "/etc/ca.crt"
	// defaultNetwork and vxlanNetwork have the configuration of the two networks of pods, in folders of their own.
	defaultNetwork = "/etc/cni/routes"
	vxlanNetwork   = "/etc/cni/vxlan"
)

// files are the node's own files.
func (n *Node) files() (map[string]string, error) {
	c := n.cluster
	files := map[string]string{
		"/etc/hosts": "127.0.0.1 localhost\n" + n.Address + " " + n.Name + "\n", "/etc/resolv.conf": "",
		"/etc/hostname": n.Name + "\n", "/etc/machine-id": fmt.Sprintf("%032x\n", n.machine.Number),
		authorityFile: string(c.keys.pem), containerdFile: containerdConfig,
	}
	for file, user := range map[string]struct{ name, group string }{
		kubeletKey: {"system:node:" + n.Name, "system:nodes"}, proxyKey: {"system:kube-proxy", ""},
	} {
		k, err := c.keys.sign(user.name, user.group)
		if err != nil {
			return nil, err
		}
		files[file] = string(c.keys.kubeconfig(k))
	}
	for file, content := range map[string]any{
		kubeletFile: n.kubeletConfig(), proxyFile: n.proxyConfig(),
		defaultNetwork + "/10-routes.conflist": network("routes", n.machine.Routed, tree.MTU),
		vxlanNetwork + "/10-vxlan.conflist":    network("vxlan", n.machine.Tunnelled, tree.TunnelMTU),
	} {
		b, err := json.Marshal(content)
		if err != nil {
			return nil, err
		}
		files[file] = string(b)
	}
	return files, nil
}
