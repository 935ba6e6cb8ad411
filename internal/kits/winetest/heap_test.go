//go:build linux

package winetest

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestHeap: the heap of a program under Wine starts directly behind the code, so that it cannot have Wine's page at
// 0x7ffe0000.
func TestHeap(t *testing.T) {
	w := New(t)
	cmd := exec.Command(w.Loader, "cmd.exe")
	cmd.Env = append(os.Environ(), w.Env...)
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := stdin.Close(); err != nil { // which ends it
			t.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}()
	maps := fmt.Sprintf("/proc/%d/maps", cmd.Process.Pid)
	until := time.Now().Add(patience)
	for tries := time.NewTicker(10 * time.Millisecond); ; <-tries.C {
		if time.Now().After(until) {
			t.Fatal("no heap of Wine was seen")
		}
		code, heap := code(t, maps)
		if heap == 0 {
			continue
		}
		const most = 0x7ffe0000 - 0x7d000000 // from Wine's code to the page
		if heap < code || heap-code > most/8 {
			t.Errorf("the code ends at %#x and the heap starts at %#x", code, heap)
		}
		return
	}
}

// code returns the end of the code of Wine's loader and the start of the heap, 0 before the loader has both.
func code(t *testing.T, maps string) (end, heap uint64) {
	t.Helper()
	listed, err := os.ReadFile(maps)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(listed)) {
		var from, to uint64
		if _, err := fmt.Sscanf(line, "%x-%x", &from, &to); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		switch line = strings.TrimSpace(line); {
		case strings.HasSuffix(line, "/wine64"):
			end = to
		case strings.HasSuffix(line, "[heap]") && end != 0:
			heap = from
		}
	}
	return end, heap
}
