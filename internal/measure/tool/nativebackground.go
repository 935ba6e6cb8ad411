package tool

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/onhost/engine/record"
	"nearfar/internal/onhost/host"
)

const (
	// nativeBackgroundInterval is how often a background reports the received bytes. Its figures cover the time of its
	// workload with this precision.
	nativeBackgroundInterval = 100 * time.Millisecond
	// nativeIntervals is how many intervals a background prints at most. Long backgrounds have longer intervals.
	nativeIntervals = 3000
)

// PlanBackground gives the command lines of a stream that is ended when its workload has ended.
func (n *Native) PlanBackground(w experiment.Workload, pair host.Pair, longest time.Duration) (Plan, error) {
	if w.Mode != experiment.Stream {
		return Plan{}, fmt.Errorf("%s: a background is a stream, not %s", nativeName, w.Mode)
	}
	w.Duration = longest.Truncate(time.Millisecond) + time.Millisecond
	ports := pair.Server.Ports()
	plan, err := n.plan(w, pair, ports.BackgroundControl, ports.BackgroundData)
	if err != nil {
		return Plan{}, fmt.Errorf("the background: %w", err)
	}
	interval := max(nativeBackgroundInterval, (w.Duration / nativeIntervals).Truncate(time.Millisecond))
	plan.Client.Argv = append(plan.Client.Argv, "--interval", interval.String())
	// The workload takes longer by the time until the background's data flows.
	plan.Expected = w.Warmup + interval + nativeOverhead
	return plan, nil
}

// Flowing reports whether data arrived at the server in some interval.
func (*Native) Flowing(stdout []byte) bool {
	run, _ := record.Read(wholeLines(stdout))
	return slices.ContainsFunc(run.Intervals, func(i record.Interval) bool { return i.Bytes > 0 })
}

// Reported reports whether an interval that ended at that moment or later was printed.
func (*Native) Reported(stdout []byte, until time.Time) bool {
	run, _ := record.Read(wholeLines(stdout))
	n := len(run.Intervals)
	return n > 0 && run.Intervals[n-1].EndUnix >= unixSeconds(until)
}

// unixSeconds is a moment as the engine prints it.
func unixSeconds(at time.Time) float64 { return float64(at.UnixMicro()) / 1e6 }

// ParseBackground adds up the intervals that lie within the time in which the workload ran, by the times that the
// engine prints with them. If no interval does (the workload was shorter than two intervals), it takes the intervals
// that overlap that time.
func (*Native) ParseBackground(out Output, from, until time.Time) (result.Measurement, error) {
	m := result.Measurement{Tool: result.ToolVersion{Name: nativeName}, Mode: experiment.Stream,
		Protocol: experiment.TCP}
	run, err := record.Read(wholeLines(out.Stdout))
	m.Tool.Version = run.Start.Version
	begun, ended := unixSeconds(from), unixSeconds(until)
	last := slices.IndexFunc(run.Intervals, func(i record.Interval) bool { return i.EndUnix >= ended })
	// If the workload has ended before the failure, the failure is only that the background was stopped, so it is
	// ignored.
	if err != nil && !errors.Is(err, record.ErrUnfinished) && last < 0 {
		return m, fmt.Errorf("%s: %w%s", nativeName, err, lastWords(out.Stderr))
	}
	began := func(i record.Interval) float64 { return i.EndUnix - (i.End - i.Start) }
	within := slices.DeleteFunc(slices.Clone(run.Intervals), func(i record.Interval) bool {
		return began(i) < begun || i.EndUnix > ended
	})
	if len(within) == 0 {
		within = slices.DeleteFunc(slices.Clone(run.Intervals), func(i record.Interval) bool {
			return i.EndUnix <= begun || began(i) >= ended
		})
		if len(within) == 0 {
			return m, fmt.Errorf("%s: the background reported nothing of the time in which the workload ran: make "+
				"the workload longer", nativeName)
		}
		m.Notes = append(m.Notes, "Its figures are of a time that began before the workload or ended after it: no "+
			"interval lies within the workload.")
	}
	window := within[len(within)-1].End - within[0].Start
	if !(window > 0) {
		return m, fmt.Errorf("%s: the background's intervals last %v s", nativeName, window)
	}
	// In bits. The two directions are only known of a stream in both.
	var all, up, down float64
	var resent int64
	sampled := false
	for _, i := range within {
		all += float64(i.Bytes) * 8
		up += i.Upload * (i.End - i.Start)
		down += i.Download * (i.End - i.Start)
		resent += i.Retransmits
		sampled = sampled || i.SmoothedRTT > 0 // both are from TCP_INFO
	}
	if all == 0 {
		return m, fmt.Errorf("%s: no data of the background arrived while the workload ran", nativeName)
	}
	m.MessageBytes = run.Start.Message
	m.Duration = time.Duration(window * float64(time.Second))
	m.ReportedAs, m.Definition = result.DefinitionRate, result.DefinitionRate
	for _, way := range []struct {
		scope string
		bits  float64
	}{{"", all}, {experiment.Upload, up}, {experiment.Download, down}} {
		if rate := way.bits / window; rate > 0 && !math.IsInf(rate, 0) {
			m.Metrics = append(m.Metrics, result.Metric{Name: result.Goodput, Unit: result.BitsPerSecond, Value: rate,
				Scope: way.scope})
		}
	}
	if sampled {
		m.Metrics = append(m.Metrics, result.Metric{Name: result.Retransmits, Unit: result.One, Value: float64(resent)})
	}
	m.Facts = map[string]string{"connections": strconv.Itoa(run.Start.Connections),
		"window_seconds": strconv.FormatFloat(window, 'f', 3, 64)}
	return m, nil
}

// wholeLines leaves out an incomplete last line.
func wholeLines(printed []byte) []byte { return printed[:bytes.LastIndexByte(printed, '\n')+1] }
