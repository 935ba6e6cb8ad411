package observe

import (
	"errors"

	"nearfar/internal/engine/wire"
	"nearfar/internal/result"
)

// What became of numbered datagrams: rr over UDP counts it on both sides.

// missingSize is how many of the sequence numbers that are missing are remembered, to tell what comes late from what comes
// twice.
const missingSize = 1024

// Arrivals tells for each datagram that comes whether it is the next, an earlier one that was missing, or one that was
// there before. Numbers count from 1. It remembers the last missingSize numbers that it has missed at most: an older one
// passes for a duplicate.
type Arrivals struct {
	highest uint64
	missing [missingSize]uint64
}

// An arrival is what a datagram is among those before it.
type arrival int

const (
	inOrder arrival = iota
	outOfOrder
	Duplicate
)

// Add notes the number of one datagram.
//
//go:nosplit
func (a *Arrivals) Add(sequence uint64) arrival {
	if sequence > a.highest {
		first := a.highest + 1
		if sequence-first > missingSize {
			first = sequence - missingSize
		}
		for n := first; n < sequence; n++ {
			a.missing[n%missingSize] = n
		}
		a.highest = sequence
		return inOrder
	}
	if slot := &a.missing[sequence%missingSize]; *slot == sequence && sequence != 0 {
		*slot = 0
		return outOfOrder
	}
	return Duplicate
}

// CountIn notes a request of the window.
//
//go:nosplit
func (a arrival) CountIn(r *wire.DatagramReport) {
	switch a {
	case Duplicate:
		r.Duplicates++
		return
	case outOfOrder:
		r.OutOfOrder++
	}
	r.Received++
}

// DatagramCounts is what a client counted of the window's requests and of the replies to them.
type DatagramCounts struct {
	// sent requests, and those of them that a reply came to in time.
	Sent, Received int64
	// late replies came after their request was given up; outOfOrder are those of them that came after a later reply;
	// duplicates had come before.
	Late, OutOfOrder, Duplicates int64
	// foreign datagrams are not of this session.
	Foreign int64
}

// Metrics tells with the server's counts what was lost on the way there (up) and back (down). A late reply was neither,
// but is among the lost of the whole: sent - received = lost up + lost down + late.
func (d DatagramCounts) Metrics(server wire.DatagramReport) ([]result.Metric, error) {
	up, down := d.Sent-server.Received, server.Received-d.Received-d.Late
	if up < 0 || down < 0 {
		return nil, errors.New("the server's report makes no sense: it does not fit what was sent and what came back")
	}
	var m []result.Metric
	add := func(name, scope string, v float64) {
		m = append(m, result.Metric{Name: name, Unit: result.One, Scope: scope, Value: v})
	}
	parts := func(name string, up, down int64) {
		add(name, "", float64(up+down))
		add(name, "up", float64(up))
		add(name, "down", float64(down))
	}
	ratio := func(scope string, part, whole int64) {
		if whole > 0 {
			add(result.Loss, scope, float64(part)/float64(whole))
		}
	}
	add(result.Sent, "", float64(d.Sent))
	add(result.Received, "", float64(d.Received))
	add(result.Lost, "", float64(d.Sent-d.Received))
	add(result.Lost, "up", float64(up))
	add(result.Lost, "down", float64(down))
	ratio("", d.Sent-d.Received, d.Sent)
	ratio("up", up, d.Sent)
	ratio("down", down, server.Received)
	parts(result.Duplicates, server.Duplicates, d.Duplicates)
	parts(result.OutOfOrder, server.OutOfOrder, d.OutOfOrder)
	add(result.Late, "", float64(d.Late))
	return m, nil
}
