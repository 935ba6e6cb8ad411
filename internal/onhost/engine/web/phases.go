package web

// A phase is a part of a request's time.
type phase int

const (
	lookup phase = iota
	connect
	handshake
	firstByte
	rest
	phaseCount
)

// phases are the times of one request in nanoseconds; 0 for a phase that it did not have.
type phases [phaseCount]int64
