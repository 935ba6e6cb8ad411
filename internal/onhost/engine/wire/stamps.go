package wire

import (
	"encoding/binary"
	"math"
)

// StampsSize is the length of the server's stamps in a response.
const StampsSize = 16

// StampsOffset is where they begin in a datagram. Over TCP they come first.
const StampsOffset = DatagramHeader

// NoDuration stands for an unknown duration.
const NoDuration = math.MinInt32

// ServerStamps are how long the server handled one request, in nanoseconds; NoDuration if not known. Receive and Send
// can be slightly negative, because they compare two clocks. Their sum does not have that error.
type ServerStamps struct {
	// Sequence is the low 32 bits of the request's number.
	Sequence uint32
	// Receive is from the request's arrival to the return of the receive call, Application from there to the send call,
	// Send from there until the response left.
	Receive, Application, Send int32
}

// PutServerStamps writes the stamps to a response.
//
//go:nosplit
func PutServerStamps(b []byte, s ServerStamps) {
	binary.BigEndian.PutUint32(b[0:4], s.Sequence)
	binary.BigEndian.PutUint32(b[4:8], uint32(s.Receive))
	binary.BigEndian.PutUint32(b[8:12], uint32(s.Application))
	binary.BigEndian.PutUint32(b[12:16], uint32(s.Send))
}

// ReadServerStamps reads the stamps from a response.
//
//go:nosplit
func ReadServerStamps(b []byte) ServerStamps {
	return ServerStamps{Sequence: binary.BigEndian.Uint32(b[0:4]), Receive: int32(binary.BigEndian.Uint32(b[4:8])),
		Application: int32(binary.BigEndian.Uint32(b[8:12])), Send: int32(binary.BigEndian.Uint32(b[12:16]))}
}

// Stamp converts nanoseconds into a stamp. known is false if one end of the duration is missing.
//
//go:nosplit
func Stamp(ns int64, known bool) int32 {
	if !known || ns <= NoDuration || ns > math.MaxInt32 {
		return NoDuration
	}
	return int32(ns)
}
