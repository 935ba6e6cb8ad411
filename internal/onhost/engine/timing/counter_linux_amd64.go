package timing

import (
	"bytes"
	"os"
)

// readCounter reads the time stamp counter.
func readCounter() uint64

// counterUsable says whether the kernel keeps time by the counter. The counter then has the same constant rate on all
// CPUs.
func counterUsable() bool {
	source, err := os.ReadFile("/sys/devices/system/clocksource/clocksource0/current_clocksource")
	return err == nil && string(bytes.TrimSpace(source)) == "tsc"
}
