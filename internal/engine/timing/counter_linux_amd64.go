package timing

import (
	"bytes"
	"os"
)

// readCounter reads the time stamp counter.
func readCounter() uint64

// counterUsable says whether the kernel trusts the counter: it then runs at one rate, on all CPUs alike.
func counterUsable() bool {
	source, err := os.ReadFile("/sys/devices/system/clocksource/clocksource0/current_clocksource")
	return err == nil && string(bytes.TrimSpace(source)) == "tsc"
}
