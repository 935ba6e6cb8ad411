package agent

import (
	"errors"
	"io"
	"sync/atomic"
)

// maxRequests bounds what the requests that are being served hold in memory, over all calls, in bytes. The largest
// request starts a process with all its standard input.
const maxRequests = maxStdin + 2<<20

// errBusy says that requests hold all the memory that they may have.
var errBusy = errors.New("the agent is busy with other large requests")

// A budgeted reader takes the bytes that it reads from a budget of maxRequests that several readers share, and fails
// with errBusy if none are left.
type budgeted struct {
	r    io.Reader
	used *atomic.Int64
	took int64
}

// Read reads bytes.
func (b *budgeted) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	b.took += int64(n)
	if b.used.Add(int64(n)) > maxRequests {
		return 0, errBusy
	}
	return n, err
}

// giveBack ends the use of the bytes.
func (b *budgeted) giveBack() {
	b.used.Add(-b.took)
	b.took = 0
}
