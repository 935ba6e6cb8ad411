//go:build linux

package tree

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// A cluster is the first process of the cluster: it runs the control plane, and starts the first process of each node.
type cluster struct {
	out      *replies
	programs *programs

	mu    sync.Mutex
	nodes map[string]*os.File // the requests of each node
}

func serveCluster() error {
	if os.Getpid() != 1 {
		return errors.New("the first process of a cluster is started by its keeper")
	}
	c := &cluster{out: &replies{w: os.Stdout}, nodes: map[string]*os.File{}}
	c.programs = newPrograms(func(name, how string) { c.out.send(Reply{Name: name, Ended: how}) })
	go c.programs.reap()
	return serve(os.Stdin, c.out, c.handle)
}

func (c *cluster) handle(q Request, line []byte) (r Reply, passed bool, err error) {
	switch {
	case q.Add != nil:
		r.PID, err = c.add(q.Add)
		return r, false, err
	case q.Node != "":
		err = c.pass(q.Node, line)
		return r, err == nil, err
	case q.ControlPlane != nil:
		return r, false, c.prepare(q.ControlPlane)
	case q.Start != nil:
		return r, false, c.programs.start(q.Start)
	case q.Stop != "":
		return r, false, c.programs.stop(q.Stop)
	}
	return r, false, errNoRequest
}

// prepare makes the mounts and the network of the control plane.
func (c *cluster) prepare(p *ControlPlane) error {
	if err := unix.Sethostname([]byte("cluster")); err != nil {
		return os.NewSyscallError("sethostname", err)
	}
	if err := p.mount(); err != nil {
		return err
	}
	return p.connect()
}

// add starts the first process of a node, and links its network namespace to the control plane's. It returns the number
// of the process in this PID namespace.
func (c *cluster) add(n *Node) (int, error) {
	requests, ours, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer func() { _ = requests.Close() }()
	answers, theirs, err := os.Pipe()
	if err != nil {
		_ = ours.Close()
		return 0, err
	}
	defer func() { _ = theirs.Close() }()
	pid, err := c.programs.fork(n.Name, "/proc/self/exe", []string{"/proc/self/exe", nodeVerb}, os.Environ(),
		&syscall.SysProcAttr{Cloneflags: namespaces, Setsid: true}, requests, theirs, os.Stderr)
	if err != nil {
		_ = ours.Close()
		_ = answers.Close()
		return 0, err
	}
	go func() {
		defer func() { _ = answers.Close() }()
		lines := bufio.NewScanner(answers)
		lines.Buffer(nil, maxLine)
		for lines.Scan() {
			if err := c.out.line(lines.Bytes()); err != nil {
				return
			}
		}
	}()
	c.mu.Lock()
	c.nodes[n.Name] = ours
	c.mu.Unlock()
	return pid, n.link(pid)
}

// pass passes a request on to a node.
func (c *cluster) pass(node string, line []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	to := c.nodes[node]
	if to == nil {
		return fmt.Errorf("there is no node %s", node)
	}
	_, err := to.Write(append(line, '\n'))
	return err
}
