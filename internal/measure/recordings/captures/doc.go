// Package captures works out from files of captured packets where on a way the time goes.
//
// A file, or one interface of it, is a point: a place on the way between a client and a server, with a clock. For each
// transaction the time between its request and its reply is taken at each point, two stamps of one clock. The
// difference of these times at two neighbouring points is their segment: what the packets took between the points,
// there and back together. Stamps of different clocks are never subtracted (docs/captures.md, ADR 0150).
//
// A transaction counts if its request and its reply were seen exactly once at every point. Everything else is left out
// and counted by its reason.
package captures

import (
	"io"
	"net/netip"
)

// A Point is a place on the way where packets were captured.
type Point struct {
	Name string
	// Clock is the name of the clock of the time stamps. Points of one clock have one-way times between them. If it is
	// empty, the clock is that of the point's files.
	Clock string
	// Files has one file for each capture.
	Files []File
}

// A File is a file of packets. If it has several interfaces, Interface is the name or number of the one that is meant;
// of a file of Linux' device "any" it is the number of the device.
type File struct{ Path, Interface string }

// Server is the side that gets requests. The zero Server is any.
type Server struct {
	Address netip.Addr
	Port    uint16 // 0 is any
}

// Options says what is read.
type Options struct {
	// Points are in the order of the way, from the client to the server.
	Points []Point
	Server Server
	Open   func(path string) (io.ReadCloser, error)
}

// Limits of what captures may make the reader hold.
const (
	// MaxPoints and MaxCaptures bound what can be named.
	MaxPoints   = 32
	MaxCaptures = 1000
	// maxExchanges is the most exchanges that are kept of a point.
	maxExchanges = 1 << 19
	// maxServices is the most conversations that are counted to find the one that is meant.
	maxServices = 1 << 14
	// maxPending is the most requests of a point that wait for their replies, and maxSpans the most retransmissions.
	maxPending = 1 << 16
	maxSpans   = 1 << 16
	// maxLabels is the most interfaces of a file that are told apart.
	maxLabels = 64
)
