package tool

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// iperf3Result is the part of iperf3's JSON that is read. Rates are bit/s, rtt microseconds, jitter milliseconds.
type iperf3Result struct {
	Start *struct {
		Version   string `json:"version"`
		TestStart *struct {
			Protocol   string  `json:"protocol"`
			NumStreams int     `json:"num_streams"`
			BlkSize    float64 `json:"blksize"`
			Reverse    int     `json:"reverse"`
			Bidir      int     `json:"bidir"`
		} `json:"test_start"`
		// Accepted is only in a server's document.
		Accepted  json.RawMessage `json:"accepted_connection"`
		Connected []struct {
			RemoteHost string `json:"remote_host"`
		} `json:"connected"`
		MSS       float64 `json:"tcp_mss"`
		MSSSystem float64 `json:"tcp_mss_default"`
		// Timestamp is in seconds since 1970, by the clock of the side that printed it.
		Timestamp struct {
			Seconds float64 `json:"timesecs"`
		} `json:"timestamp"`
	} `json:"start"`
	End   *iperf3End      `json:"end"`
	Error json.RawMessage `json:"error"`
}

type iperf3End struct {
	Streams []struct {
		Sender *struct {
			Socket  int      `json:"socket"`
			MinRTT  *float64 `json:"min_rtt"`
			MeanRTT *float64 `json:"mean_rtt"`
			MaxRTT  *float64 `json:"max_rtt"`
		} `json:"sender"`
		UDP *struct {
			OutOfOrder *float64 `json:"out_of_order"`
		} `json:"udp"`
	} `json:"streams"`
	Sum             *iperf3Sum `json:"sum"`
	SumSent         *iperf3Sum `json:"sum_sent"`
	SumReceived     *iperf3Sum `json:"sum_received"`
	SumSentBack     *iperf3Sum `json:"sum_sent_bidir_reverse"`
	SumReceivedBack *iperf3Sum `json:"sum_received_bidir_reverse"`
	CPU             *struct {
		Host   *float64 `json:"host_total"`
		Remote *float64 `json:"remote_total"`
	} `json:"cpu_utilization_percent"`
	SenderCongestion string `json:"sender_tcp_congestion"`
}

type iperf3Sum struct {
	Seconds     float64  `json:"seconds"`
	Bytes       *float64 `json:"bytes"`
	Rate        *float64 `json:"bits_per_second"`
	Retransmits *float64 `json:"retransmits"`
	Jitter      *float64 `json:"jitter_ms"`
	Lost        *float64 `json:"lost_packets"`
	Packets     *float64 `json:"packets"`
}

func isIperf3JSON(d document) bool {
	if d.truncated {
		return jsonIperf.MatchString(d.body)
	}
	var keys map[string]json.RawMessage
	if json.Unmarshal([]byte(d.body), &keys) != nil {
		return false
	}
	end, hasEnd := keys["end"]
	_, intervals := keys["intervals"]
	_, failure := keys["error"]
	return hasEnd && intervals || failure && (len(keys) == 1 || hasEnd) || hasIperf3Sums(end) ||
		hasIperf3Sums([]byte(d.body))
}

// hasIperf3Sums reports whether a document holds iperf3's totals. Recordings may hold only the end of a document, or
// only the totals.
func hasIperf3Sums(body []byte) bool {
	var end iperf3End
	return json.Unmarshal(body, &end) == nil &&
		(end.SumReceived != nil && end.SumReceived.Rate != nil || end.Sum != nil && end.Sum.Rate != nil)
}

// iperf3Event is one line of --json-stream (iperf3 3.17 and later).
type iperf3Event struct {
	Event string          `json:"event"`
	Data  json.RawMessage `json:"data"`
}

func isIperf3Event(d document) bool {
	var e iperf3Event
	return !d.truncated && json.Unmarshal([]byte(d.body), &e) == nil && e.Event != ""
}

func startsIperf3(d document) bool {
	var e iperf3Event
	return json.Unmarshal([]byte(d.body), &e) == nil && e.Event == "start"
}

// parseIperf3Stream reads the events of one run.
func parseIperf3Stream(events []document) (result.Measurement, error) {
	whole := map[string]json.RawMessage{}
	for _, d := range events {
		var e iperf3Event
		if !d.truncated && json.Unmarshal([]byte(d.body), &e) == nil && e.Event != "" && e.Event != "interval" {
			whole[e.Event] = e.Data
		}
	}
	body, err := json.Marshal(whole)
	if err != nil {
		return newMeasured(iperf3Name).Measurement, fmt.Errorf("iperf3: its JSON events cannot be read: %w", err)
	}
	return parseIperf3JSON(document{body: string(body)})
}

// parseIperf3JSON reads one document of iperf3 -J, of a client or a server.
func parseIperf3JSON(d document) (result.Measurement, error) {
	m := newMeasured(iperf3Name)
	m.Mode = experiment.Stream
	if d.truncated {
		m.Tool.Version = find(iperf3Version, d.body)
		return m.Measurement, fmt.Errorf("iperf3: its JSON is cut off after %d bytes", len(d.body))
	}
	var doc iperf3Result
	if err := json.Unmarshal([]byte(d.body), &doc); err != nil {
		return m.Measurement, fmt.Errorf("iperf3: its JSON cannot be read: %w", err)
	}
	if doc.End == nil && hasIperf3Sums([]byte(d.body)) {
		doc.End = &iperf3End{}
		if err := json.Unmarshal([]byte(d.body), doc.End); err != nil {
			return m.Measurement, fmt.Errorf("iperf3: its totals cannot be read: %w", err)
		}
	}
	if doc.Start != nil {
		m.Tool.Version = find(iperf3Version, doc.Start.Version)
		if s := doc.Start.Timestamp.Seconds; s > 0 && s < 1e11 {
			m.started(time.Unix(int64(s), 0))
		}
		if t := doc.Start.TestStart; t != nil {
			m.Protocol = strings.ToLower(excerpt(t.Protocol))
			if t.BlkSize > 0 && t.BlkSize <= 1<<30 {
				m.fact("block_bytes", strconv.Itoa(int(t.BlkSize)))
				if m.Protocol == experiment.UDP {
					m.MessageBytes = int(t.BlkSize)
				}
			}
			m.fact("connections", strconv.Itoa(t.NumStreams))
		}
		if len(doc.Start.Connected) > 0 {
			m.ip(doc.Start.Connected[0].RemoteHost)
		}
		if mss := max(doc.Start.MSS, doc.Start.MSSSystem); mss > 0 && mss < 1<<20 {
			m.fact("mss", strconv.Itoa(int(mss)))
		}
	}
	failure := ""
	if len(doc.Error) > 0 {
		if json.Unmarshal(doc.Error, &failure) != nil {
			failure = string(doc.Error)
		}
		failure = excerpt(strings.TrimPrefix(failure, "error - "))
	}
	if doc.End != nil {
		doc.End.measure(m, doc.Start != nil && len(doc.Start.Accepted) > 0)
	}
	switch {
	case failure != "":
		dropZeroGoodput(m)
		return m.Measurement, errors.New("iperf3: " + failure)
	case len(m.Metrics) == 0:
		return m.Measurement, errors.New("iperf3: its JSON holds no result and no reason: " +
			"the test never began, or was broken off (iperf3 says why on standard error)")
	case !m.has(result.Goodput):
		return m.Measurement, errors.New("iperf3: its JSON holds no receiver's figure, so the goodput is not known")
	}
	noteZeroGoodput(m, true)
	return m.Measurement, nil
}

// measure reads the totals. byServer says that a server printed them: "host" is the side that prints.
func (end *iperf3End) measure(m *measured, byServer bool) {
	there, back := "", "server to client"
	if end.SumReceivedBack != nil || end.SumSentBack != nil {
		there = "client to server"
	}
	received := end.SumReceived
	if end.Sum != nil && (received == nil || received.Rate == nil) {
		end.measureOldUDP(m)
	} else {
		measureIperf3Way(m, end.SumSent, received, there)
	}
	measureIperf3Way(m, end.SumSentBack, end.SumReceivedBack, back)
	end.measureRTT(m)
	if end.CPU != nil {
		// The share of one CPU that the process used.
		host, remote := "client", "server"
		if byServer {
			host, remote = remote, host
		}
		for _, side := range []struct {
			stat    string
			percent *float64
		}{{host, end.CPU.Host}, {remote, end.CPU.Remote}} {
			if side.percent != nil && *side.percent > 0 {
				m.add(result.CPU, side.stat, *side.percent/100, "")
			}
		}
	}
	m.fact("congestion_control", end.SenderCongestion)
}

// measureIperf3Way reads the figures of one direction: goodput is the receiver's.
func measureIperf3Way(m *measured, sent, received *iperf3Sum, scope string) {
	sent, received = cmp.Or(sent, &iperf3Sum{}), cmp.Or(received, &iperf3Sum{})
	if m.addKnown(result.Goodput, "", received.Rate, 1, scope) {
		m.seconds(received.Seconds)
		if m.ReportedAs == result.DefinitionNone {
			m.define(result.DefinitionRate, result.DefinitionRate)
		}
	}
	m.addKnown(result.Retransmits, "", sent.Retransmits, 1, scope)
	m.addKnown(result.Sent, "", sent.Packets, 1, scope)
	m.addKnown(result.IPDV, result.Mean, received.Jitter, millisecond, scope)
	if received.Jitter != nil {
		received.measureLoss(m, scope)
	}
}

// measureOldUDP reads the only sum that iperf3 before 3.7 gives for UDP: the sender's rate with the receiver's losses.
func (end *iperf3End) measureOldUDP(m *measured) {
	sum := end.Sum
	m.seconds(sum.Seconds)
	m.addKnown(result.Sent, "", sum.Packets, 1, "")
	m.addKnown(result.IPDV, result.Mean, sum.Jitter, millisecond, "")
	loss, ok := sum.measureLoss(m, "")
	if sum.Rate != nil && ok && m.add(result.Goodput, "", *sum.Rate*(1-loss), "") {
		m.define(result.DefinitionRate, result.DefinitionRate)
		m.note("This iperf3 prints the sender's rate; the goodput is that less the loss.")
	}
	for _, s := range end.Streams {
		if s.UDP != nil && len(end.Streams) == 1 {
			m.addKnown(result.OutOfOrder, "", s.UDP.OutOfOrder, 1, "")
		}
	}
}

func (sum *iperf3Sum) measureLoss(m *measured, scope string) (float64, bool) {
	if sum.Lost == nil || sum.Packets == nil || *sum.Lost < 0 || *sum.Packets <= 0 || *sum.Lost > *sum.Packets {
		return 0, false
	}
	loss := *sum.Lost / *sum.Packets
	m.add(result.Lost, "", *sum.Lost, scope)
	return loss, m.add(result.Loss, "", loss, scope)
}

// measureRTT reads the kernel's smoothed round-trip times, which the sender samples once an interval under load.
func (end *iperf3End) measureRTT(m *measured) {
	for i, s := range end.Streams {
		if s.Sender == nil || s.Sender.MeanRTT == nil || *s.Sender.MeanRTT <= 0 {
			continue // the receiving side prints 0
		}
		scope := ""
		if len(end.Streams) > 1 {
			scope = "stream " + strconv.Itoa(i+1)
		}
		m.addKnown(result.RTT, result.Mean, s.Sender.MeanRTT, microsecond, scope)
		m.addKnown(result.RTT, result.Min, s.Sender.MinRTT, microsecond, scope)
		m.addKnown(result.RTT, result.Max, s.Sender.MaxRTT, microsecond, scope)
		m.define(result.DefinitionSmoothedRTT, result.DefinitionSmoothedRTT)
	}
	if m.Definition == result.DefinitionSmoothedRTT {
		m.note("rtt is the kernel's smoothed round-trip time under load, sampled once an interval: " +
			"no request waited for it.")
	}
}
