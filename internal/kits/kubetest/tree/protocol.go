//go:build linux

// Package tree is what runs inside a test's cluster of Kubernetes: the keeper, the first process of the cluster, and
// the first process of each node.
//
// The keeper is an ordinary process of the machine. It starts the first process of the cluster, in new namespaces, and
// waits until its standard input ends, because the test closed it or because the test's process ended. Then it kills
// the first process, with which the kernel kills all others, and removes what the kernel does not: control groups and
// the cluster's folder.
//
// The test sends requests, one JSON object a line, to the keeper's standard input, and reads replies from its standard
// output. The keeper passes them on to the first process of the cluster, which passes those for a node on to the first
// process of the node.
package tree

// A Request asks the first process of the cluster or of a node for something.
type Request struct {
	// ID is repeated in the reply; it is above 0.
	ID int `json:"id"`
	// Node is the node that the request is for; empty for the control plane.
	Node string `json:"node,omitempty"`
	// One of the following is set. ControlPlane and Add (a node) prepare namespaces; Setup is what Add becomes for the
	// node itself.
	ControlPlane *ControlPlane `json:"control_plane,omitempty"`
	Add          *Node         `json:"add,omitempty"`
	Setup        *Node         `json:"setup,omitempty"`
	Start        *Program      `json:"start,omitempty"`
	// Stop is the name of a program to kill. The reply comes when it has ended.
	Stop string `json:"stop,omitempty"`
}

// A Reply answers a request, or tells of something that happened.
type Reply struct {
	// ID is the ID of the request; 0 if the reply answers none.
	ID int `json:"id,omitempty"`
	// Error says why the request failed; empty if it did not.
	Error string `json:"error,omitempty"`
	// Unsupported says that it failed because the kernel lacks something.
	Unsupported bool `json:"unsupported,omitempty"`
	// PID is the number of the process that was started: as the machine sees it for the first process of the cluster,
	// and as the cluster sees it for the first process of a node.
	PID int `json:"pid,omitempty"`
	// Ended says how the program Name, of the node or the control plane, ended without having been stopped.
	Node  string `json:"node,omitempty"`
	Name  string `json:"name,omitempty"`
	Ended string `json:"ended,omitempty"`
}

// A ControlPlane is the network namespace in which the control plane runs, and to which all nodes are connected.
type ControlPlane struct {
	// Folder is the cluster's folder on the machine. Everything else is read-only for the control plane.
	Folder string `json:"folder"`
	// State is a folder below, for files that need no disk and end with the cluster.
	State string `json:"state"`
	// Address is the address of the control plane, with the length of the prefix.
	Address string `json:"address"`
}

// A Node is a machine of the cluster: its own namespaces and its own file system.
type Node struct {
	Name string `json:"name"`
	// Number is different for each node, from 1 on.
	Number int `json:"number"`
	// Root is the folder that becomes the node's file system.
	Root string `json:"root"`
	// Address is the node's address, with the length of the prefix, and Gateway the control plane's.
	Address string `json:"address"`
	Gateway string `json:"gateway"`
	// Routed and Tunnelled are the prefixes of pods in the two networks.
	Routed    string `json:"routed"`
	Tunnelled string `json:"tunnelled"`
	// VTEP is the hardware address of the node's VXLAN device.
	VTEP string `json:"vtep"`
	// Peers are the other nodes.
	Peers []Node `json:"peers,omitempty"`
	// Files are the contents of files, by path on the node.
	Files map[string]string `json:"files,omitempty"`
	// Folders are folders of the machine that the node sees read-only, by path on the node.
	Folders map[string]string `json:"folders,omitempty"`
	// Logs is the folder of the machine that the node sees as /var/log.
	Logs string `json:"logs,omitempty"`
}

// A Program is a program to start.
type Program struct {
	// Name is the name by which it is stopped.
	Name string   `json:"name"`
	Argv []string `json:"argv"`
	// Log is the file, as the caller of the program sees it, to which its output is appended.
	Log string `json:"log"`
	// Env is added to the environment.
	Env []string `json:"env,omitempty"`
}
