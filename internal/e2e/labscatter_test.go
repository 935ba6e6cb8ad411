//go:build linux

package e2e

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"testing"

	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/result"
)

// TestRemadeLabsScatter measures how much equal labs differ in one run: NEARFAR_LABS=8 makes two equal labs eight times,
// and fails if they surely scatter by more than answer.LabScatter. It takes about four minutes, and its interval is
// short only on a quiet machine.
func TestRemadeLabsScatter(t *testing.T) {
	deployments, err := strconv.Atoi(os.Getenv("NEARFAR_LABS"))
	if err != nil || deployments < 2 {
		t.Skip("set NEARFAR_LABS=8 for eight deployments of two equal labs")
	}
	dir := workspace(t)
	file := write(t, dir, fmt.Sprintf(`nearfar: v1
name: equal-labs
arms:
  a: {lab: {path: [bridge]}, layers: {}}
  b: {lab: {path: [bridge]}, layers: {}}
workloads: [{name: rr, tool: native, mode: rr, duration: 100ms, warmup: 30ms}]
schedule: {deployments: %d, blocks: 30}
`, deployments))
	a := answerOf(t, nearfar(t, dir, nil, "run", "-f", "json", file), dir)
	c := a.Comparisons[0]
	if c.Stat != result.P50 || c.Deployments == nil {
		t.Fatalf("%+v", c)
	}
	var squares float64
	for _, d := range c.Deployments.Each {
		if d.Difference == nil {
			t.Fatalf("deployment %d has no difference", d.Deployment)
		}
		t.Logf("deployment %d: %+.0f ns", d.Deployment, 1e9**d.Difference)
		squares += *d.Difference * *d.Difference
	}
	// Equal labs differ by 0 in truth, so the deviation is taken about 0.
	deviation := math.Sqrt(squares / float64(len(c.Deployments.Each)))
	t.Logf("standard deviation %.0f ns", 1e9*deviation)
	// On a busy machine most of it comes from the trials, and the interval of what labs scatter by begins at 0.
	if i := c.Deployments.BetweenInterval; i == nil {
		t.Log("how much of it comes from the labs is not known")
	} else if t.Logf("of which labs scatter by %.0f to %.0f ns", 1e9*i[0], 1e9*i[1]); i[0] > figures.LabScatter {
		t.Errorf("equal labs surely scatter by more than %.0f ns", 1e9*figures.LabScatter)
	}
}
