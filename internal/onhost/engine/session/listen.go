package session

import (
	"errors"
	"fmt"
	"time"

	"nearfar/internal/onhost/engine/observe"
	"nearfar/internal/onhost/engine/record"
	"nearfar/internal/onhost/engine/wire"
)

// Said makes an error from the bytes that came instead of a frame.
func (c *Client) Said(doing string, err error) error {
	if _, ok := errors.AsType[*wire.PeerError](err); ok {
		return fmt.Errorf("%s: the server says: %w", doing, err)
	}
	return fmt.Errorf("%s: the server is gone: %w", doing, err)
}

// Incoming reads the server's frames and gives them to each, until the report comes or the connection ends. If the
// connection ends early, it interrupts the hot threads.
func (c *Client) Incoming(each func(wire.Kind, []byte) error) (wire.Report, error) {
	for {
		kind, payload, err := c.Frames.Read()
		switch {
		case err != nil && wire.IsTimeout(err):
			err = fmt.Errorf("no end after %v: the server or the network is stuck", c.Options.limit())
		case err != nil:
			err = c.Said("measuring", err)
		case kind == wire.KindFailure:
			err = c.Said("measuring", wire.DecodeFailure(payload))
		case kind == wire.KindReport:
			var r wire.Report
			if err = wire.DecodePayload(payload, &r); err == nil {
				if err = r.Check(); err == nil {
					return r, nil
				}
			}
		default:
			err = each(kind, payload)
		}
		if err != nil {
			c.Interrupt(err)
			return wire.Report{}, err
		}
	}
}

// Listening is what the server says during a session of rr, crr or load. Done is closed once Report or Err is set.
type Listening struct {
	Done   chan struct{}
	Report wire.Report
	Err    error
}

// Listen reads what the server says until its report comes or the session is lost, which interrupts the sockets.
// expected says of each frame before the report whether it may come.
func (c *Client) Listen(expected func(wire.Kind) bool) *Listening {
	return c.ListenTo(func(kind wire.Kind, _ []byte) error {
		if expected(kind) {
			return nil
		}
		return fmt.Errorf("the server sent a frame of kind %d in the middle of %s", kind, c.Options.Params.Mode)
	})
}

// ListenTo is Listen for frames with a payload. An error of each ends the session.
func (c *Client) ListenTo(each func(wire.Kind, []byte) error) *Listening {
	l := &Listening{Done: make(chan struct{})}
	go func() {
		defer close(l.Done)
		l.Report, l.Err = c.Incoming(each)
	}()
	return l
}

// WhyFailed finds the reason of a hot thread's failure: why it was interrupted, or what the server says within a
// moment, or else the thread's own error.
func (c *Client) WhyFailed(own error, server *Listening) error {
	if reason := c.Reason(); reason != nil {
		return reason
	}
	if err := c.control.SetReadDeadline(time.Now().Add(500 * time.Millisecond)); err != nil {
		return own
	}
	<-server.Done
	if _, ok := errors.AsType[*wire.PeerError](server.Err); ok {
		return server.Err
	}
	return own
}

// Watch reports the intervals to the observer until the hot thread is done.
func (c *Client) Watch(done <-chan struct{}, rec *observe.Recorder, observer Observer) error {
	reported := 0
	tell := func() error {
		for _, i := range rec.Since(reported) {
			reported++
			if err := observer.Interval(IntervalLine(reported, i, rec.Slots[0].Start)); err != nil {
				return err
			}
		}
		return nil
	}
	if !c.Options.Live {
		<-done
		return tell()
	}
	// Often enough that a line appears soon after its interval ends.
	timer := time.NewTicker(time.Duration(rec.Length) / 4)
	defer timer.Stop()
	for {
		select {
		case <-done:
			return tell()
		case <-timer.C:
			if err := tell(); err != nil {
				return err
			}
		}
	}
}

// IntervalLine is the line of one interval of round trips.
func IntervalLine(number int, i observe.Interval, zero int64) record.Interval {
	seconds := func(ns int64) float64 { return float64(ns) / 1e9 }
	if i.Count == 0 {
		return record.Interval{Second: number, Start: seconds(i.Start - zero), End: seconds(i.End - zero)}
	}
	return record.Interval{
		Second: number, Start: seconds(i.Start - zero), End: seconds(i.End - zero), Count: i.Count,
		Rate: float64(i.Count) / seconds(i.End-i.Start), Mean: seconds(i.Sum) / float64(i.Count),
		Min: seconds(i.Min), P50: seconds(i.P50), P99: seconds(i.P99), Max: seconds(i.Max),
	}
}
