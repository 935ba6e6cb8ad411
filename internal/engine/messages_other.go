//go:build !linux || portable

package engine

import "time"

func sleepUntil(at int64) { time.Sleep(time.Duration(at - nanotime())) }

// A datagramOut sends datagrams one call each: batches are of Linux.
type datagramOut struct {
	socket  *socket
	buffer  []byte
	message int
}

func newDatagramOut(s *socket, buffer []byte, p Params) (*datagramOut, error) {
	return &datagramOut{socket: s, buffer: buffer, message: p.Message}, nil
}

func (o *datagramOut) send(n int) int {
	for i := range n {
		if o.socket.write(o.buffer[i*o.message:][:o.message]) < 0 {
			return -1
		}
	}
	return n
}

func (o *datagramOut) facts() map[string]string {
	return map[string]string{"batching": "none: one call a message"}
}

// A datagramIn receives datagrams one call each.
type datagramIn struct {
	socket  *socket
	buffer  []byte
	message int
	got     int
}

func newDatagramIn(s *socket, p Params) datagramIn {
	return datagramIn{socket: s, buffer: newBuffer(p.Message + 1), message: p.Message}
}

func (d *datagramIn) receive() int {
	if d.got = d.socket.read(d.buffer); d.got < 0 {
		return -1
	}
	return 1
}

func (d *datagramIn) datagrams(int) []byte {
	if d.got != d.message {
		return nil
	}
	return d.buffer[:d.got]
}

func (d *datagramIn) facts() map[string]string {
	return map[string]string{"batching": "none: one call a message"}
}
