package rr

import (
	"fmt"
	"time"

	"nearfar/internal/declare/result"
	"nearfar/internal/onhost/engine/observe"
	"nearfar/internal/onhost/engine/record"
	"nearfar/internal/onhost/engine/sys"
	"nearfar/internal/onhost/engine/timing"
	"nearfar/internal/onhost/engine/wire"
)

// The parts of the round trips, and their metrics and facts.

// A stampedTransaction is one transaction on the side that sends the request: start and end on the engine's clock, in
// nanoseconds, and the kernel's timestamps.
type stampedTransaction struct {
	sys.Stamps
	number     uint64
	start, end int64
	// counted says that it belongs to the window.
	counted bool
}

// The parts, in the order of the record. The parts from partClientSend on divide client and server-stack further.
// partClientNIC is between the driver's and the NIC's timestamps, if the NIC has any.
const (
	partClient = iota
	partNetwork
	partServerStack
	partServerApplication
	partNetworkAndServerStack // where the server's kernel gives no timestamps
	wholeParts
)

const (
	partClientSend = wholeParts + iota
	partClientReceive
	partServerReceive
	partServerSend
	partClientNIC
	allParts
)

// partScope is the scope that a part has in the metric rtt.
func partScope(part int) string {
	return [allParts]string{"client", "network", "server-stack", "server-application", "network-and-server-stack",
		"client-send", "client-receive", "server-receive", "server-send", "client-nic"}[part]
}

// A division holds the parts of many round trips. Its sums are exact. The histograms are for percentiles.
type division struct {
	parts      []int
	count, rtt int64
	sums       [allParts]int64
	histograms [wholeParts]*observe.Histogram
}

func newDivision(parts ...int) division {
	d := division{parts: parts}
	for _, p := range parts {
		if p < wholeParts {
			d.histograms[p] = observe.NewHistogram()
		}
	}
	return d
}

// add takes the parts of one round trip, in nanoseconds.
//
//go:nosplit
func (d *division) add(rtt int64, values *[allParts]int64) {
	d.count++
	d.rtt += rtt
	for _, p := range d.parts {
		d.sums[p] += values[p]
		if p < wholeParts {
			d.histograms[p].Record(values[p])
		}
	}
}

// tolerance is how far a part may be negative, in nanoseconds, because of the error in comparing two clocks.
const tolerance = 1000

// A divider divides transactions into parts.
type divider struct {
	offset clockOffset
	// full holds the transactions with all timestamps, coarse those with at least the client's.
	full, coarse division
	// settled counts the transactions that could be divided in full, also outside of the window.
	settled int64
	// onHardware counts the window's transactions whose network part comes from the client's NIC.
	onHardware int64
	// Why transactions of the window were not divided. implausible means that a clock was set during the transaction.
	noTx, noRx, noServerTx, noServerRx, implausible int64
}

func newDivider() divider {
	d := divider{
		full: newDivision(partClient, partNetwork, partServerStack, partServerApplication,
			partClientSend, partClientReceive, partServerReceive, partServerSend, partClientNIC),
		coarse: newDivision(partClient, partNetworkAndServerStack, partServerApplication, partClientSend,
			partClientReceive, partClientNIC),
	}
	d.offset.refresh(timing.Now())
	return d
}

// outside is how long the transaction was outside of its sender: between the NIC's timestamps if both exist and are
// plausible (its clock may have been set), or else between the driver's.
//
//go:nosplit
func (t *stampedTransaction) outside() (ns int64, onHardware bool) {
	ns = t.Rx - t.Tx
	if hw := t.RxHardware - t.TxHardware; t.TxHardware != 0 && t.RxHardware != 0 && hw > 0 && hw <= ns+tolerance {
		return hw, true
	}
	return ns, false
}

// complete divides a transaction with the server's stamps, if they are about that transaction.
//
//go:nosplit
func (d *divider) complete(t *stampedTransaction, s wire.ServerStamps) {
	if t.number == 0 || s.Sequence != uint32(t.number) || s.Application == wire.NoDuration {
		return
	}
	one := int64(0)
	if t.counted {
		one = 1
	}
	if t.Tx == 0 || t.Rx == 0 {
		if t.Tx == 0 {
			d.noTx += one
		}
		if t.Rx == 0 {
			d.noRx += one
		}
		return
	}
	var v [allParts]int64
	v[partClientSend] = t.Tx - d.offset.ahead - t.start
	v[partClientReceive] = t.end - (t.Rx - d.offset.ahead)
	outside, onHardware := t.outside()
	v[partClientNIC] = t.Rx - t.Tx - outside
	v[partClient] = v[partClientSend] + v[partClientReceive] + v[partClientNIC]
	v[partServerApplication] = int64(s.Application)
	v[partNetworkAndServerStack] = outside - v[partServerApplication]
	if v[partClientSend] < -tolerance || v[partClientReceive] < -tolerance ||
		v[partServerApplication] < -tolerance || v[partNetworkAndServerStack] < -tolerance {
		d.implausible += one
		return
	}
	if t.counted {
		d.coarse.add(t.end-t.start, &v)
		if onHardware {
			d.onHardware++
		}
	}
	if s.Receive == wire.NoDuration || s.Send == wire.NoDuration {
		if s.Receive == wire.NoDuration {
			d.noServerRx += one
		}
		if s.Send == wire.NoDuration {
			d.noServerTx += one
		}
		return
	}
	v[partServerReceive], v[partServerSend] = int64(s.Receive), int64(s.Send)
	v[partServerStack] = v[partServerReceive] + v[partServerSend]
	v[partNetwork] = v[partNetworkAndServerStack] - v[partServerStack]
	if v[partServerReceive] < -tolerance || v[partServerSend] < -tolerance || v[partNetwork] < -tolerance {
		d.implausible += one
		return
	}
	d.settled++
	if t.counted {
		d.full.add(t.end-t.start, &v)
	}
}

// kind says which timestamps separate the network's part from the client's.
func (d *divider) kind() string {
	switch d.onHardware {
	case 0:
		return "software"
	case d.coarse.count:
		return "hardware"
	}
	return fmt.Sprintf("hardware for %d of %d, else software", d.onHardware, d.coarse.count)
}

// leastDivided is the share of the window's transactions that must have been divided, so that the parts represent all
// of them.
const leastDivided = 0.9

// mostApart is how far the sum of the mean parts may differ from the mean round trip without a note, in seconds.
const mostApart = 1e-6

// into puts the parts into the record. all holds every round trip of the window.
func (c *stampedClient) into(r *record.Result, all *observe.Histogram) {
	facts := r.Facts
	d := &c.divider
	total := float64(all.Count())
	facts["timestamps"] = d.kind()
	facts["timestamps_device"] = c.socket.NIC.Device()
	facts["timestamps_hardware"] = c.socket.NIC.Hardware()
	facts["timestamps_missing"] = d.missing()
	c.overhead.into(facts)
	r.Notes = append(r.Notes, "Kernel timestamps were on, which costs time in the kernel on both sides: do not "+
		"compare this trial with one without them.")
	division := &d.full
	if float64(d.full.count) < leastDivided*total {
		division = &d.coarse
	}
	facts["timestamps_divided"] = fmt.Sprintf("%d of %d", division.count, all.Count())
	if float64(division.count) < leastDivided*total {
		r.Notes = append(r.Notes, fmt.Sprintf("The round trip is not divided: the kernel's timestamps are there for "+
			"%d of %d transactions only; missing: %s.",
			division.count, all.Count(), d.missing()))
		return
	}
	if division == &d.coarse {
		r.Notes = append(r.Notes, "The server's kernel gives no timestamps: its stack cannot be told from the network.")
	}
	apart := division.mean(division.rtt) - all.Mean()/1e9
	facts["timestamps_sum_minus_rtt"] = time.Duration(apart * 1e9).String()
	if apart > mostApart || apart < -mostApart {
		r.Notes = append(r.Notes, fmt.Sprintf("The parts are those of %d of %d round trips: they add up to %+.2f us "+
			"beside the mean of all.",
			division.count, all.Count(), apart*1e6))
	}
	r.Metrics = append(r.Metrics, division.metrics()...)
}

// mean is a sum's share of one round trip, in seconds.
func (d *division) mean(sum int64) float64 { return float64(sum) / float64(d.count) / 1e9 }

// metrics gives the mean of every part, which add up to the mean round trip, and percentiles of the parts of the
// first level.
func (d *division) metrics() (m []result.Metric) {
	for _, p := range d.parts {
		if p == partClientNIC && d.sums[p] == 0 {
			continue // there are no hardware timestamps
		}
		add := func(stat string, v float64) {
			m = append(m, result.Metric{Name: result.RTT, Stat: stat, Unit: result.Seconds, Scope: partScope(p),
				Value: v})
		}
		add(result.Mean, d.mean(d.sums[p]))
		if p >= wholeParts {
			continue
		}
		for _, percentile := range []float64{50, 99} {
			if result.SupportsPercentile(d.count, percentile) {
				add(result.PercentileStat(percentile), float64(d.histograms[p].Percentile(percentile))/1e9)
			}
		}
	}
	return m
}

// missing lists which timestamps were missing, and how often.
func (d *divider) missing() string {
	text := ""
	for _, m := range []struct {
		what  string
		count int64
	}{{"client tx", d.noTx}, {"client rx", d.noRx}, {"server tx", d.noServerTx}, {"server rx", d.noServerRx},
		{"clock set", d.implausible}} {
		if m.count == 0 {
			continue
		}
		if text != "" {
			text += ", "
		}
		text += fmt.Sprintf("%s %d", m.what, m.count)
	}
	if text == "" {
		return "none"
	}
	return text
}

// into adds what the timestamps cost.
func (o overhead) into(facts map[string]string) {
	if o.with.Count() == 0 || o.without.Count() == 0 {
		facts["timestamps_overhead"] = "not measured: the warm-up is too short"
		return
	}
	with, without := time.Duration(o.with.Percentile(50)), time.Duration(o.without.Percentile(50))
	facts["timestamps_overhead"] = (with - without).String()
	facts["timestamps_rtt_p50_with"], facts["timestamps_rtt_p50_without"] = with.String(), without.String()
}
