//go:build !linux

package engine

import (
	"errors"
	"net/netip"
	"time"
)

var errNoLoad = errors.New("open-loop load needs Linux: it waits for many sockets at once, to the nanosecond")

// A poller is not there: load says so before anything is measured.
type poller struct{}

func newPoller() (*poller, error)                       { return nil, errNoLoad }
func (*poller) add(*socket, int) error                  { return errNoLoad }
func (*poller) interest(*socket, int, bool, bool) bool  { return false }
func (*poller) forget(*socket)                          {}
func (*poller) wait(int64) int                          { return -1 }
func (*poller) event(int) (index int, read, write bool) { return 0, false, false }
func (*poller) err() error                              { return errNoLoad }
func (*poller) close()                                  {}
func pause(ns int64)                                    { time.Sleep(time.Duration(ns)) }
func exactTimers() bool                                 { return false }
func machine() string                                   { return "" }

// A peerSocket is a UDP socket that hears and answers one address only; load alone has it.
type peerSocket struct{ *socket }

func newPeerSocket(s *socket, _ netip.Addr) *peerSocket { return &peerSocket{socket: s} }
func (*peerSocket) receive([]byte) int                  { return -1 }
func (*peerSocket) fromPeer() bool                      { return false }
func (*peerSocket) answer([]byte) int                   { return -1 }
