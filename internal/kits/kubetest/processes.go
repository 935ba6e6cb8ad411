//go:build linux

package kubetest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"nearfar/internal/kits/kubetest/tree"
)

// processes are the keeper of a cluster and all below it.
type processes struct {
	folder string
	keeper *exec.Cmd
	stderr strings.Builder

	mu       sync.Mutex
	requests io.WriteCloser
	last     int
	pending  map[int]chan tree.Reply
	// pid is the first process of the cluster, as the machine sees it; it is valid once begun is closed.
	pid   int
	begun chan struct{}
	// gone is closed when the first process has ended.
	gone chan struct{}
	// ended are the programs that ended without having been stopped, with the way in which they did.
	ended map[string]string
}

// answer bounds how long a request to a cluster's processes may take.
const answer = time.Minute

// startProcesses starts the keeper and the first process of the cluster.
func startProcesses(folder string, nodes []string) (*processes, error) {
	if err := os.Mkdir(filepath.Join(folder, "log"), 0o755); err != nil {
		return nil, err
	}
	// The keeper inherits the lock, which holds until both have closed it.
	lock, err := os.Create(filepath.Join(folder, tree.LockName))
	if err != nil {
		return nil, err
	}
	defer func() { _ = lock.Close() }()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, fmt.Errorf("locking %s: %w", lock.Name(), err)
	}
	p := &processes{
		folder: folder, keeper: tree.Keeper(folder, nodes, lock), pending: map[int]chan tree.Reply{},
		begun: make(chan struct{}), gone: make(chan struct{}), ended: map[string]string{},
	}
	p.keeper.Stderr = &p.stderr
	if p.requests, err = p.keeper.StdinPipe(); err != nil {
		return nil, err
	}
	replies, err := p.keeper.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.keeper.Start(); err != nil {
		return nil, fmt.Errorf("starting the keeper: %w", err)
	}
	go p.receive(replies)
	select {
	case <-p.begun:
		return p, nil
	case <-p.gone:
	case <-time.After(answer):
	}
	err = errors.Join(errors.New("the first process of the cluster did not start; TestMain must call kubetest.Inside"),
		p.close())
	return nil, err
}

// receive hands each reply to the request that waits for it.
func (p *processes) receive(replies io.Reader) {
	defer close(p.gone)
	lines := bufio.NewScanner(replies)
	for lines.Scan() {
		var r tree.Reply
		if json.Unmarshal(lines.Bytes(), &r) != nil {
			continue // what Go's testing package prints, if TestMain does not call Inside
		}
		p.mu.Lock()
		switch {
		case r.Ended != "":
			p.ended[programKey(r.Node, r.Name)] = r.Ended
		case r.ID == 0:
			p.pid = r.PID
			close(p.begun)
		default:
			if c := p.pending[r.ID]; c != nil {
				c <- r
			}
			delete(p.pending, r.ID)
		}
		p.mu.Unlock()
	}
}

// programKey is how messages name a program.
func programKey(node, name string) string {
	if node == "" {
		return name
	}
	return name + " on " + node
}

// do sends a request and waits for its reply.
func (p *processes) do(q tree.Request) (tree.Reply, error) {
	reply := make(chan tree.Reply, 1)
	p.mu.Lock()
	p.last++
	q.ID = p.last
	p.pending[q.ID] = reply
	if q.Start != nil {
		delete(p.ended, programKey(q.Node, q.Start.Name))
	}
	b, err := json.Marshal(q)
	if err == nil {
		_, err = p.requests.Write(append(b, '\n'))
	}
	p.mu.Unlock()
	if err != nil {
		return tree.Reply{}, fmt.Errorf("asking the cluster's first process: %w", err)
	}
	select {
	case r := <-reply:
		switch {
		case r.Unsupported:
			return r, fmt.Errorf("%w: %s", errUnsupported, r.Error)
		case r.Error != "":
			return r, errors.New(r.Error)
		}
		return r, nil
	case <-p.gone:
		return tree.Reply{}, errors.New("the cluster's first process has ended")
	case <-time.After(answer):
		return tree.Reply{}, fmt.Errorf("no answer from the cluster's first process within %v", answer)
	}
}

// failed says which of the named programs ended by itself, and how; "cluster" if all ended.
func (p *processes) failed(keys ...string) (key string, how error) {
	select {
	case <-p.gone:
		return "cluster", errors.New("the cluster's first process has ended")
	default:
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, key := range keys {
		if how := p.ended[key]; how != "" {
			return key, fmt.Errorf("%s ended: %s", key, how)
		}
	}
	return "", nil
}

// close ends all processes, and waits until the keeper has removed what is left.
func (p *processes) close() error {
	_ = p.requests.Close()
	ended := make(chan error, 1)
	go func() { ended <- p.keeper.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			return errors.Join(fmt.Errorf("the keeper: %w: %s", err, p.stderr.String()), tree.Remove(p.folder))
		}
		return nil
	case <-time.After(2 * answer):
		_ = p.keeper.Process.Kill()
		return errors.Join(errors.New("the keeper did not end"), <-ended, tree.Remove(p.folder))
	}
}

// in is a command in namespaces of a process, with options of nsenter(1).
func (p *processes) in(ctx context.Context, options []string, argv ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "nsenter", append(append(options, "--"), argv...)...)
}
