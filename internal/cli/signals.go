package cli

import (
	"os"
	"os/signal"
	"syscall"
)

// endSignals are those upon which a command ends in order: a run keeps what it measured and says how to go on. The
// hangup comes when a terminal or a login is closed; a program that was started to outlive that (nohup) ignores it,
// and goes on doing so.
func endSignals() []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}
