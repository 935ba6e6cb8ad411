package provision

import "os"

// Process identifies a process, so that another one with its number is not mistaken for it.
type Process struct {
	PID int `json:"pid"`
	// Started is when it started; empty if the system does not tell.
	Started string `json:"started,omitempty"`
}

// processOf names a running process.
func processOf(pid int) *Process {
	text, _ := started(pid)
	return &Process{pid, text}
}

// ended says that the process is known to have ended. Nothing is known of nil.
func (p *Process) ended() bool {
	if p == nil || p.Started == "" {
		return false
	}
	now, ok := started(p.PID)
	return !ok || now != "" && now != p.Started
}

// stop asks the process, a program of this kind, to end in order, if it is known to run.
func (p *Process) stop(kind kind) bool {
	if p == nil || p.Started == "" || p.PID <= 0 {
		return false
	}
	if now, ok := started(p.PID); !ok || now != p.Started {
		return false
	}
	process, err := os.FindProcess(p.PID)
	return err == nil && stop(process, kind) == nil
}

// self names this process.
func self() *Process { return processOf(os.Getpid()) }
