package runner

import (
	"time"

	"nearfar/internal/result"
)

// A distance is how far apart the CPUs of client and server are, where each has its own. A hypervisor may move them in the
// course of a run, and all that the two share then costs several times as much, or as little.
type distance struct {
	stage          Stage
	client, server []int
	before         time.Duration
	known          bool
}

func watchDistance(stage Stage, client, server []int) *distance {
	d := &distance{stage: stage, client: client, server: server}
	d.before, d.known = stage.CoreToCore(client, server)
	return d
}

// record writes what it was before and what it is now, where both are known.
func (d *distance) record(facts map[string]string) {
	if !d.known {
		return
	}
	if after, known := d.stage.CoreToCore(d.client, d.server); known {
		facts[result.FactCoreToCoreBefore], facts[result.FactCoreToCoreAfter] = d.before.String(), after.String()
	}
}
