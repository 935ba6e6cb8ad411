package observe

import (
	"errors"

	"nearfar/internal/declare/result"
	"nearfar/internal/onhost/engine/wire"
)

// Numbered datagrams: both sides count which ones arrived, and in which order (rr and load over UDP).

// missingSize is how many missing sequence numbers are remembered, to tell late datagrams from duplicates.
const missingSize = 1024

// Arrivals classifies each datagram by its number: the next one, an earlier one that was missing, or a duplicate.
// Numbers count from 1. At most missingSize missing numbers are remembered. A datagram with an older one counts as a
// duplicate.
type Arrivals struct {
	highest uint64
	missing [missingSize]uint64
}

// An Arrival is the class of a datagram.
type arrival int

const (
	inOrder arrival = iota
	outOfOrder
	// Duplicate is a datagram whose number was counted before.
	Duplicate
)

// Add classifies the datagram with the given number, and remembers the number.
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

// CountIn counts a request of the window in the report.
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

// DatagramCounts are a client's counts of the window's requests, and of the replies to them.
type DatagramCounts struct {
	// Sent counts requests, Received the requests with a reply in time.
	Sent, Received int64
	// Late counts replies that came after their request was given up. OutOfOrder counts the late replies that came
	// after a later reply, Duplicates the replies that had come before.
	Late, OutOfOrder, Duplicates int64
	// Foreign counts datagrams that do not belong to the session.
	Foreign int64
}

// Metrics computes from both sides' counts how many datagrams were lost from client to server (up) and back (down). A
// late reply is lost in neither direction, but its transaction is lost: sent - received = lost up + lost down + late.
func (d DatagramCounts) Metrics(server wire.DatagramReport) ([]result.Metric, error) {
	up, down := d.Sent-server.Received, server.Received-d.Received-d.Late
	if up < 0 || down < 0 || server.Duplicates > 2*d.Sent { // the network doubles no more than everything
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
