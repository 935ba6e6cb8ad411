package page

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"nearfar/internal/declare/result"
)

// Limits on the trials' records on the page.
const (
	// recordBudget is the largest size of all records together, packed, in bytes.
	recordBudget = 900 << 10
	// maxUnpacked is the largest size of the outputs before packing, in bytes. It bounds the time for a large run.
	maxUnpacked = 24 << 20
	// maxOutputs is the largest number of outputs of one trial.
	maxOutputs = 16
)

// bounds say how much of the outputs is kept: the first and the last bytes of each, for at most this many trials of a
// workload in an arm. Failed trials are kept before others.
type bounds struct{ first, last, trials int }

// allTrials keeps the outputs of all trials.
const allTrials = math.MaxInt

// steps are the bounds to try, the largest first, until all records fit.
func steps() []bounds {
	return []bounds{
		{16 << 10, 4 << 10, allTrials}, {4 << 10, 1 << 10, allTrials}, {1 << 10, 512, allTrials},
		{4 << 10, 1 << 10, 10}, {1 << 10, 512, 3}, {0, 0, 0},
	}
}

// manyRecords is the number of trials from which on bounds with allTrials are not tried.
const manyRecords = 3000

// note says what the bounds leave out; it is empty for the largest bounds.
func (b bounds) note() string {
	switch {
	case b == steps()[0]:
		return ""
	case b.trials == allTrials:
		return fmt.Sprintf("to keep the page small, each output is shortened to its first %d and last %d bytes: "+
			"the run directory has all of it", b.first, b.last)
	case b.trials > 0:
		return fmt.Sprintf("to keep the page small, it has the outputs of only %d trials of each workload and arm: "+
			"the run directory has all of them", b.trials)
	}
	return "to keep the page small, it has no outputs: the run directory has them"
}

const noRecords = "there are too many records of trials for the page: the run directory has them"

// records gives the trials in full, with as much of their outputs as fits.
func (c *collector) records() ([]Records, error) {
	if c.answer.Trials > maxWhole {
		c.note("%s", noRecords)
		return []Records{}, nil
	}
	for _, b := range steps() {
		if b.trials == allTrials && len(c.trials) > manyRecords {
			continue
		}
		records, size, err := c.recordsWithin(b)
		if err != nil {
			return nil, err
		}
		if size <= recordBudget {
			if note := b.note(); note != "" {
				c.note("%s", note)
			}
			return records, nil
		}
	}
	c.note("%s", noRecords)
	return []Records{}, nil
}

// recordsWithin packs the records with outputs within the bounds, and gives their size in bytes. It stops early once
// they are too large.
func (c *collector) recordsWithin(b bounds) ([]Records, int, error) {
	groups := []Records{}
	packed, plain := 0, 0
	for w := range c.experiment.Workloads {
		for arm := range c.experiment.Arms {
			var records []Record
			left := b.trials
			if left != allTrials {
				left -= c.failed(w, arm, left)
			}
			for _, t := range c.groups[place{w, arm}] {
				within := b
				if t.Error == "" {
					if left <= 0 {
						within = bounds{}
					}
					left--
				}
				r := c.record(*t, within)
				for _, o := range r.Outputs {
					plain += len(o.Head) + len(o.Tail)
				}
				for _, o := range r.Observed {
					plain += len(o.Name) + len(o.Client) + len(o.Server)
				}
				records = append(records, r)
			}
			if len(records) == 0 {
				continue
			}
			if plain > maxUnpacked {
				return nil, recordBudget + 1, nil
			}
			p, err := pack(records)
			if err != nil {
				return nil, 0, err
			}
			if packed += len(p); packed > recordBudget {
				return nil, packed, nil
			}
			groups = append(groups, Records{Workload: w, Arm: arm, Count: len(records), Trials: p})
		}
	}
	return groups, packed, nil
}

// failed counts the failed trials of a workload in an arm, up to most.
func (c *collector) failed(workload, arm, most int) int {
	n := 0
	for _, t := range c.groups[place{workload, arm}] {
		if n < most && t.Error != "" {
			n++
		}
	}
	return n
}

func (c *collector) record(t result.Trial, b bounds) Record {
	r := Record{
		Trial: t.Trial, Tool: clip(strings.TrimSpace(t.Tool.Name + " " + t.Tool.Version)), Started: stamp(t.Started),
		Duration: t.DurationSeconds, ReportedAs: t.ReportedAs, Definition: t.Definition, Metrics: []Number{},
		Facts: clipValues(t.Facts), Treatment: clipValues(t.Treatment),
		Commands: clipAll(t.Commands), Notes: clipAll(t.Notes), Error: clip(t.Error), Outputs: []Output{},
		Expect: judgements(t),
	}
	for _, m := range t.Metrics {
		name := strings.TrimSpace(m.Name + " " + m.Stat)
		if m.Scope != "" {
			name += " of " + m.Scope
		}
		r.Metrics = append(r.Metrics, Number{Name: clip(name), Unit: m.Unit, Value: m.Value})
	}
	if b.first == 0 {
		return r
	}
	r.Observed = observed(t)
	for _, name := range t.Raw[:min(len(t.Raw), maxOutputs)] {
		r.Outputs = append(r.Outputs, c.output(name, b))
	}
	return r
}

// wholeOutput is the largest size, in bytes, of an output that is read as a whole.
const wholeOutput = 64 << 10

// encodedHistogram matches the engine's histogram in its output. The page leaves it out, because the run directory has
// it as a separate file.
var encodedHistogram = regexp.MustCompile(`"histogram":"[A-Za-z0-9+/=]{64,}"`)

// output reads the output of a program, within the bounds.
func (c *collector) output(name string, b bounds) Output {
	o := Output{Name: clip(name)}
	head, tail, size, err := c.files.ends(name, wholeOutput, int64(b.last))
	if err != nil {
		return Output{Name: o.Name, Bytes: -1, Head: clip(err.Error())}
	}
	o.Bytes = size
	read := len(head) + len(tail)
	if bytes.Contains(head, []byte(`"histogram":"`)) {
		head = encodedHistogram.ReplaceAllFunc(head, func(found []byte) []byte {
			return []byte(`"histogram":"(` + strconv.Itoa(len(found)-len(`"histogram":""`)) +
				` characters: see the .hdr file)"`)
		})
	}
	if size <= wholeOutput && len(head) <= b.first+b.last {
		o.Head = valid(head)
		return o
	}
	first := min(len(head), b.first)
	if size <= wholeOutput { // head is the whole output
		last := min(len(head)-first, b.last)
		o.Tail = valid(head[len(head)-last:])
		o.Cut = int64(len(head) - first - last)
	} else {
		o.Tail = valid(tail)
		o.Cut = size - int64(read) + int64(len(head)-first)
	}
	o.Head = valid(head[:first])
	return o
}

// linesOf are the command lines of a workload in an arm: those of the first trial, and the different sets.
type linesOf struct {
	first int
	lines []string
	sets  []string
}

// seeLines notes the command lines of a trial.
func (c *collector) seeLines(at place, t *result.Trial) {
	if len(t.Commands) == 0 {
		return
	}
	of := c.lines[at]
	if of == nil {
		of = &linesOf{first: t.Trial}
		c.lines[at] = of
	}
	if of.lines == nil || t.Trial < of.first {
		of.first, of.lines = t.Trial, clipAll(t.Commands)
	}
	if set := strings.Join(t.Commands, "\x00"); len(of.sets) < 100 && !slices.Contains(of.sets, set) {
		of.sets = append(of.sets, set)
	}
}

// commands gives the exact command lines of each workload in each arm, taken from the first trial.
func (c *collector) commands() []Commands {
	all := []Commands{}
	for w := range c.experiment.Workloads {
		for arm := range c.experiment.Arms {
			if of := c.lines[place{w, arm}]; of != nil {
				all = append(all, Commands{Workload: w, Arm: arm, Lines: of.lines, Variants: len(of.sets)})
			}
		}
	}
	return all
}

// clipAll limits the number of texts and the length of each.
func clipAll(texts []string) []string {
	const most = 50
	all := []string{}
	for _, s := range texts[:min(len(texts), most)] {
		all = append(all, clip(s))
	}
	return all
}

// clipValues limits the number of facts and the length of each.
func clipValues(values map[string]string) map[string]string {
	const most = 300
	all := map[string]string{}
	for k, v := range values {
		if len(all) < most {
			all[clip(k)] = clip(v)
		}
	}
	return all
}
