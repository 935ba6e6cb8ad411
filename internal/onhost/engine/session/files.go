package session

import (
	"errors"
	"strconv"
	"time"

	"nearfar/internal/onhost/engine/observe"
	"nearfar/internal/onhost/engine/process"
	"nearfar/internal/onhost/engine/record"
	"nearfar/internal/onhost/engine/samples"
	"nearfar/internal/onhost/engine/wire"
)

// recordFiles are the files that a run writes in addition to its record.
type recordFiles struct {
	samples    *observe.Ring
	histograms *observe.Log
	// Others are more distributions by name. Leftovers are the requests that were never answered.
	Others    map[string]observe.LogLine
	Leftovers func(each func(intended, actual int64))
}

// openFiles opens the files that the options ask for.
func (c *Client) openFiles() error {
	o, p := c.Options, c.Options.Params
	if (o.Samples != nil || o.Histograms != nil) && p.Mode != wire.ModeRR && p.Mode != wire.ModeCRR &&
		p.Mode != wire.ModeLoad {
		return errors.New(p.Mode + " has no observations to write: samples and histograms are of rr, crr and load")
	}
	if o.Samples != nil {
		h := samples.Header{Version: process.Version(), Mode: p.Mode, Protocol: p.Protocol, Request: p.Request,
			Response:    p.Response,
			Connections: p.Connections, Started: time.Now().UnixNano()}
		if p.Mode == wire.ModeLoad {
			h.Schedule = o.Load.Schedule.String()
		}
		var err error
		if c.Files.samples, err = observe.NewRing(o.Samples, h); err != nil {
			return err
		}
		c.Files.samples.Start()
	}
	if o.Histograms != nil {
		c.Files.histograms = observe.NewLog(o.Histograms)
		c.Files.histograms.Start()
	}
	return nil
}

// NewRecorder returns the recorder of the run, which also writes to the files.
func (c *Client) NewRecorder() *observe.Recorder {
	r := observe.NewRecorder(int64(c.Options.Params.Duration), wire.IntervalLength(c.Options.Params.Duration))
	r.Log, r.Current.Samples = c.Files.histograms, c.Files.samples
	return r
}

// close writes the rest, and adds to the result how many samples were dropped.
func (f *recordFiles) close(r *record.Result) error {
	var failures []error
	if f.histograms != nil {
		failures = append(failures, f.histograms.Finish(f.Others))
	}
	if f.samples != nil {
		dropped, err := f.samples.Finish(f.Leftovers)
		failures = append(failures, err)
		if r.Facts != nil {
			r.Facts["samples_dropped"] = strconv.FormatInt(dropped, 10)
		}
	}
	return errors.Join(failures...)
}
