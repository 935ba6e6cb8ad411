package serve

import (
	"testing"

	"golang.org/x/sys/unix"
)

// Every function runs at the lowest priority, and the rest of the process keeps its own.
func TestQuietIsOfLowestPriority(t *testing.T) {
	q := newQuiet()
	// The call returns 20 - nice.
	mine, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		var at int
		if _, failed := q.do(func() { at, err = unix.Getpriority(unix.PRIO_PROCESS, 0) }); failed != nil || err != nil {
			t.Fatal(failed, err)
		}
		if nice := 20 - at; nice != lowest {
			t.Errorf("the function ran at nice %d", nice)
		}
		if now, err := unix.Getpriority(unix.PRIO_PROCESS, 0); err != nil || now != mine {
			t.Errorf("this test is at nice %d, was at %d, %v", 20-now, 20-mine, err)
		}
	}
}
