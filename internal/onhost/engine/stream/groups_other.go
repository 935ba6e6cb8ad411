//go:build !linux || portable

package stream

import (
	"nearfar/internal/onhost/engine/process"
)

// run starts the hot threads: one for each connection.
func (f flows) run() (threads []<-chan struct{}) {
	for _, r := range f.receivers {
		threads = append(threads, process.OnThread(r.socket.Close, r.run))
	}
	for _, s := range f.senders {
		threads = append(threads, process.OnThread(s.socket.Close, s.run))
	}
	return threads
}
