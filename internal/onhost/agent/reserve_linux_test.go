package agent

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"
)

// TestReserve: a port belongs to one run, also through several agents, until its agent ends.
func TestReserve(t *testing.T) {
	port := 20000 + rand.IntN(10000)
	first := newInProcess(t, ServerOptions{}).connect("first", time.Minute)
	same := newInProcess(t, ServerOptions{}).connect("same", time.Minute)
	other := newInProcess(t, ServerOptions{}).connect("other", time.Minute)
	away := newInProcess(t, ServerOptions{})
	left := away.connect("away", time.Minute)
	if err := left.Reserve(t.Context(), "run 3", []int{port + 3}); err != nil {
		t.Error(err)
	}
	if err := other.Reserve(t.Context(), "run 2", []int{port + 3}); !errors.Is(err, ErrReserved) {
		t.Errorf("the port of a third run: %v", err)
	}
	for _, c := range []*Client{first, first, same} {
		if err := c.Reserve(t.Context(), "run 1", []int{port, port + 1}); err != nil {
			t.Errorf("%s: %v", c.o.Name, err)
		}
	}
	if err := other.Reserve(t.Context(), "run 2", []int{port + 2}); err != nil {
		t.Error(err)
	}
	if err := other.Reserve(t.Context(), "run 2", []int{port + 1}); !errors.Is(err, ErrReserved) {
		t.Errorf("the port of another run: %v", err)
	}
	left.lose(errStopped) // as if it was killed
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		err := other.Reserve(t.Context(), "run 2", []int{port + 3})
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the owner of the port is away: %v", err)
		}
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := other.Reserve(t.Context(), "run 2", []int{port + 1}); err != nil {
		t.Errorf("after that run: %v", err)
	}
}
