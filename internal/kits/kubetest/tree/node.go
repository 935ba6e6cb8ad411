//go:build linux

package tree

import (
	"errors"
	"os"
	"sync"
)

// A node is the first process of a node: it prepares the node, and starts and stops its programs.
type node struct {
	out      *replies
	programs *programs

	mu   sync.Mutex
	name string
}

func serveNode() error {
	if os.Getpid() != 1 {
		return errors.New("the first process of a node is started by the first process of the cluster")
	}
	n := &node{out: &replies{w: os.Stdout}}
	n.programs = newPrograms(func(name, how string) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.out.send(Reply{Node: n.name, Name: name, Ended: how})
	})
	go n.programs.reap()
	return serve(os.Stdin, n.out, n.handle)
}

func (n *node) handle(q Request, _ []byte) (r Reply, passed bool, err error) {
	switch {
	case q.Setup != nil:
		n.mu.Lock()
		n.name = q.Setup.Name
		n.mu.Unlock()
		if err := q.Setup.enter(); err != nil {
			return r, false, err
		}
		return r, false, q.Setup.connect()
	case q.Start != nil:
		return r, false, n.programs.start(q.Start)
	case q.Stop != "":
		return r, false, n.programs.stop(q.Stop)
	}
	return r, false, errNoRequest
}
