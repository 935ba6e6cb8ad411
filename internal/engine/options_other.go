//go:build !linux || portable

package engine

import (
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
)

// supported says which of the options cannot be had here. The net package neither sets most of them nor reads any back,
// and what is not read back is not claimed.
func supported(p Params, _ netip.Addr) (map[string]string, error) {
	switch {
	case p.kernelOptions():
		return nil, fmt.Errorf("socket options (congestion control, nodelay, DSCP, buffer sizes) can be chosen on linux only, not on %s", runtime.GOOS)
	case p.waiting() != WaitBlock:
		return nil, fmt.Errorf("wait %s is possible on linux only; on %s the engine waits as the Go runtime does: use %s", p.waiting(), runtime.GOOS, WaitBlock)
	case p.ZeroCopy:
		return nil, fmt.Errorf("zero-copy is possible on linux only, not on %s", runtime.GOOS)
	}
	return map[string]string{}, nil
}

func (p Params) control(_, _ string, _ syscall.RawConn) error { return nil }

// prepare has nothing to apply: supported has refused what is not the default.
func (s *socket) prepare(Params) error { return nil }

// A tcpSample is what the kernel says of a connection that sends; here it says nothing.
type tcpSample struct {
	retransmits, window int64
	smoothed            time.Duration
}

func (s *socket) sample() (tcpSample, bool) { return tcpSample{}, false }

// A zeroCopy would count sends from the process's own memory.
type zeroCopy struct{ sends, completed, copied atomic.Int64 }

func newZeroCopy(*socket) (*zeroCopy, error) {
	return nil, errors.New("zero-copy is possible on linux only")
}

func (z *zeroCopy) send([]byte) int { return -1 }

func (z *zeroCopy) finish() {}

// run starts the hot threads: one for each connection.
func (f flows) run() (threads []<-chan struct{}) {
	for _, r := range f.receivers {
		threads = append(threads, onThread(r.socket, r.run))
	}
	for _, s := range f.senders {
		threads = append(threads, onThread(s.socket, s.run))
	}
	return threads
}
