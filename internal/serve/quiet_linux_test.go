package serve

import (
	"testing"

	"golang.org/x/sys/unix"
)

// The work is done at the lowest priority, again and again, and nothing else of the process is.
func TestQuietIsOfLowestPriority(t *testing.T) {
	q := newQuiet()
	// The call yields 20 - nice.
	mine, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		var at int
		if failed := q.do(func() { at, err = unix.Getpriority(unix.PRIO_PROCESS, 0) }); failed != nil || err != nil {
			t.Fatal(failed, err)
		}
		if nice := 20 - at; nice != lowest {
			t.Errorf("the work is done at nice %d", nice)
		}
		if now, err := unix.Getpriority(unix.PRIO_PROCESS, 0); err != nil || now != mine {
			t.Errorf("this test is at nice %d, was at %d, %v", 20-now, 20-mine, err)
		}
	}
}
