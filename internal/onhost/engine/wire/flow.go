package wire

import (
	"fmt"
	"time"
)

// HotThreads is how many threads of a session are blocked in the kernel: one for each connection, but only one for
// load, and none for http, which leaves waiting to Go's runtime.
func (p Params) HotThreads() int {
	switch p.Mode {
	case ModeLoad:
		return 1
	case ModeHTTP:
		return 0
	}
	return p.DataConnections()
}

// maxBatch is how many messages one call can send.
const maxBatch = 1024

// maxMessageRate is in messages per second.
const maxMessageRate = 1e9

// Flow says how one-way messages are sent.
type Flow struct {
	// Batch is how many messages one call sends at most; 0 means 1.
	Batch int `json:"batch,omitempty"`
	// MessageRate is in messages per second; 0 means as fast as possible.
	MessageRate float64 `json:"message_rate,omitempty"`
	// Unsegmented sends each message as a datagram of its own. Otherwise the kernel or the device cuts messages from
	// large datagrams (UDP_SEGMENT).
	Unsegmented bool `json:"unsegmented,omitempty"`
}

// BatchOrDefault is the size of a batch, at least 1.
func (f Flow) BatchOrDefault() int { return max(f.Batch, 1) }

// validateMessages checks the parameters of messages.
func (p Params) validateMessages() error {
	switch f := p.Flow; {
	case p.Mode != ModeMessages && f != Flow{}:
		return fmt.Errorf("batch, message rate and segmentation are of %s, not of %s", ModeMessages, p.Mode)
	case p.Mode != ModeMessages:
		return nil
	case f.Batch < 0 || f.Batch > maxBatch:
		return fmt.Errorf("batch of %d: must be from 1 to %d", f.Batch, maxBatch)
	case f.MessageRate < 0 || f.MessageRate > maxMessageRate || f.MessageRate > 0 && f.MessageRate < 1:
		return fmt.Errorf("rate of %g messages a second: must be from 1 to %g, or 0 for as many as go", f.MessageRate,
			maxMessageRate)
	case p.Protocol == UDP && (p.Message < DatagramHeader || p.Message > MaxDatagram):
		return fmt.Errorf("message of %d bytes: over udp it must be from %d (cookie and sequence number) to %d",
			p.Message, DatagramHeader, MaxDatagram)
	case p.Message < 1 || p.Message > MaxMessage || p.Message*f.BatchOrDefault() > MaxMessage:
		return fmt.Errorf("messages of %d bytes in batches of %d: must be from 1 to %d bytes in all", p.Message,
			f.BatchOrDefault(), MaxMessage)
	}
	return nil
}

// MaxIntervals limits the intervals of a run, and so its memory.
const MaxIntervals = 3600

// IntervalLength is the length of an interval in nanoseconds: a second, or more if the window has more than
// MaxIntervals seconds.
func IntervalLength(window time.Duration) int64 {
	return int64(max(time.Second, (window+MaxIntervals-1)/MaxIntervals))
}

// minInterval is the shortest interval that can be asked for.
const minInterval = 10 * time.Millisecond

// IntervalOrDefault is the length of an interval of stream and messages, in nanoseconds.
func (p Params) IntervalOrDefault() int64 {
	if p.Interval > 0 {
		return int64(p.Interval)
	}
	return IntervalLength(p.Duration)
}

// validateInterval checks the length of intervals.
func (p Params) validateInterval() error {
	switch {
	case p.Interval == 0:
		return nil
	case p.Mode != ModeStream && p.Mode != ModeMessages:
		return fmt.Errorf("the length of intervals is of %s and %s, not of %s", ModeStream, ModeMessages, p.Mode)
	case p.Interval < minInterval || p.Duration/p.Interval >= MaxIntervals:
		return fmt.Errorf("intervals of %v: must be at least %v, and make at most %d of the window", p.Interval,
			minInterval, MaxIntervals)
	}
	return nil
}

// The directions of a stream, as the client sees them.
const (
	Upload   = "upload"
	Download = "download"
	Both     = "both"
)

// DirectionOrDefault is the direction, never empty.
func (p Params) DirectionOrDefault() string {
	if p.Direction == "" {
		return Upload
	}
	return p.Direction
}

// DataConnections is how many TCP connections or UDP sockets the session has.
func (p Params) DataConnections() int {
	if p.Mode == ModeStream && p.Direction == Both {
		return 2 * p.Connections
	}
	return p.Connections
}

// validateStream checks the parameters of a stream.
func (p Params) validateStream() error {
	switch {
	case p.Mode != ModeStream && (p.Direction != "" || p.ZeroCopy):
		return fmt.Errorf("direction and zero-copy are of %s, not of %s", ModeStream, p.Mode)
	case p.Direction != "" && p.Direction != Upload && p.Direction != Download && p.Direction != Both:
		return fmt.Errorf("direction %q: the engine has %s, %s and %s", p.Direction, Upload, Download, Both)
	case p.DataConnections() > MaxConnections:
		return fmt.Errorf("%d connections each way: must be at most %d in all", p.Connections, MaxConnections)
	}
	return nil
}

// validateTimestamps checks that the other parameters allow timestamps.
func (p Params) validateTimestamps() error {
	if !p.Timestamps {
		return nil
	}
	least := StampsSize
	if p.Protocol == UDP {
		least += StampsOffset
	}
	switch {
	case p.Mode != ModeRR:
		return fmt.Errorf("timestamps are of %s, not of %s", ModeRR, p.Mode)
	case p.WaitOrDefault() == WaitEpoll:
		return fmt.Errorf("timestamps and wait %q: the reports of sending end every wait in epoll_wait at once; wait "+
			"in another way", p.Wait)
	case p.Response < least:
		return fmt.Errorf("response of %d bytes: with timestamps it must have at least %d over %s, for the server "+
			"returns its own in it", p.Response, least, p.Protocol)
	}
	return nil
}
