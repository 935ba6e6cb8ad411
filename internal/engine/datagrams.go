package engine

import (
	"errors"

	"nearfar/internal/result"
)

// What became of numbered datagrams: rr over UDP counts it on both sides.

// missingSize is how many of the sequence numbers that are missing are remembered, to tell what comes late from what comes
// twice.
const missingSize = 1024

// arrivals tells for each datagram that comes whether it is the next, an earlier one that was missing, or one that was
// there before. Numbers count from 1. It remembers the last missingSize numbers that it has missed at most: an older one
// passes for a duplicate.
type arrivals struct {
	highest uint64
	missing [missingSize]uint64
}

// An arrival is what a datagram is among those before it.
type arrival int

const (
	inOrder arrival = iota
	outOfOrder
	duplicate
)

// add notes the number of one datagram.
//
//go:nosplit
func (a *arrivals) add(sequence uint64) arrival {
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
	return duplicate
}

// A datagramReport is what the server counted of the requests of the window.
type datagramReport struct {
	// Received are different requests; OutOfOrder those of them that came after a later one.
	Received   int64 `json:"received"`
	OutOfOrder int64 `json:"out_of_order"`
	// Duplicates are requests that had come before. They are not answered.
	Duplicates int64 `json:"duplicates"`
}

// count notes a request of the window.
//
//go:nosplit
func (r *datagramReport) count(a arrival) {
	switch a {
	case duplicate:
		r.Duplicates++
		return
	case outOfOrder:
		r.OutOfOrder++
	}
	r.Received++
}

func (r datagramReport) possible() bool {
	return r.Received >= 0 && r.OutOfOrder >= 0 && r.Duplicates >= 0 && r.OutOfOrder <= r.Received
}

// datagramCounts is what a client counted of the window's requests and of the replies to them.
type datagramCounts struct {
	// sent requests, and those of them that a reply came to in time.
	sent, received int64
	// late replies came after their request was given up; outOfOrder are those of them that came after a later reply;
	// duplicates had come before.
	late, outOfOrder, duplicates int64
	// foreign datagrams are not of this session.
	foreign int64
}

// metrics tells with the server's counts what was lost on the way there (up) and back (down). A late reply was neither,
// but is among the lost of the whole: sent - received = lost up + lost down + late.
func (d datagramCounts) metrics(server datagramReport) ([]result.Metric, error) {
	up, down := d.sent-server.Received, server.Received-d.received-d.late
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
	add(result.Sent, "", float64(d.sent))
	add(result.Received, "", float64(d.received))
	add(result.Lost, "", float64(d.sent-d.received))
	add(result.Lost, "up", float64(up))
	add(result.Lost, "down", float64(down))
	ratio("", d.sent-d.received, d.sent)
	ratio("up", up, d.sent)
	ratio("down", down, server.Received)
	parts(result.Duplicates, server.Duplicates, d.duplicates)
	parts(result.OutOfOrder, server.OutOfOrder, d.outOfOrder)
	add(result.Late, "", float64(d.late))
	return m, nil
}
