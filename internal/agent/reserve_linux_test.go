package agent

import (
	"errors"
	"testing"
)

// TestReserve: a second run is refused, a second name of the same run is not, and the end of the agent frees the ports.
func TestReserve(t *testing.T) {
	ports := []int{29771, 29772}
	first := newInProcess(t, ServerOptions{}).connect("a", 0)
	for range 2 {
		if err := first.Reserve(t.Context(), "run-1", ports...); err != nil {
			t.Fatal(err)
		}
	}
	if err := newInProcess(t, ServerOptions{}).connect("same", 0).Reserve(t.Context(), "run-1", ports...); err != nil {
		t.Errorf("the second name of the run's machine: %v", err)
	}
	second := newInProcess(t, ServerOptions{}).connect("b", 0)
	if err := second.Reserve(t.Context(), "run-2", 29772); !errors.Is(err, ErrReserved) {
		t.Errorf("another run: %v", err)
	}
	if err := second.Reserve(t.Context(), "run-2", 29773); err != nil {
		t.Errorf("another run on another port: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := second.Reserve(t.Context(), "run-2", 29772); err != nil {
		t.Errorf("after the end of the first run: %v", err)
	}
}
