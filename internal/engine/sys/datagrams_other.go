//go:build !linux || portable

package sys

import (
	"nearfar/internal/engine/wire"
)

// A DatagramOut sends one datagram with each call: batches are possible on Linux only.
type DatagramOut struct {
	socket  *Socket
	buffer  []byte
	message int
}

func NewDatagramOut(s *Socket, buffer []byte, p wire.Params) (*DatagramOut, error) {
	return &DatagramOut{socket: s, buffer: buffer, message: p.Message}, nil
}

func (o *DatagramOut) Send(n int) int {
	for i := range n {
		if o.socket.Write(o.buffer[i*o.message:][:o.message]) < 0 {
			return -1
		}
	}
	return n
}

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

func NewDatagramIn(s *Socket, p wire.Params) DatagramIn {
	return DatagramIn{socket: s, buffer: NewBuffer(p.Message + 1), message: p.Message}
}

func (d *DatagramIn) Receive() int {
	if d.got = d.socket.Read(d.buffer); d.got < 0 {
		return -1
	}
	return 1
}

func (d *DatagramIn) Datagrams(int) []byte {
	if d.got != d.message {
		return nil
	}
	return d.buffer[:d.got]
}

func (d *DatagramIn) Facts() map[string]string {
	return map[string]string{"batching": "none: one call a message"}
}
