//go:build !linux || portable

package sys

import (
	"nearfar/internal/onhost/engine/wire"
)

// A DatagramOut sends one datagram with each call: batches are possible on Linux only.
type DatagramOut struct {
	socket  *Socket
	buffer  []byte
	message int
}

// NewDatagramOut prepares to send the messages in the buffer.
func NewDatagramOut(s *Socket, buffer []byte, p wire.Params) (*DatagramOut, error) {
	return &DatagramOut{socket: s, buffer: buffer, message: p.Message}, nil
}

// Send sends the first n messages and returns n, or less than 0 if it failed.
func (o *DatagramOut) Send(n int) int {
	for i := range n {
		if o.socket.Write(o.buffer[i*o.message:][:o.message]) < 0 {
			return -1
		}
	}
	return n
}

// Facts says how batches are sent.
func (o *DatagramOut) Facts() map[string]string {
	return map[string]string{"batching": "none: one call a message"}
}

// A DatagramIn receives one datagram with each call.
type DatagramIn struct {
	socket  *Socket
	buffer  []byte
	message int
	got     int
}

// NewDatagramIn prepares to receive messages on a connected socket.
func NewDatagramIn(s *Socket, p wire.Params) DatagramIn {
	return DatagramIn{socket: s, buffer: NewBuffer(p.Message + 1), message: p.Message}
}

// Receive receives one datagram and returns 1, or less than 0 if it failed.
func (d *DatagramIn) Receive() int {
	if d.got = d.socket.Read(d.buffer); d.got < 0 {
		return -1
	}
	return 1
}

// Datagrams gives the datagram if it has the right size, or nil.
func (d *DatagramIn) Datagrams(int) []byte {
	if d.got != d.message {
		return nil
	}
	return d.buffer[:d.got]
}

// Facts says how batches are received.
func (d *DatagramIn) Facts() map[string]string {
	return map[string]string{"batching": "none: one call a message"}
}
