package wire

import (
	"encoding/binary"
	"math"
)

// StampsSize is the length of the server's stamps in a response.
const StampsSize = 16

// StampsOffset is where they are in a datagram; over TCP they come first.
const StampsOffset = DatagramHeader

// NoDuration stands for a duration that is not known.
const NoDuration = math.MinInt32

// ServerStamps are the durations that the server had one request, in nanoseconds, noDuration where not known. Receive and
// send can be negative by what the comparison of two clocks is off; their sum is not touched by that.
type ServerStamps struct {
	// sequence is the number of the request, its low 32 bits.
	Sequence uint32
	// receive is from the request's arrival until the receive call returned, application until the send call, send
	// until the response left.
	Receive, Application, Send int32
}

//go:nosplit
func PutServerStamps(b []byte, s ServerStamps) {
	binary.BigEndian.PutUint32(b[0:4], s.Sequence)
	binary.BigEndian.PutUint32(b[4:8], uint32(s.Receive))
	binary.BigEndian.PutUint32(b[8:12], uint32(s.Application))
	binary.BigEndian.PutUint32(b[12:16], uint32(s.Send))
}

//go:nosplit
func ReadServerStamps(b []byte) ServerStamps {
	return ServerStamps{Sequence: binary.BigEndian.Uint32(b[0:4]), Receive: int32(binary.BigEndian.Uint32(b[4:8])),
		Application: int32(binary.BigEndian.Uint32(b[8:12])), Send: int32(binary.BigEndian.Uint32(b[12:16]))}
}

// Stamp puts nanoseconds into a stamp; known is false where one of its ends is missing.
//
//go:nosplit
func Stamp(ns int64, known bool) int32 {
	if !known || ns <= NoDuration || ns > math.MaxInt32 {
		return NoDuration
	}
	return int32(ns)
}
