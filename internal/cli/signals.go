package cli

import (
	"os"
	"os/signal"
	"syscall"
)

// endSignals are the signals that end a command in order: a run keeps its trials and says how to continue it. A hangup
// is sent when a terminal or a login is closed. A program that was started with nohup ignores it, and stays so.
func endSignals() []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}
