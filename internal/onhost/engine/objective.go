package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/onhost/engine/observe"
	"nearfar/internal/onhost/engine/record"
)

// An Objective is a condition on the results of a load: a statistic of a time is below a limit, or the loss is.
type Objective struct {
	text string
	// metric and stat name the value. limit is in its base unit.
	metric, stat string
	limit        float64
}

// ParseObjective reads METRIC.STAT < DURATION, such as "response_time.p99 < 500us", of response_time or service_time;
// or "loss < 0.1%".
func ParseObjective(text string) (Objective, error) {
	const want = "want, for example, 'response_time.p99 < 500us', 'service_time.p50 < 1ms' or 'loss < 0.1%'"
	left, right, found := strings.Cut(text, "<")
	left, right = strings.TrimSpace(left), strings.TrimSpace(right)
	if !found || left == "" || right == "" || len(text) > 100 {
		return Objective{}, fmt.Errorf("objective %q: %s", text, want)
	}
	o := Objective{text: left + " < " + right, metric: left}
	if left == result.Loss {
		ratio, err := experiment.ParseRatio(right)
		return o.below(ratio, err)
	}
	o.metric, o.stat, _ = strings.Cut(left, ".")
	if o.metric != result.ResponseTime && o.metric != result.ServiceTime {
		return Objective{}, fmt.Errorf("objective %q: %s or %s or %s: %s", text, result.ResponseTime,
			result.ServiceTime, result.Loss, want)
	}
	stats := []string{result.Mean, result.Max}
	for _, p := range observe.Percentiles() {
		stats = append(stats, result.PercentileStat(p))
	}
	if !slices.Contains(stats, o.stat) {
		return Objective{}, fmt.Errorf("objective %q: no statistic %q: there are %s", text, o.stat, strings.Join(stats,
			", "))
	}
	limit, err := experiment.ParseDuration(right)
	return o.below(limit.Seconds(), err)
}

// below is the objective with a limit, which was read with this error.
func (o Objective) below(limit float64, err error) (Objective, error) {
	if err == nil && limit <= 0 {
		err = errors.New("nothing is less than 0")
	}
	if err != nil {
		return o, fmt.Errorf("objective: %w", err)
	}
	o.limit = limit
	return o, nil
}

// String writes the objective as ParseObjective reads it.
func (o Objective) String() string { return o.text }

// Kept says whether the result of a load meets the objective. If requests stayed unanswered, it does not. An error
// says that the result has no such value.
func (o Objective) Kept(r record.Result) (bool, error) {
	if v, _ := metric(r, result.Unanswered, ""); v > 0 {
		return false, nil
	}
	v, found := metric(r, o.metric, o.stat)
	failed, _ := metric(r, result.Errors, "")
	switch {
	case found:
		return v < o.limit, nil
	case failed > 0:
		return false, nil // failed requests are slower than all others, and decide the value
	case o.metric == result.Loss:
		return false, errors.New("loss is of udp; over tcp nothing is lost")
	}
	return false, fmt.Errorf("%s.%s needs more requests than came in %v at this rate: measure for longer",
		o.metric, o.stat, time.Duration(r.Duration*1e9))
}

// metric finds a value of the whole result.
func metric(r record.Result, name, stat string) (float64, bool) {
	for _, m := range r.Metrics {
		if m.Name == name && m.Stat == stat && m.Scope == "" {
			return m.Value, true
		}
	}
	return 0, false
}
