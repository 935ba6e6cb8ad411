package engine

import (
	"errors"
	"strconv"
	"time"

	"nearfar/internal/engine/record"
	"nearfar/internal/engine/samples"
)

// recordFiles are the files that a run writes beside its record.
type recordFiles struct {
	samples    *sampleRing
	histograms *histogramLog
	// others are the distributions beside the run's own, by name; leftovers are what was never answered.
	others    map[string]histogramLine
	leftovers func(each func(intended, actual int64))
}

// openFiles begins what the options ask for.
func (c *client) openFiles() error {
	o, p := c.options, c.options.Params
	if (o.Samples != nil || o.Histograms != nil) && p.Mode != ModeRR && p.Mode != ModeCRR && p.Mode != ModeLoad {
		return errors.New(p.Mode + " has no observations to write: samples and histograms are of rr, crr and load")
	}
	if o.Samples != nil {
		h := samples.Header{Version: Version(), Mode: p.Mode, Protocol: p.Protocol, Request: p.Request, Response: p.Response,
			Connections: p.Connections, Started: time.Now().UnixNano()}
		if p.Mode == ModeLoad {
			h.Schedule = o.Load.Schedule.String()
		}
		var err error
		if c.files.samples, err = newSampleRing(o.Samples, h); err != nil {
			return err
		}
		c.files.samples.start()
	}
	if o.Histograms != nil {
		c.files.histograms = newHistogramLog(o.Histograms)
		c.files.histograms.start()
	}
	return nil
}

// newRecorder returns the recorder of the run, which also writes the files.
func (c *client) newRecorder() *recorder {
	r := newRecorder(c.options.Params.Duration)
	r.log, r.current.samples = c.files.histograms, c.files.samples
	return r
}

// closeFiles writes the rest, and notes in the result what was dropped.
func (f *recordFiles) close(r *record.Result) error {
	var failures []error
	if f.histograms != nil {
		failures = append(failures, f.histograms.finish(f.others))
	}
	if f.samples != nil {
		dropped, err := f.samples.finish(f.leftovers)
		failures = append(failures, err)
		if r.Facts != nil {
			r.Facts["samples_dropped"] = strconv.FormatInt(dropped, 10)
		}
	}
	return errors.Join(failures...)
}
