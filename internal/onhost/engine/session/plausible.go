package session

import (
	"fmt"
	"time"

	"nearfar/internal/onhost/engine/wire"
)

// The client does not take the server's figures on trust: it knows what it sent, and how much time has passed on its
// own clock. A figure that cannot be true ends the measurement without a result.

const (
	// clockRate is by how much the clocks of two machines may differ in their rate, and clockGrain how exactly short
	// times are compared. Crystals are good for 100 ppm.
	clockRate  = 1e-3
	clockGrain = 10 * time.Millisecond
	// mostCPUs is the greatest number of CPUs that Linux has (CONFIG_NR_CPUS).
	mostCPUs = 8192
	// mostPackets is more packets a second than a machine can send.
	mostPackets = 1e10
	// mostWindow is more than any congestion window, in bytes: TCP's own window has at most 1 GiB (RFC 7323).
	mostWindow = 1 << 40
)

// Sent is what the client has sent in a session, warm-up included. Unknown stands for a count that it does not have.
type Sent struct {
	// Messages are one-way messages, Bytes those of a stream.
	Messages, Bytes int64
}

// Unknown is a count of Sent that is not known.
const Unknown = -1

// longer says whether a time of the server's clock is longer than one of this side's.
func longer(theirs, mine time.Duration) bool {
	return theirs > mine+time.Duration(clockRate*float64(mine))+clockGrain
}

// CheckInterval says why an interval of the server cannot be true. before is the interval before, or the zero value.
func (c *Client) CheckInterval(i, before wire.Interval) error {
	age := time.Since(c.opened)
	switch {
	case !i.Sound(), i.Start != before.End:
		return impossible("an interval from %v to %v after one that ended at %v", i.Start, i.End, before.End)
	case longer(i.End, age):
		return impossible("an interval that ended at %v, %v after the session began", i.End, age)
	case i.Window > mostWindow:
		return impossible("a congestion window of %d bytes", i.Window)
	case longer(i.Smoothed, age):
		return impossible("a round trip of %v, %v after the session began", i.Smoothed, age)
	case float64(i.Retransmits) > mostPackets*age.Seconds():
		return impossible("%d retransmits within %v", i.Retransmits, age)
	}
	return nil
}

// CheckReport says why a report of the server cannot be true. intervals are the sums of its intervals, End the end of
// the last one.
func (c *Client) CheckReport(r wire.Report, sent Sent, intervals wire.Interval) error {
	p, age := c.Options.Params, time.Since(c.opened)
	timed := p.Mode == wire.ModeStream || p.Mode == wire.ModeMessages // by the server
	switch {
	case longer(r.Elapsed, age):
		return impossible("%v of measuring, %v after the session began", r.Elapsed, age)
	case r.CPU > 0 && r.CPU.Seconds() > mostCPUs*(r.Elapsed.Seconds()+clockGrain.Seconds()):
		return impossible("a CPU time of %v within %v", r.CPU, r.Elapsed)
	case float64(r.Retransmits) > mostPackets*age.Seconds(), float64(r.Transactions) > mostPackets*age.Seconds():
		return impossible("%d retransmits and %d transactions within %v", r.Retransmits, r.Transactions, age)
	case !timed:
		return nil
	case r.Window != intervals.End || r.Bytes != intervals.Bytes:
		return impossible("%d bytes in %v, and %d bytes in %v in its intervals", r.Bytes, r.Window, intervals.Bytes,
			intervals.End)
	case longer(p.Duration, r.Window), longer(p.Warmup+r.Window, age):
		return impossible("a window of %v, where %v were asked for and the session began %v ago", r.Window, p.Duration,
			age)
	case sent.Bytes != Unknown && r.Bytes > sent.Bytes:
		return impossible("%d bytes, and %d were sent", r.Bytes, sent.Bytes)
	case p.Mode == wire.ModeMessages:
		return checkMessages(r, sent.Messages, p.Message, intervals.Messages)
	}
	return nil
}

// checkMessages checks the tally of one-way messages. The network may deliver a datagram twice, but does not double
// more than everything.
func checkMessages(r wire.Report, sent int64, size int, inIntervals int64) error {
	m := r.Messages
	switch {
	case m.Received > 2*sent || m.Sent > sent || m.OutOfOrder > m.Received || m.Received-m.OutOfOrder > sent:
		return impossible("%d messages, %d of them late or twice, of %d, and %d were sent", m.Received, m.OutOfOrder,
			m.Sent, sent)
	case m.Received != inIntervals || r.Bytes/int64(size) != m.Received || r.Bytes%int64(size) != 0:
		return impossible("%d messages of %d bytes, and %d bytes and %d messages in its intervals", m.Received, size,
			r.Bytes, inIntervals)
	}
	return nil
}

func impossible(format string, args ...any) error {
	return fmt.Errorf("the server reports what cannot be: "+format, args...)
}
