package inside

import (
	"encoding/json"
	"fmt"
	"slices"

	"nearfar/internal/base/clean"
	"nearfar/internal/declare/beside"
)

// The bounds of a recording.
const (
	// MaxTrips is how many trips a recording has at most.
	MaxTrips = 8192
	// MaxSteps is how many steps a path has at most.
	MaxSteps = 160
	// MaxPaths is how many paths a recording has at most.
	MaxPaths = 64
	// MaxSize is how many bytes a recording has at most.
	MaxSize = 16 << 20
	// maxProblem is how long a problem is at most, in bytes.
	maxProblem = 1000
	// maxSpan is the longest time of a step in nanoseconds: an hour.
	maxSpan = int64(3600e9)
)

// Decode reads a recording, and refuses one that breaks a bound.
func Decode(data []byte) (*Recording, error) {
	if len(data) > MaxSize {
		return nil, fmt.Errorf("%d bytes, at most %d", len(data), MaxSize)
	}
	var r Recording
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, err
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	r.Problem = clean.Line(r.Problem)
	return &r, nil
}

func (r *Recording) check() error {
	switch {
	case r.Version != Version:
		return fmt.Errorf("version %d, and this program reads version %d", r.Version, Version)
	case !beside.IsSide(r.Side):
		return fmt.Errorf("unknown side %.40q", r.Side)
	case len(r.Problem) > maxProblem:
		return fmt.Errorf("a problem of %d bytes, at most %d", len(r.Problem), maxProblem)
	case min(r.Sampled, r.Complete, r.Lost, r.Events) < 0 || r.Complete > r.Sampled:
		return fmt.Errorf("%d of %d trips are complete, %d lost, %d events", r.Complete, r.Sampled, r.Lost, r.Events)
	case len(r.Paths) > MaxPaths:
		return fmt.Errorf("%d paths, at most %d", len(r.Paths), MaxPaths)
	}
	trips := 0
	for i, p := range r.Paths {
		if err := p.check(); err != nil {
			return fmt.Errorf("path %d: %w", i, err)
		}
		trips += len(p.Trips)
	}
	if trips > r.Complete || trips > MaxTrips {
		return fmt.Errorf("%d trips in the paths, and %d are complete; at most %d", trips, r.Complete, MaxTrips)
	}
	return nil
}

func (p Path) check() error {
	if len(p.Steps) == 0 || len(p.Steps) > MaxSteps {
		return fmt.Errorf("%d steps, of 1 to %d", len(p.Steps), MaxSteps)
	}
	for _, s := range p.Steps {
		for _, name := range []string{s.Place, s.Device, s.DeviceKind, s.Tunnel} {
			if name != "" && !beside.IsName(name) {
				return fmt.Errorf("%.40q is no name", name)
			}
		}
		if s.Way != Request && s.Way != Reply {
			return fmt.Errorf("unknown way %.40q", s.Way)
		}
		if !slices.Contains(Kinds(), s.Kind) {
			return fmt.Errorf("unknown kind of step %.40q", s.Kind)
		}
	}
	for i, t := range p.Trips {
		if len(t.Spans) != len(p.Steps) {
			return fmt.Errorf("trip %d has %d spans for %d steps", i, len(t.Spans), len(p.Steps))
		}
		for _, span := range t.Spans {
			if span < 0 || span > maxSpan {
				return fmt.Errorf("trip %d has a step of %d ns", i, span)
			}
		}
		if t.Cause != "" && !slices.Contains(Causes(), t.Cause) {
			return fmt.Errorf("trip %d has the unknown cause %.40q", i, t.Cause)
		}
		if t.At < 0 || t.Step < 0 || t.Step >= len(p.Steps) || t.Excess < 0 || t.Excess > maxSpan {
			return fmt.Errorf("trip %d: at %d, step %d, excess %d", i, t.At, t.Step, t.Excess)
		}
	}
	return nil
}
