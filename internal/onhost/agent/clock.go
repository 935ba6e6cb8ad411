package agent

import (
	"context"
	"fmt"
	"time"

	"nearfar/internal/onhost/machine"
)

// Clock is how far an agent's clock is from the owner's.
type Clock struct {
	// Offset is how much the agent's clock is ahead; negative if it is behind. Uncertainty is how much the offset can
	// be wrong in either direction: half of the time that the question and its answer took.
	Offset      time.Duration `json:"offset"`
	Uncertainty time.Duration `json:"uncertainty"`
}

const (
	// maxLoad is more than any load average, maxShare more than any share: both are measured a little late.
	maxLoad  = 1e7
	maxShare = 100
)

// clockReadings is how often the clock is read. The reading with the least uncertainty counts.
const clockReadings = 5

// Clock compares the agent's clock with this machine's. The agent read its clock at some moment between the question
// and the answer; the offset takes the middle (as NTP does, RFC 5905, section 8).
func (c *Client) Clock(ctx context.Context) (best Clock, err error) {
	for i := range clockReadings {
		asked := time.Now()
		r, err := c.exchange(ctx, call{request: request{Call: callClock}})
		took := time.Since(asked)
		if err == nil && r.Now.IsZero() {
			err = errProtocol
		}
		if err != nil {
			return Clock{}, c.fail(err, "clock")
		}
		middle := asked.Round(0).Add(took / 2)
		if one := (Clock{r.Now.Sub(middle), took / 2}); i == 0 || one.Uncertainty < best.Uncertainty {
			best = one
		}
	}
	return best, nil
}

// Load says how busy the agent's machine is; nil if the system does not tell. It takes up to 200 ms.
func (c *Client) Load(ctx context.Context) (*machine.Load, error) {
	r, err := c.exchange(ctx, call{request: request{Call: callLoad}})
	if err != nil {
		return nil, c.fail(err, "load")
	}
	if l := r.Load; l != nil && !(l.CPUs >= 0 && l.CPUs <= maxCPUs && l.Running >= 0 && l.Average >= 0 &&
		l.Average <= maxLoad && l.Pressure >= 0 && l.Pressure <= maxShare && l.Busy >= 0 && l.Busy <= maxShare) {
		return nil, c.fail(fmt.Errorf("%w: a load that no machine has", errProtocol), "load")
	}
	return r.Load, nil
}
