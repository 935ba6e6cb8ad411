//go:build linux

package tree

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// The verbs with which a test's program runs inside a cluster, as an argument.
const (
	keeperVerb = "kubetest-keeper"
	initVerb   = "kubetest-cluster"
	nodeVerb   = "kubetest-node"
	// noTests stands before the keeper's verb: a test's program whose TestMain does not call Run runs no tests then.
	noTests = "-test.run=^$"
)

// Run runs the process that the arguments name, if they name one of this package, and reports whether they do.
func Run(args []string) (ran bool, err error) {
	if len(args) > 1 && args[0] == noTests {
		args = args[1:]
	}
	if len(args) == 0 {
		return false, nil
	}
	switch args[0] {
	case keeperVerb:
		return true, keep(args[1:])
	case initVerb:
		return true, serveCluster()
	case nodeVerb:
		return true, serveNode()
	}
	return false, nil
}

// maxLine bounds the length of a request or reply, in bytes.
const maxLine = 4 << 20

// replies writes replies, one at a time.
type replies struct {
	mu sync.Mutex
	w  io.Writer
}

func (r *replies) send(reply Reply) {
	b, err := json.Marshal(reply)
	if err == nil {
		err = r.line(b)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "reply:", err)
	}
}

// line passes a reply on.
func (r *replies) line(b []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, err := r.w.Write(append(b, '\n'))
	return err
}

// serve reads requests until the end, and answers each with the result of handle. Requests run in parallel.
func serve(in io.Reader, out *replies, handle func(Request, []byte) (reply Reply, passed bool, err error)) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		var q Request
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			return fmt.Errorf("request: %w", err)
		}
		line := append([]byte(nil), lines.Bytes()...)
		go func() {
			reply, passed, err := handle(q, line)
			if passed {
				return
			}
			reply.ID = q.ID
			if err != nil {
				reply.Error, reply.Unsupported = err.Error(), unsupported(err)
			}
			out.send(reply)
		}()
	}
	return lines.Err()
}

// unsupported says whether an error is the kernel's for something that it does not have.
func unsupported(err error) bool {
	for _, missing := range []error{
		unix.EOPNOTSUPP, unix.ENOSYS, unix.ENODEV, unix.EAFNOSUPPORT, unix.EPROTONOSUPPORT,
	} {
		if errors.Is(err, missing) {
			return true
		}
	}
	return false
}

var errNoRequest = errors.New("a request for nothing")
