package tool

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"nearfar/internal/base/lazyregexp"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

const flentName = "flent"

// definitionFlent is the time that a page with all its objects took.
const definitionFlent = "http response time as printed by flent"

// flentProgram declares the data files of Flent (github.com/tohojo/flent), test-DATE.flent.gz. The format is described
// in its doc/data-format.rst, and written by flent/resultset.py; the names of the series are those of flent/tests.
func flentProgram() program {
	p := readOnly(flentName, "JSON, also compressed: series of round trips in ms, of rates in Mbit/s",
		"versions 1 to 4 of its format read")
	p.documents = func() documentReader { return &flentReader{} }
	return p
}

// flentFile is a data file. Series are read when they are needed: a file has a hundred of them.
type flentFile struct {
	Version  int                        `json:"version"`
	Results  map[string]json.RawMessage `json:"results"`
	Raw      map[string]json.RawMessage `json:"raw_values"`
	Metadata struct {
		Name          string  `json:"NAME"`
		Title         string  `json:"TITLE"`
		Length        float64 `json:"LENGTH"`
		T0            string  `json:"T0"`
		FlentVersion  string  `json:"FLENT_VERSION"`
		IPVersion     int     `json:"IP_VERSION"`
		FailedRunners int     `json:"FAILED_RUNNERS"`
		Series        map[string]struct {
			Mean  *float64 `json:"MEAN_VALUE"`
			Units string   `json:"UNITS"`
		} `json:"SERIES_META"`
	} `json:"metadata"`
}

// maxFlentDocument bounds a data file, in bytes after unpacking. One of ten minutes with ten series has about 5 MiB.
const maxFlentDocument = 32 << 20

// flentReader reads data files.
type flentReader struct{ found []foundRun }

func (r *flentReader) runs() []foundRun { return r.found }

func (r *flentReader) take(d document) bool {
	if d.truncated || !strings.Contains(d.body, `"x_values"`) || !strings.Contains(d.body, `"results"`) {
		return false
	}
	if len(d.body) > maxFlentDocument {
		err := fmt.Errorf("flent: its file is larger than %d MiB, the most that is read of one", maxFlentDocument>>20)
		r.found = append(r.found, foundRun{d.body[:maxLine], newMeasured(flentName).Measurement, err})
		return true
	}
	var f flentFile
	data := []byte(d.body)
	err := json.Unmarshal(data, &f)
	switch {
	case f.Results == nil || f.Metadata.Name == "":
		return false
	case err != nil:
		err = fmt.Errorf("flent: its JSON is not as it writes it: %w", err)
		r.found = append(r.found, foundRun{d.body, newMeasured(flentName).Measurement, err})
		return true
	}
	hash := sha256.Sum256(data)
	for i, run := range f.trials() {
		run.body = fmt.Sprintf("%x %d", hash, i)
		r.found = append(r.found, run)
	}
	return true
}

var (
	flentPing   = lazyregexp.New(`^Ping \(ms\) (ICMP|UDP|TCP)(.*)$`)
	flentStream = lazyregexp.New(`^TCP (download|upload)(?:::\d+)?(?: [^:]*)?$`)
)

// trials makes a trial of each series of round trips, of each direction of streams, and of the times of pages.
func (f *flentFile) trials() (found []foundRun) {
	streams := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(f.Results)) {
		switch s := flentPing.FindStringSubmatch(name); {
		case len(found) > maxFlentSeries:
		case s != nil && !strings.Contains(name, "::"):
			m, err := f.ping(name, strings.ToLower(s[1]), s[2])
			found = append(found, foundRun{m: m, err: err})
		case name == "HTTP latency":
			m, err := f.http(name)
			found = append(found, foundRun{m: m, err: err})
		default:
			if direction := find(flentStream, name); direction != "" {
				streams[direction] = append(streams[direction], name)
			}
		}
	}
	for _, direction := range slices.Sorted(maps.Keys(streams)) {
		m, err := f.stream(direction, streams[direction])
		found = append(found, foundRun{m: m, err: err})
	}
	if len(found) == 0 {
		err := fmt.Errorf("flent: the test %s has no series of round trips, of TCP or of HTTP", excerpt(f.Metadata.Name))
		found = append(found, foundRun{m: f.start("").Measurement, err: err})
	}
	// Without T0 the first ping says when all began.
	known := slices.IndexFunc(found, func(r foundRun) bool { return !r.m.Started.IsZero() })
	for i := range found {
		if known >= 0 && found[i].m.Started.IsZero() {
			found[i].m.Started = found[known].m.Started
		}
	}
	return found
}

// maxFlentSeries is the greatest number of series that become trials.
const maxFlentSeries = 1000

// start makes a measurement of what the file says of all series.
func (f *flentFile) start(series string) *measured {
	m := newMeasured(flentName)
	m.Tool.Version = excerpt(f.Metadata.FlentVersion)
	m.seconds(f.Metadata.Length)
	m.fact(result.FactSetting, strings.TrimSpace(lower(f.Metadata.Name)+" "+series))
	m.fact("title", f.Metadata.Title)
	if v := f.Metadata.IPVersion; v == 4 || v == 6 {
		m.fact(factIP, strconv.Itoa(v))
	}
	if n := f.Metadata.FailedRunners; n > 0 {
		m.note("%d of the programs that Flent ran failed.", n)
	}
	if at, err := time.Parse(time.RFC3339Nano, f.Metadata.T0); err == nil {
		m.started(at) // before version 3 it has no time zone
	}
	return m
}

// ping reads a series of round trips. If each is there, percentiles are computed; of netperf's UDP_RR there are means
// over intervals alone.
func (f *flentFile) ping(name, protocol, rest string) (result.Measurement, error) {
	means, err := flentValues(f.Results[name])
	raw, first, rawErr := flentObservations(f.Raw[name])
	series := strings.Join(strings.Fields(strings.ToLower(rest)), "_")
	if protocol != experiment.ICMP {
		series = strings.Trim(protocol+"_"+series, "_")
		if len(raw) > 0 {
			series += " each"
		}
	}
	m := f.start(series)
	m.Mode, m.Protocol = experiment.RR, protocol
	if protocol == experiment.ICMP {
		m.Mode = experiment.Ping
	}
	switch {
	case err != nil || rawErr != nil:
		return m.Measurement, errors.Join(err, rawErr)
	case len(means) == 0:
		return m.Measurement, fmt.Errorf("flent: %s has no values: nothing answered", excerpt(name))
	}
	if m.Started.IsZero() {
		m.started(time.UnixMilli(int64(min(first*1000, 1e15))))
	}
	m.define(result.DefinitionRTT, result.DefinitionRTT)
	if len(raw) == 0 {
		m.add(result.RTT, result.Mean, mean(means)*millisecond, "")
		m.note("The mean is that of means over intervals: Flent's file does not have each round trip of this series.")
		return m.Measurement, nil
	}
	for i := range raw {
		raw[i] *= millisecond
	}
	m.add(result.RTT, result.Mean, mean(raw), "")
	m.add(result.RTT, result.Min, slices.Min(raw), "")
	m.add(result.RTT, result.Max, slices.Max(raw), "")
	m.add(result.Received, "", float64(len(raw)), "")
	if m.percentiles(result.RTT, raw) {
		m.note("Percentiles are computed from the round trips in Flent's file.")
	}
	return m.Measurement, nil
}

// http reads the times of pages.
func (f *flentFile) http(name string) (result.Measurement, error) {
	m := f.start("")
	m.Mode, m.Protocol = experiment.CRR, "http"
	means, err := flentValues(f.Results[name])
	if err != nil {
		return m.Measurement, err
	}
	if len(means) == 0 {
		return m.Measurement, errors.New("flent: HTTP latency has no values: nothing answered")
	}
	m.define(definitionFlent, definitionFlent)
	m.add(result.ResponseTime, result.Mean, mean(means)*millisecond, "")
	m.note("The mean is that of means over intervals.")
	return m.Measurement, nil
}

// stream reads the streams of one direction: the sum, or all of them.
func (f *flentFile) stream(direction string, names []string) (result.Measurement, error) {
	m := f.start(direction)
	m.Mode, m.Protocol = experiment.Stream, experiment.TCP
	total, sum, streams := 0.0, 0.0, 0
	for _, name := range names {
		last := name[strings.LastIndexByte(name, ' ')+1:]
		if last == "avg" || last == "fairness" {
			continue
		}
		rate, err := f.rate(name)
		if err != nil {
			return m.Measurement, err
		}
		if last == "sum" {
			sum = rate
			continue
		}
		total, streams = total+rate, streams+1
	}
	if streams > 0 {
		m.fact("connections", strconv.Itoa(streams))
	}
	if sum == 0 {
		sum = total
	}
	if sum <= 0 {
		return m.Measurement, fmt.Errorf("flent: its TCP %s has no rate: the streams failed", direction)
	}
	m.define(result.DefinitionRate, result.DefinitionRate)
	m.add(result.Goodput, "", sum*1e6, "")
	return m.Measurement, nil
}

// rate is the mean rate of a series in Mbit/s: the one that the measuring program printed, or that of the intervals.
func (f *flentFile) rate(name string) (float64, error) {
	meta := f.Metadata.Series[name]
	if meta.Units != "" && meta.Units != "Mbits/s" {
		return 0, fmt.Errorf("flent: the unit %q of %s is not known", excerpt(meta.Units), excerpt(name))
	}
	if meta.Mean != nil && *meta.Mean > 0 {
		return *meta.Mean, nil
	}
	values, err := flentValues(f.Results[name])
	if err != nil || len(values) == 0 {
		return 0, err
	}
	return mean(values), nil
}

// maxFlentValues bounds one series.
const maxFlentValues = 1_000_000

// flentValues reads the values of a series; those that are missing are null.
func flentValues(series json.RawMessage) (values []float64, err error) {
	err = flentEach(series, func(d *json.Decoder) error {
		var v *float64
		if err := d.Decode(&v); err != nil {
			return err
		}
		if v != nil {
			values = append(values, *v)
		}
		return nil
	})
	return values, err
}

// flentObservations reads raw values that are single round trips in milliseconds, and when the first one was. Values of
// intervals have a duration and no number.
func flentObservations(series json.RawMessage) (values []float64, first float64, err error) {
	err = flentEach(series, func(d *json.Decoder) error {
		var v struct {
			T             float64
			Val, Seq, Dur *float64
		}
		if err := d.Decode(&v); err != nil {
			return err
		}
		if first == 0 {
			first = v.T
		}
		if v.Val != nil && v.Seq != nil && v.Dur == nil && *v.Val >= 0 {
			values = append(values, *v.Val)
		}
		return nil
	})
	return values, first, err
}

// flentEach reads the elements of an array one after the other.
func flentEach(series json.RawMessage, read func(*json.Decoder) error) error {
	if len(series) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(series))
	if open, err := d.Token(); err != nil || open != json.Delim('[') {
		return nil // null
	}
	for n := 0; d.More(); n++ {
		if n == maxFlentValues {
			return fmt.Errorf("flent: a series has more than %d values, the most that are read", maxFlentValues)
		}
		if err := read(d); err != nil {
			return fmt.Errorf("flent: its JSON is not as it writes it: %w", err)
		}
	}
	return nil
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}
