// Package packets is what is captured of a trial's own packets (docs/captures.md): what a capturer on a host is asked
// for, what a trial's record says about its captures, and the bounds of both.
package packets

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"nearfar/internal/base/clean"
	"nearfar/internal/declare/beside"
)

// Verb is the verb on hosts that captures the packets of a trial. It writes Capturing to its standard error when it
// does.
const (
	Verb      = "capture-packets"
	Capturing = "capturing"
)

// The bounds of a capture.
const (
	// Kept is how many bytes of each packet are kept, from its IP header on: the headers of a tunnel over IPv6, of TCP or
	// UDP over IPv6 inside, with options, and the first 24 bytes of what a datagram carries.
	Kept = 160
	// MaxPackets is how many packets are kept at a point, and MaxAll at all points of a machine together. They are the
	// first ones of the trial, so that they are the same ones at all points.
	MaxPackets = 4096
	MaxAll     = 1 << 16
	// MaxPoints is how many points a machine has at most.
	MaxPoints = 256
	// MaxSize is how many bytes a capture has at most.
	MaxSize = 16 << 20

	maxServers = 8
	maxLongest = 26 * time.Hour
	maxComment = 1000
	// maxPointName is for the names of a place and a device, and what makes the device's safe to print.
	maxPointName = 256
	maxProblem   = 1000
)

// Options say what a capturer of a machine looks for. It gets them as JSON on its standard input.
type Options struct {
	// Side says whose machine it is: both, client or server.
	Side string `json:"side"`
	// Protocol is udp, tcp or icmp.
	Protocol string `json:"protocol"`
	// Servers are the addresses of the server: where it listens, and where the client sends to. Clients are those of the
	// client; with none, packets of every client of the server's port are the trial's.
	Servers []netip.Addr `json:"servers"`
	Clients []netip.Addr `json:"clients,omitempty"`
	// Port is the server's port of the data; 0 for icmp.
	Port uint16 `json:"port"`
	// Places are the network namespaces at whose devices packets are captured. A place without a file is the capturer's
	// own.
	Places []Place `json:"places"`
	// Comment stands in the capture.
	Comment string `json:"comment,omitempty"`
	// Longest is after how long the capture ends if nobody ends it.
	Longest time.Duration `json:"longest_ns"`
}

// A Place is a network namespace, with a name for those who read captures.
type Place struct {
	Name string `json:"name"`
	// File is a path by which a process on the host can open the namespace.
	File string `json:"file,omitempty"`
}

// The sides of which a machine is.
const (
	Both   = beside.Both
	Client = beside.Client
	Server = beside.Server
)

// DecodeOptions reads options, and refuses those that break a bound.
func DecodeOptions(data []byte) (Options, error) { return beside.Decode[Options](data) }

// Check says what is wrong with the options.
func (o Options) Check() error {
	if err := beside.CheckFlow(o.Side, o.Protocol, o.Port); err != nil {
		return err
	}
	switch {
	case len(o.Servers) == 0 || len(o.Servers) > maxServers || len(o.Clients) > maxServers:
		return fmt.Errorf("%d addresses of the server and %d of the client, at most %d", len(o.Servers), len(o.Clients),
			maxServers)
	case len(o.Places) == 0 || len(o.Places) > MaxPoints:
		return fmt.Errorf("%d places, of 1 to %d", len(o.Places), MaxPoints)
	case slices.ContainsFunc(o.Places, func(p Place) bool { return !beside.IsName(p.Name) || len(p.File) > 4096 }):
		return errors.New("a place without a name, or with one that is too long")
	case o.Longest <= 0 || o.Longest > maxLongest:
		return fmt.Errorf("a capture of %v, of more than 0 to %v", o.Longest, maxLongest)
	case len(o.Comment) > maxComment || !isLine(o.Comment):
		return fmt.Errorf("a comment of %d bytes, at most %d in one line", len(o.Comment), maxComment)
	}
	return beside.CheckAddresses(slices.Concat(o.Servers, o.Clients), "host")
}

func isLine(text string) bool { return clean.Line(text) == text }

// A Capture is what was captured of a trial on one machine, as the trial's record has it.
type Capture struct {
	Side string `json:"side"`
	// File is the capture, relative to the run directory. Without one, Problem says why.
	File    string  `json:"file,omitempty"`
	Problem string  `json:"problem,omitempty"`
	Points  []Point `json:"points,omitempty"`
}

// A Point is a device at which packets of the trial were captured, in the order in which its first request passed them.
type Point struct {
	// Name is that of the interface in the capture: place and device.
	Name string `json:"name"`
	// Packets is how many packets of the trial are in the capture, Dropped how many are not, for want of room. Untimed is
	// how many are not because the kernel had stamped them at the device below, and has no time for this one.
	Packets int    `json:"packets"`
	Dropped uint64 `json:"dropped"`
	Untimed uint64 `json:"untimed,omitempty"`
}

// PointName names the device of a place.
func PointName(place, device string) string { return clean.Line(place + "." + device) }

// CheckPoints says what is wrong with the points of a capture.
func CheckPoints(points []Point) error {
	if len(points) > MaxPoints {
		return fmt.Errorf("%d points, at most %d", len(points), MaxPoints)
	}
	for _, p := range points {
		if p.Name == "" || len(p.Name) > maxPointName || !isLine(p.Name) {
			return fmt.Errorf("%.40q is no name of a point", p.Name)
		}
		if p.Packets < 0 || p.Packets > MaxAll {
			return fmt.Errorf("%d packets at %s, at most %d", p.Packets, p.Name, MaxAll)
		}
	}
	return nil
}

// Check says what is wrong with the record of a capture.
func (c Capture) Check() error {
	switch {
	case !beside.IsSide(c.Side):
		return fmt.Errorf("a capture of the unknown side %.40q", c.Side)
	case len(c.File) > maxProblem || len(c.Problem) > maxProblem:
		return fmt.Errorf("a capture with a name or a problem of more than %d bytes", maxProblem)
	}
	return CheckPoints(c.Points)
}

// Unknown is the record of a machine of which there is no capture.
func Unknown(side string, why error) Capture {
	problem := clean.Line(why.Error())
	if len(problem) > maxProblem {
		problem = strings.ToValidUTF8(problem[:maxProblem], "")
	}
	return Capture{Side: side, Problem: problem}
}
