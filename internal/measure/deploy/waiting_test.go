package deploy

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// TestWaiting: what lasts long says what is waited for, and what is short says nothing.
func TestWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said []string
		step := func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
		stop := waiting(step, "host %s to be reached", "a")
		time.Sleep(sayAfter - time.Millisecond)
		stop()
		defer waiting(step, "host %s to be reached", "b")()
		time.Sleep(sayAfter + time.Millisecond)
		synctest.Wait()
		if len(said) != 1 || said[0] != "waiting for host b to be reached" {
			t.Errorf("said %q", said)
		}
	})
}
