package page

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"nearfar/internal/result"
)

// How much of what was printed the page holds.
const (
	// recordBudget bounds the records of all trials together, packed, in bytes.
	recordBudget = 900 << 10
	// maxUnpacked bounds them before they are packed, so that a great run does not take long.
	maxUnpacked = 24 << 20
	// maxOutputs bounds the files of one trial.
	maxOutputs = 16
)

// bounds are how much of each output is kept: its beginning and its end, in bytes, and of how many trials of a workload in
// an arm; those that failed are kept before others.
type bounds struct{ first, last, trials int }

// allTrials is for bounds that hold the outputs of all trials.
const allTrials = math.MaxInt

// steps are the bounds that are tried, the most generous first, until everything fits.
func steps() []bounds {
	return []bounds{{16 << 10, 4 << 10, allTrials}, {4 << 10, 1 << 10, allTrials}, {1 << 10, 512, allTrials}, {4 << 10, 1 << 10, 10}, {1 << 10, 512, 3}, {0, 0, 0}}
}

// manyRecords is from how many trials on the outputs of all of them are not tried.
const manyRecords = 3000

// note says what the bounds leave out; nothing for the most generous ones.
func (b bounds) note() string {
	switch {
	case b == steps()[0]:
		return ""
	case b.trials == allTrials:
		return fmt.Sprintf("to keep the page small, each output is shortened to its first %d and last %d bytes: the run directory has all of it", b.first, b.last)
	case b.trials > 0:
		return fmt.Sprintf("to keep the page small, it has the outputs of %d trials of each workload and arm only: the run directory has all of them", b.trials)
	}
	return "to keep the page small, it has no outputs: the run directory has them"
}

// records gives the trials in full, with as much of what was printed as fits.
func (c *collector) records() ([]Records, error) {
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
	c.note("the trials' records are too many for the page: the run directory has them")
	return []Records{}, nil
}

// recordsWithin packs the records with outputs of the given bounds, and gives their size. It stops where they are too many.
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
			for _, t := range c.trials {
				if c.workloads[t.Workload] != w || c.arms[t.Arm] != arm {
					continue
				}
				within := b
				if t.Error == "" {
					if left <= 0 {
						within = bounds{}
					}
					left--
				}
				r := c.record(t, within)
				for _, o := range r.Outputs {
					plain += len(o.Head) + len(o.Tail)
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
	for _, t := range c.trials {
		if n < most && t.Error != "" && c.workloads[t.Workload] == workload && c.arms[t.Arm] == arm {
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
	for _, name := range t.Raw[:min(len(t.Raw), maxOutputs)] {
		r.Outputs = append(r.Outputs, c.output(name, b))
	}
	return r
}

// wholeOutput is up to what size an output is read whole.
const wholeOutput = 64 << 10

// encodedHistogram is the engine's histogram in its output: the run directory has it as a file of its own.
var encodedHistogram = regexp.MustCompile(`"histogram":"[A-Za-z0-9+/=]{64,}"`)

// output reads what was printed, within the bounds.
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
			return []byte(`"histogram":"(` + strconv.Itoa(len(found)-len(`"histogram":""`)) + ` characters: see the .hdr file)"`)
		})
	}
	if size <= wholeOutput && len(head) <= b.first+b.last {
		o.Head = valid(head)
		return o
	}
	first := min(len(head), b.first)
	if size <= wholeOutput { // the tail is in what was read
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

// commands gives the exact command lines of each workload in each arm: those of its first trial.
func (c *collector) commands() []Commands {
	all := []Commands{}
	for w := range c.experiment.Workloads {
		for arm := range c.experiment.Arms {
			var sets []string
			k := Commands{Workload: w, Arm: arm}
			for _, t := range c.trials {
				if c.workloads[t.Workload] != w || c.arms[t.Arm] != arm || len(t.Commands) == 0 {
					continue
				}
				if k.Lines == nil {
					k.Lines = clipAll(t.Commands)
				}
				if set := strings.Join(t.Commands, "\x00"); !slices.Contains(sets, set) && len(sets) < 100 {
					sets = append(sets, set)
				}
			}
			if k.Variants = len(sets); k.Variants > 0 {
				all = append(all, k)
			}
		}
	}
	return all
}

// clipAll bounds texts, and how many there are.
func clipAll(texts []string) []string {
	const most = 50
	all := []string{}
	for _, s := range texts[:min(len(texts), most)] {
		all = append(all, clip(s))
	}
	return all
}

// clipValues bounds facts, and how many there are.
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
