// Package record is the output of the native engine with -f json: one JSON object in each line. The first line has
// the type start, the next ones interval, and the last one result or error.
package record

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"nearfar/internal/base/hdr"
	"nearfar/internal/declare/result"
)

// The types of lines.
const (
	typeStart    = "start"
	typeInterval = "interval"
	typeResult   = "result"
	typeError    = "error"
)

// Start is the first line: the parameters in effect.
type Start struct {
	Type     string `json:"type"`
	Version  string `json:"version"`
	Mode     string `json:"mode"`
	Protocol string `json:"protocol"`
	Server   string `json:"server"`
	// Request, Response and Message are application message sizes in bytes.
	Request     int `json:"request,omitempty"`
	Response    int `json:"response,omitempty"`
	Message     int `json:"message,omitempty"`
	Connections int `json:"connections"`
	// Direction is for stream. Batch and Rate (1/s, 0 for as fast as possible) are for messages.
	Direction string  `json:"direction,omitempty"`
	Batch     int     `json:"batch,omitempty"`
	Rate      float64 `json:"message_rate,omitempty"`
	// Wait is how both sides were asked to wait; empty for block.
	Wait string `json:"wait,omitempty"`
	// Schedule is the offered load (load).
	Schedule string `json:"schedule,omitempty"`
	// Warmup is discarded, Duration is the length of the window; in seconds.
	Warmup   float64 `json:"warmup_seconds"`
	Duration float64 `json:"duration_seconds"`
}

// Times are statistics of times in seconds.
type Times struct {
	Mean float64 `json:"mean"`
	Min  float64 `json:"min"`
	P50  float64 `json:"p50"`
	P99  float64 `json:"p99"`
	Max  float64 `json:"max"`
}

// Interval is the measurement of one interval of the window, usually a second. Times are in seconds. Round-trip times
// are for rr and crr, goodput is for stream.
type Interval struct {
	Type string `json:"type"`
	// Second counts the intervals from 1. Start and End are since the beginning of the window.
	Second int     `json:"second"`
	Start  float64 `json:"start_seconds"`
	End    float64 `json:"end_seconds"`
	// EndUnix is End by the wall clock of the client's host, in seconds since 1970; 0 if it is not known (all modes but
	// stream and messages). Its precision is a microsecond.
	EndUnix float64 `json:"end_unix_seconds,omitempty"`
	// Count is how many round trips were recorded.
	Count int64   `json:"count,omitempty"`
	Rate  float64 `json:"transaction_rate,omitempty"`
	Mean  float64 `json:"rtt_mean,omitempty"`
	Min   float64 `json:"rtt_min,omitempty"`
	P50   float64 `json:"rtt_p50,omitempty"`
	P99   float64 `json:"rtt_p99,omitempty"`
	Max   float64 `json:"rtt_max,omitempty"`
	// Response are the response times of the requests that were answered (load).
	Response *Times `json:"response_time,omitempty"`
	// Bytes are the received bytes, Goodput is the same in bit/s. For a stream in both directions they are sums, and
	// Upload and Download are the goodput of each direction.
	Bytes    int64   `json:"bytes,omitempty"`
	Goodput  float64 `json:"goodput,omitempty"`
	Upload   float64 `json:"upload_goodput,omitempty"`
	Download float64 `json:"download_goodput,omitempty"`
	// Retransmits counts segments that were sent again. CongestionWindow (bytes) and SmoothedRTT (seconds) are
	// TCP_INFO's values for the senders at the end of the interval, as means over the connections; for a stream in both
	// directions, the client's.
	Retransmits      int64   `json:"retransmits,omitempty"`
	CongestionWindow int64   `json:"congestion_window_bytes,omitempty"`
	SmoothedRTT      float64 `json:"smoothed_rtt_seconds,omitempty"`
	// Messages is how many one-way messages arrived, MessageRate the same in 1/s.
	Messages    int64   `json:"messages,omitempty"`
	MessageRate float64 `json:"message_rate,omitempty"`
}

// Result is the last line of a measurement.
type Result struct {
	Type     string `json:"type"`
	Version  string `json:"version"`
	Mode     string `json:"mode"`
	Protocol string `json:"protocol"`
	// MessageBytes is the size of a request (rr, crr) or of one write (stream).
	MessageBytes int `json:"message_bytes"`
	// Duration is the actual length of the window in seconds.
	Duration float64 `json:"duration_seconds"`
	// ReportedAs and Definition are as in result.Measurement.
	ReportedAs string          `json:"reported_as"`
	Definition string          `json:"definition"`
	Metrics    []result.Metric `json:"metrics"`
	// Histogram is the distribution of rtt in nanoseconds: HdrHistogram's V2 compressed encoding in base64.
	Histogram string            `json:"histogram,omitempty"`
	Facts     map[string]string `json:"facts"`
	Notes     []string          `json:"notes,omitempty"`
}

// Failure is the last line if there is no result.
type Failure struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// A Writer prints the lines.
type Writer struct{ w io.Writer }

// NewWriter returns a writer of lines to w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Start prints the first line.
func (w *Writer) Start(s Start) error { s.Type = typeStart; return w.line(s) }

// Interval prints the line of one interval.
func (w *Writer) Interval(i Interval) error { i.Type = typeInterval; return w.line(i) }

// Result prints the last line of a measurement.
func (w *Writer) Result(r Result) error { r.Type = typeResult; return w.line(r) }

// Failure prints the last line if there is no result.
func (w *Writer) Failure(message string) error {
	return w.line(Failure{Type: typeError, Message: message})
}

func (w *Writer) line(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("writing a record: %w", err)
	}
	_, err = w.w.Write(append(b, '\n'))
	return err
}

// Run is the output of one execution.
type Run struct {
	Start     Start
	Intervals []Interval
	Result    Result
}

// Limits of a record that is read.
const (
	maxLine      = 4 << 20
	maxIntervals = 1 << 16
	maxMetrics   = 1000
	maxFacts     = 200
	maxNotes     = 50
	maxText      = 1000
)

// FailedError is an error line: the engine says why it has no result.
type FailedError struct{ Message string }

// Error is the engine's message.
func (e *FailedError) Error() string { return e.Message }

// ErrUnfinished is the error of Read if all lines are valid and the last one is missing.
var ErrUnfinished = errors.New("the engine's output ends before its result: it was cut short")

// Read reads and checks the output of an execution. It returns a *FailedError if the engine reports an error, and
// another error if the output is incomplete or not the engine's. It returns the intervals in any case.
func Read(printed []byte) (Run, error) {
	var run Run
	lines := bufio.NewScanner(bytes.NewReader(printed))
	lines.Buffer(nil, maxLine)
	for number := 1; lines.Scan(); number++ {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		ended, err := run.take(line)
		if err != nil {
			if _, ok := errors.AsType[*FailedError](err); ok {
				return run, err
			}
			return run, fmt.Errorf("line %d of the engine's output: %w", number, err)
		}
		if ended {
			for lines.Scan() {
				if len(bytes.TrimSpace(lines.Bytes())) > 0 {
					return run, errors.New("the engine's output goes on after its result")
				}
			}
			return run, lines.Err()
		}
	}
	if err := lines.Err(); err != nil {
		return run, fmt.Errorf("the engine's output: %w", err)
	}
	if run.Start.Type == "" {
		return run, errors.New("the engine printed no record: it did not run, or its output is lost")
	}
	return run, ErrUnfinished
}

// take reads one line, and returns true after the result.
func (r *Run) take(line []byte) (bool, error) {
	var kind struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(line, &kind); err != nil {
		return false, fmt.Errorf("no JSON object: %w", err)
	}
	if r.Start.Type == "" && kind.Type != typeStart && kind.Type != typeError {
		return false, fmt.Errorf("%q comes before the start", clip(kind.Type))
	}
	switch kind.Type {
	case typeStart:
		if r.Start.Type != "" {
			return false, errors.New("a second start")
		}
		return false, json.Unmarshal(line, &r.Start)
	case typeInterval:
		if len(r.Intervals) == maxIntervals {
			return false, fmt.Errorf("more than %d intervals", maxIntervals)
		}
		var i Interval
		if err := json.Unmarshal(line, &i); err != nil {
			return false, err
		}
		if err := i.check(); err != nil {
			return false, err
		}
		r.Intervals = append(r.Intervals, i)
		return false, nil
	case typeResult:
		if err := json.Unmarshal(line, &r.Result); err != nil {
			r.Result = Result{}
			return false, err
		}
		if err := r.Result.check(); err != nil {
			r.Result = Result{}
			return false, err
		}
		return true, nil
	case typeError:
		var f Failure
		if err := json.Unmarshal(line, &f); err != nil {
			return false, err
		}
		return false, &FailedError{Message: clip(f.Message)}
	}
	return false, fmt.Errorf("unknown type %q", clip(kind.Type))
}

func (i Interval) check() error {
	if i.Second < 1 || i.Count < 0 || i.Bytes < 0 || i.Retransmits < 0 || i.CongestionWindow < 0 || i.Messages < 0 {
		return errors.New("an interval with a negative count")
	}
	if t := i.Response; t != nil && (!sound(t.Mean) || !sound(t.Min) || !sound(t.P50) || !sound(t.P99) ||
		!sound(t.Max)) {
		return errors.New("an interval with a response time that is negative or not finite")
	}
	for _, v := range []float64{i.Start, i.End, i.EndUnix, i.Rate, i.Mean, i.Min, i.P50, i.P99, i.Max, i.Goodput,
		i.Upload, i.Download, i.SmoothedRTT, i.MessageRate} {
		if !sound(v) {
			return errors.New("an interval with a value that is negative or not finite")
		}
	}
	return nil
}

func (r Result) check() error {
	switch {
	case len(r.Metrics) == 0:
		return errors.New("a result without metrics")
	case len(r.Metrics) > maxMetrics || len(r.Facts) > maxFacts || len(r.Notes) > maxNotes:
		return errors.New("a result with too many entries")
	case !sound(r.Duration) || r.Duration == 0 || r.Duration > 1e6:
		return fmt.Errorf("a window of %v s", r.Duration)
	case r.MessageBytes < 0:
		return fmt.Errorf("messages of %d bytes", r.MessageBytes)
	}
	for _, m := range r.Metrics {
		unit, known := result.UnitOf(m.Name)
		switch {
		case !known:
			return fmt.Errorf("unknown metric %q", clip(m.Name))
		case m.Unit != unit:
			return fmt.Errorf("metric %s in %q, not in %q", m.Name, clip(m.Unit), unit)
		case !sound(m.Value):
			return fmt.Errorf("metric %s of %v", m.Name, m.Value)
		case len(m.Stat) > 20 || len(m.Scope) > 50:
			return fmt.Errorf("metric %s with a stat or scope that is too long", m.Name)
		}
	}
	for _, text := range append([]string{r.Version, r.Mode, r.Protocol, r.ReportedAs, r.Definition}, r.Notes...) {
		if len(text) > maxText {
			return errors.New("a text that is too long")
		}
	}
	for k, v := range r.Facts {
		if len(k) > maxText || len(v) > maxText {
			return errors.New("a fact that is too long")
		}
	}
	if r.Histogram != "" {
		if err := checkHistogram(r.Histogram); err != nil {
			return fmt.Errorf("the histogram: %w", err)
		}
	}
	return nil
}

// checkHistogram decodes a histogram like a later reader of the record.
func checkHistogram(encoded string) error {
	h, err := hdr.Decode([]byte(encoded))
	if err != nil {
		return err
	}
	if h.Total() == 0 {
		return errors.New("empty")
	}
	return nil
}

func sound(v float64) bool { return v >= 0 && !math.IsInf(v, 0) && !math.IsNaN(v) }

func clip(s string) string {
	if len(s) > maxText {
		return s[:maxText] + "..."
	}
	return s
}
