package observe

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"nearfar/internal/base/hdr"
	"nearfar/internal/onhost/engine/process"
	"nearfar/internal/onhost/engine/timing"
)

// The log format is HdrHistogram's 1.3, as HistogramLogWriter and HistogramLogReader for Java define it: comments, a
// start time, a legend, and a line for each interval. A line has the start and the length in seconds, the largest
// value in milliseconds, and the V2 compressed encoding in base64. A line that begins with Tag= is about another
// quantity.

// A Log writes the intervals of a run to a file during the run. The hot thread merges each interval into one of two
// histograms, and hands it over when the writer has finished the other. So no interval is lost. If the writer is
// late, two intervals become one line.
type Log struct {
	w io.Writer
	// mine belongs to the hot thread. handed belongs to the writer while full is true.
	mine, handed LogLine
	full         atomic.Bool
	zero         atomic.Int64 // when the window began
	quit         chan struct{}
	ended        chan error
	begun        bool
	encoder      hdr.Encoder
}

// LogLine is an interval of the log. Start and End are readings of timing.Now.
type LogLine struct {
	Times      *Histogram
	Start, End int64
}

// NewLog prepares a log on w.
func NewLog(w io.Writer) *Log {
	l := &Log{w: w, quit: make(chan struct{}), ended: make(chan error, 1)}
	l.mine.Times, l.handed.Times = NewHistogram(), NewHistogram()
	return l
}

// add takes an interval from the hot thread. It does not allocate.
func (l *Log) add(h *Histogram, start, end int64) {
	if l.mine.Times.Count() == 0 {
		l.mine.Start = start
	}
	l.mine.End = end
	l.mine.Times.Merge(h)
	if !l.full.Load() {
		l.mine, l.handed = l.handed, l.mine
		l.full.Store(true)
	}
}

// Start starts the writer.
func (l *Log) Start() {
	go writeUntil(l.quit, l.ended, l.writeHanded)
}

func (l *Log) writeHanded(bool) error {
	if !l.full.Load() {
		return nil
	}
	err := l.line("", l.handed)
	l.handed.Times.Reset()
	l.full.Store(false)
	return err
}

// line writes one line. Before the first one it writes the head of the file.
func (l *Log) line(tag string, i LogLine) error {
	if i.Times.Count() == 0 {
		return nil
	}
	zero := l.zero.Load()
	if !l.begun {
		l.begun = true
		began := time.Now().Add(-time.Duration(timing.Now() - zero))
		seconds := float64(began.UnixMilli()) / 1e3
		if _, err := fmt.Fprintf(l.w, "#[Logged with nearfar %s]\n#[Histogram log format version 1.3]\n"+
			"#[StartTime: %.3f (seconds since epoch), %s]\n#[BaseTime: %.3f (seconds since epoch)]\n"+
			"\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n",
			process.Version(), seconds, began.UTC().Format(time.RFC3339), seconds); err != nil {
			return err
		}
	}
	encoded, err := l.encoder.Encode(i.Times.filled())
	if err != nil {
		return err
	}
	if tag != "" {
		tag = "Tag=" + tag + ","
	}
	_, err = fmt.Fprintf(l.w, "%s%.3f,%.3f,%.6f,%s\n", tag, float64(i.Start-zero)/1e9, float64(i.End-i.Start)/1e9,
		float64(i.Times.max)/1e6, encoded)
	return err
}

// Finish writes the rest, and the other quantities of the window under their tags. The hot thread must have ended.
func (l *Log) Finish(others map[string]LogLine) error {
	close(l.quit)
	err := errors.Join(<-l.ended, l.line("", l.mine))
	for tag, i := range others {
		err = errors.Join(err, l.line(tag, i))
	}
	if err != nil {
		return fmt.Errorf("writing the histograms: %w", err)
	}
	return nil
}
