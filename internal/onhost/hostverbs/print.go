package hostverbs

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"nearfar/internal/declare/result"
	"nearfar/internal/onhost/engine/record"
)

// enginePrinter shows an engine's run to a reader: a line for each interval, and the figures at the end.
type enginePrinter struct{ out io.Writer }

// Start shows the parameters in effect.
func (p enginePrinter) Start(s record.Start) error {
	what := fmt.Sprintf("request %d B, response %d B", s.Request, s.Response)
	if s.Message > 0 {
		what = fmt.Sprintf("messages of %d B, connections: %d", s.Message, s.Connections)
	}
	switch {
	case s.Batch > 0 && s.Rate > 0:
		what += fmt.Sprintf(", batches of %d, %.0f/s", s.Batch, s.Rate)
	case s.Batch > 0:
		what += fmt.Sprintf(", batches of %d, as many as go", s.Batch)
	case s.Direction != "":
		what += ", " + s.Direction
	}
	if s.Schedule != "" {
		what += fmt.Sprintf(", connections: %d, %s", s.Connections, s.Schedule)
	}
	if s.Wait != "" {
		what += ", wait: " + s.Wait
	}
	_, err := fmt.Fprintf(p.out, "%s %s with %s: %s; warm-up %gs, window %gs\n",
		s.Protocol, s.Mode, s.Server, what, s.Warmup, s.Duration)
	return err
}

// Interval shows one interval.
func (p enginePrinter) Interval(i record.Interval) error {
	var err error
	switch {
	case i.Response != nil:
		t := i.Response
		_, err = fmt.Fprintf(p.out, "%6.1fs  %10.0f/s  response p50 %s  p99 %s  max %s\n",
			i.End, i.Rate, micros(t.P50), micros(t.P99), micros(t.Max))
	case i.Messages > 0:
		_, err = fmt.Fprintf(p.out, "%6.1fs  %10.0f/s  %s\n", i.End, i.MessageRate, bits(i.Goodput))
	case i.Bytes > 0:
		_, err = fmt.Fprintf(p.out, "%6.1fs  %s%s\n", i.End, bits(i.Goodput), streamDetails(i))
	case i.Count > 0:
		_, err = fmt.Fprintf(p.out, "%6.1fs  %10.0f/s  p50 %s  p99 %s  max %s\n",
			i.End, i.Rate, micros(i.P50), micros(i.P99), micros(i.Max))
	default:
		_, err = fmt.Fprintf(p.out, "%6.1fs  nothing\n", i.End)
	}
	return err
}

// streamDetails has the figures of a stream except its goodput.
func streamDetails(i record.Interval) (s string) {
	if i.Upload > 0 || i.Download > 0 {
		s += fmt.Sprintf("  up %s  down %s", bits(i.Upload), bits(i.Download))
	}
	if i.CongestionWindow > 0 {
		s += fmt.Sprintf("  retransmits %d  cwnd %d B  srtt %s",
			i.Retransmits, i.CongestionWindow, micros(i.SmoothedRTT))
	}
	return s
}

// result shows the figures of the whole window.
func (p enginePrinter) result(r record.Result) error {
	var b strings.Builder
	fmt.Fprintf(&b, "window %.3fs\n", r.Duration)
	for _, m := range r.Metrics {
		name := strings.TrimSpace(m.Name + " " + m.Stat + " " + m.Scope)
		value := fmt.Sprintf("%.6g", m.Value)
		switch m.Unit {
		case result.Seconds:
			value = micros(m.Value)
		case result.BitsPerSecond:
			value = bits(m.Value)
		case result.SecondsPerBit:
			value = fmt.Sprintf("%.4g s/Gbit", m.Value*1e9)
		case result.PerSecond:
			value = fmt.Sprintf("%.0f/s", m.Value)
		}
		fmt.Fprintf(&b, "  %-24s %s\n", name, value)
	}
	for _, k := range slices.Sorted(maps.Keys(r.Facts)) {
		fmt.Fprintf(&b, "  %s=%s\n", k, r.Facts[k])
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "  note: %s\n", n)
	}
	_, err := io.WriteString(p.out, b.String())
	return err
}

func micros(seconds float64) string {
	if d := time.Duration(seconds * float64(time.Second)); d >= 100*time.Millisecond {
		return d.Round(time.Millisecond).String()
	}
	return fmt.Sprintf("%.2f us", seconds*1e6)
}

func bits(perSecond float64) string {
	for _, u := range []struct {
		size float64
		name string
	}{{1e9, "Gbit/s"}, {1e6, "Mbit/s"}, {1e3, "kbit/s"}} {
		if perSecond >= u.size {
			return fmt.Sprintf("%.3f %s", perSecond/u.size, u.name)
		}
	}
	return fmt.Sprintf("%.0f bit/s", perSecond)
}
