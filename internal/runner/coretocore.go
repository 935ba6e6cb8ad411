package runner

import (
	"time"

	"nearfar/internal/result"
)

// A coreToCore measures the core-to-core latency between the CPUs of client and server before and after a trial, if
// each side has CPUs of its own. A hypervisor may move virtual CPUs during a run; everything that passes between the
// two sides then takes several times as long, or as short.
type coreToCore struct {
	stage          Stage
	client, server []int
	before         time.Duration
	known          bool
}

func watchCoreToCore(stage Stage, client, server []int) *coreToCore {
	c := &coreToCore{stage: stage, client: client, server: server}
	c.before, c.known = stage.CoreToCore(client, server)
	return c
}

// record measures again and writes both latencies, if both are known.
func (c *coreToCore) record(facts map[string]string) {
	if !c.known {
		return
	}
	if after, known := c.stage.CoreToCore(c.client, c.server); known {
		facts[result.FactCoreToCoreBefore], facts[result.FactCoreToCoreAfter] = c.before.String(), after.String()
	}
}
