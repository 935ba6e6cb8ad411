package hosttest

import (
	"context"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"nearfar/internal/onhost/host"
)

// What a hostile agent may cost its owner.
const (
	// BesiegeLimit is the limit of a call and the time of silence that connect must set.
	BesiegeLimit = 2 * time.Second
	// besiegeTime bounds a visit: connecting, a process, its end, and the end of the agent. Each of them takes at most
	// the limit of a call and the time of silence; greetings and Close have limits of their own.
	besiegeTime = 60 * time.Second
	// besiegePart bounds what follows an interrupt, until Wait returns.
	besiegePart = time.Second
	// besiegeMemory bounds the memory of this process, with the hostile agent itself, in bytes.
	besiegeMemory = 100 << 20
	// busy is what a busy machine may add to times.
	busy = 5 * time.Second
)

// A Connect reaches a host with the given name, whose agent runs ServeHostile with the mode; its limits are
// BesiegeLimit.
type Connect func(ctx context.Context, t *testing.T, name, mode string) (host.Host, error)

// Besiege visits a hostile agent in some of its modes, and demands that every visit ends within the limits, in little
// memory, with an error that names the host.
func Besiege(t *testing.T, modes []string, connect Connect) {
	for _, mode := range modes {
		t.Run(mode, func(t *testing.T) {
			stop := BoundMemory(t)
			defer stop()
			began := time.Now()
			err := visit(t, connect, mode)
			t.Logf("%v: %.200v", time.Since(began).Round(time.Millisecond), err)
			switch took := time.Since(began); {
			case took > besiegeTime+busy:
				t.Errorf("the visit took %v", took)
			case mode == "forget-never": // it harms nobody
			case err == nil:
				t.Error("nothing failed")
			case !strings.Contains(err.Error(), "vm-"+mode):
				t.Errorf("the error does not name the host: %.300v", err)
			}
			if err != nil && len(err.Error()) > 4096 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
		})
	}
}

// visit runs a process for a moment, and returns all errors.
func visit(t *testing.T, connect Connect, mode string) error {
	h, err := connect(t.Context(), t, "vm-"+mode, mode)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	p, err := h.Start(ctx, host.Cmd{Argv: []string{"true"}, Stdout: io.Discard, Stderr: io.Discard})
	var errs []error
	if err == nil {
		errs = append(errs, p.Wait(), p.Stop(0))
	}
	server, serverErr := h.Start(t.Context(), host.Cmd{Argv: []string{"true"}})
	if serverErr == nil {
		serverErr = server.Stop(0)
	}
	errs = append(errs, err, serverErr)
	// A flood may arrive after the first processes have ended.
	for begun := time.Now(); strings.HasSuffix(mode, "-flood") && errors.Join(errs...) == nil &&
		time.Since(begun) < besiegeTime/2; {
		again, err := h.Start(t.Context(), host.Cmd{Argv: []string{"true"}})
		if err == nil {
			err = again.Stop(0)
		}
		errs = append(errs, err)
	}
	return errors.Join(append(errs, h.Close())...)
}

// BesiegeInterrupted does the same, and interrupts each visit: no wait lasts much longer.
func BesiegeInterrupted(t *testing.T, modes []string, connect Connect) {
	for _, mode := range modes {
		t.Run(mode, func(t *testing.T) {
			ctx, interrupt := context.WithCancel(t.Context())
			var at time.Time
			time.AfterFunc(300*time.Millisecond, func() {
				at = time.Now()
				interrupt()
			})
			h, err := connect(ctx, t, "vm-"+mode, mode)
			if err != nil {
				<-ctx.Done()
				if took := time.Since(at); took > 2*besiegePart+busy {
					t.Errorf("connecting ended %v after the interrupt", took)
				}
				return
			}
			p, err := h.Start(ctx, host.Cmd{Argv: []string{"true"}, Stdout: io.Discard, Stderr: io.Discard})
			if err == nil {
				_ = p.Wait() // its time matters alone
				<-ctx.Done()
				_ = p.Stop(0)
			}
			<-ctx.Done()
			took := time.Since(at)
			t.Logf("%v after the interrupt", took.Round(time.Millisecond))
			if took > besiegePart+busy/2 {
				t.Errorf("the wait ended %v after the interrupt", took)
			}
			_ = h.Close() // Besiege judges it
		})
	}
}

// BoundMemory watches the memory of this process until stop is called, and fails if it grows by more than 100 MB.
func BoundMemory(t *testing.T) (stop func()) {
	over, stopped := make(chan struct{}), make(chan struct{})
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var most uint64
	go func() {
		defer close(stopped)
		every := time.NewTicker(20 * time.Millisecond)
		defer every.Stop()
		for {
			var now runtime.MemStats
			runtime.ReadMemStats(&now)
			most = max(most, now.HeapAlloc+now.StackInuse)
			select {
			case <-over:
				return
			case <-every.C:
			}
		}
	}()
	return func() {
		close(over)
		<-stopped
		most -= min(most, before.HeapAlloc+before.StackInuse)
		t.Logf("%d MB more", most>>20)
		if most > besiegeMemory {
			t.Errorf("the visit took %d MB", most>>20)
		}
	}
}
