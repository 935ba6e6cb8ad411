package session

import (
	"fmt"
	"time"

	"nearfar/internal/onhost/engine/process"
	"nearfar/internal/onhost/engine/timing"
	"nearfar/internal/onhost/engine/wire"
)

// A Meter counts during a window.
type Meter interface {
	// Begin is called when the window begins.
	Begin()
	// Interval counts what happened since the last call, or since Begin.
	Interval(*wire.Interval)
	// End is called after the window, before the client learns of its end.
	End()
}

// MeasureWindow waits for the warm-up to pass, counts during the window, and sends each interval to the client.
func (d *Server) MeasureWindow(m Meter, stopped <-chan error) error {
	timer := time.NewTimer(d.Params.Warmup)
	defer timer.Stop()
	wait := func(until int64) error {
		timer.Reset(time.Duration(until - timing.Now()))
		select {
		case <-timer.C:
			return nil
		case err := <-stopped:
			if err == nil {
				err = &wire.PeerError{Message: "the client stopped before the end of the window"}
			}
			return err
		}
	}
	if err := wait(timing.Now() + int64(d.Params.Warmup)); err != nil {
		return err
	}
	if err := d.Frames.Write(wire.KindBegin, nil); err != nil {
		return err
	}
	account := process.StartAccount()
	start := timing.Now()
	m.Begin()
	end := start + int64(d.Params.Duration)
	last := start
	step := d.Params.IntervalOrDefault()
	for last < end {
		if err := wait(min(last+step, end)); err != nil {
			return err
		}
		now := timing.Now()
		i := wire.Interval{Start: time.Duration(last - start), End: time.Duration(now - start)}
		m.Interval(&i)
		if err := d.Frames.Write(wire.KindInterval, i); err != nil {
			return err
		}
		last = now
	}
	d.Done.CPU, d.Done.Elapsed = account.Elapsed()
	d.Done.Window = time.Duration(last - start)
	m.End()
	d.Done.Waited = process.RunDelay() // once nothing is counted any more
	return d.Frames.Write(wire.KindEnd, nil)
}

// CheckWindow says why a window gives no figure: on the client's clock it was less than half as long as asked for, or
// nothing was counted in it. The server may have said late that the window began, or the client may have heard it late,
// and a figure of such a window would tell more about that than about the path. counted says what the count is.
func CheckWindow(asked, had time.Duration, count int64, counted string) error {
	if had >= asked/2 && count > 0 {
		return nil
	}
	return fmt.Errorf("the window gives no figure: %v were asked for, %v passed on the client's clock, and %d %s in it: "+
		"a machine was too busy, or the path stood still", asked, had.Round(time.Microsecond), count, counted)
}
