package history

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"runtime"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"nearfar/internal/answer"
	"nearfar/internal/result"
	"nearfar/internal/rundir"
	"nearfar/internal/stats"
)

const (
	// maxFigures is the largest number of figures of one run.
	maxFigures = 50_000
	// maxText is the largest length of a text from a run, in bytes.
	maxText = 500
	// declaration is the name of a condition whose value is the hash of an arm's or a workload's declaration.
	declaration = "declaration"
)

// record is a run as the database stores it.
type record struct {
	// id is the run's id in the database.
	id                               int64
	machine, name, experiment, state string
	started                          time.Time
	// stamp changes when the run's files change.
	stamp          string
	trials, failed int
	figures        []figure
	conditions     []condition
}

// figure is a number of a run: the median over the good trials of one arm and workload that measure the same.
type figure struct {
	workload, arm                          string
	quantity                               answer.Quantity
	definition, tool, mode, protocol, load string
	// bytes is the message size; -1 if it is not known.
	bytes int
	// rank is the place of the quantity in the workload's report, from 1; 0 if a report does not show it.
	rank     int
	median   float64
	interval answer.Interval
	trials   int
}

// mostAhead is how many runs are read at the same time at most. It bounds the memory.
const mostAhead = 4

// summary is the result of summarize for a run.
type summary struct {
	record record
	err    error
}

// summaries reads runs on several CPUs, and gives them in order.
func summaries(runs []found) iter.Seq2[found, summary] {
	return func(yield func(found, summary) bool) {
		ahead := min(runtime.GOMAXPROCS(0), mostAhead)
		read := make([]chan summary, len(runs))
		start := func(i int) {
			read[i] = make(chan summary, 1) // buffered, because nobody receives after an early stop
			go func() {
				r, err := summarize(runs[i].path, runs[i].name, runs[i].stamp)
				read[i] <- summary{r, err}
			}()
		}
		for i := range min(ahead, len(runs)) {
			start(i)
		}
		for i, run := range runs {
			s := <-read[i]
			if i+ahead < len(runs) {
				start(i + ahead)
			}
			if !yield(run, s) {
				return
			}
		}
	}
}

// summarize reads a run and gives its record.
func summarize(path, name, stamp string) (record, error) {
	dir, err := rundir.Open(path)
	if err != nil {
		return record{}, err
	}
	m := dir.Manifest()
	r := record{
		machine: text(m.Machine), name: text(name), experiment: text(m.Experiment.Name), state: text(m.State),
		started: m.Started.UTC(), stamp: stamp,
	}
	byWorkload := map[string][]result.Trial{}
	err = dir.Each(func(t result.Trial) error {
		r.trials++
		if t.Error != "" {
			r.failed++
			return nil
		}
		if !answer.IsCompared(m.Experiment, t) {
			return nil
		}
		t.Raw, t.Commands, t.Notes, t.Treatment = nil, nil, nil, nil
		t.Observed, t.Counters, t.Wire, t.Expect = nil, nil, nil, nil
		byWorkload[t.Workload] = append(byWorkload[t.Workload], t)
		return nil
	})
	if err != nil {
		return record{}, err
	}
	for _, workload := range slices.Sorted(maps.Keys(byWorkload)) {
		trials := byWorkload[workload]
		sort.SliceStable(trials, func(i, j int) bool { return trials[i].Trial < trials[j].Trial })
		r.figures = append(r.figures, figuresOf(workload, trials)...)
		r.conditions = append(r.conditions, trialConditions(workload, trials)...)
		if len(r.figures) > maxFigures {
			return record{}, fmt.Errorf("%s: more than %d figures", path, maxFigures)
		}
	}
	r.conditions = append(r.conditions, runConditions(m)...)
	return r, nil
}

// cell has the properties that the trials of one figure share.
type cell struct {
	arm, definition, tool, mode, protocol, load string
	bytes                                       int
}

// figuresOf gives the figures of a workload's good trials, in a fixed order.
func figuresOf(workload string, trials []result.Trial) []figure {
	ranks := map[answer.Quantity]int{}
	for i, q := range answer.Quantities(trials) {
		ranks[q] = i + 1
	}
	type key struct {
		cell     cell
		quantity answer.Quantity
	}
	values, counts := map[key][]stats.Value{}, map[cell]int{}
	var order []key
	for _, t := range trials {
		c := cell{
			arm: text(t.Arm), definition: text(t.Definition), tool: text(t.Tool.Name), mode: text(t.Mode),
			protocol: text(t.Protocol), load: text(t.Facts["schedule"]), bytes: -1,
		}
		if t.MessageBytes != nil {
			c.bytes = *t.MessageBytes
		}
		counts[c]++
		for _, m := range t.Metrics {
			if isPart(m.Scope) {
				continue
			}
			k := key{c, answer.Quantity{Metric: m.Name, Stat: m.Stat, Unit: m.Unit, Scope: m.Scope}}
			if _, seen := values[k]; !seen {
				order = append(order, k)
			}
			values[k] = append(values[k], stats.Value{Block: t.Block, Value: m.Value})
		}
	}
	var figures []figure
	for _, k := range order {
		// Leave out figures that fewer than half of the trials have, such as a percentile for which only the longest
		// trials have enough observations.
		if 2*len(values[k]) < counts[k.cell] {
			continue
		}
		// As in the answer, a trial that lacks the figure counts as worse than all others.
		if worst, ok := result.Worst(k.quantity.Metric); ok {
			for len(values[k]) < counts[k.cell] {
				values[k] = append(values[k], stats.Value{Value: worst})
			}
		}
		median, interval, _ := stats.Rank(perBlock(values[k]))
		if !median.Known {
			continue
		}
		q := k.quantity
		f := figure{
			workload: text(workload), arm: k.cell.arm, definition: k.cell.definition, tool: k.cell.tool,
			mode:     k.cell.mode,
			protocol: k.cell.protocol, load: k.cell.load, bytes: k.cell.bytes,
			rank: ranks[q], median: median.Value, trials: len(values[k]),
			quantity: answer.Quantity{
				Metric: text(q.Metric), Stat: text(q.Stat), Unit: text(q.Unit), Scope: text(q.Scope),
			},
		}
		if f.interval = answer.IntervalOf(interval); f.interval.Unbounded() != "" {
			f.interval = nil // the database cannot store an interval with only one bound
		}
		figures = append(figures, f)
	}
	return figures
}

// perBlock gives one number for each block. The trials of a block are similar, and would make the interval too narrow.
func perBlock(values []stats.Value) []float64 {
	var numbers []float64
	for _, v := range stats.PerBlock(values) {
		numbers = append(numbers, v.Value)
	}
	return numbers
}

// isPart says whether a scope is one stream or thread of many. Such figures are not kept.
func isPart(scope string) bool {
	return strings.HasPrefix(scope, "stream ") || strings.HasPrefix(scope, "thread ")
}

func armSubject(arm string) string { return "arm " + arm }

func workloadSubject(workload string) string { return "workload " + workload }

// cellSubject is the subject for an arm in a workload. It is unique, because names have no line breaks.
func cellSubject(arm, workload string) string { return "arm " + arm + "\nworkload " + workload }

// runConditions gives the conditions of the whole run, and the declarations of arms and workloads.
func runConditions(m rundir.Manifest) []condition {
	var all []condition
	// The trials have the versions of the other tools.
	if version := m.Versions["nearfar"]; version != "" {
		all = append(all, condition{"", "version of nearfar", text(version)})
	}
	var hosts struct {
		Lab map[string]json.RawMessage `json:"lab"`
	}
	if json.Unmarshal(m.Hosts, &hosts) == nil {
		for _, name := range slices.Sorted(maps.Keys(hosts.Lab)) {
			// The declarations of the arms say how they are built.
			if name != "arms" {
				all = append(all, condition{"", text("lab " + strings.ReplaceAll(name, "_", " ")),
					shown(hosts.Lab[name])})
			}
		}
	}
	for _, arm := range m.Experiment.Arms {
		arm.Workloads = nil // derived from the arm's settings and the workloads, which have conditions of their own
		all = append(all, declared(armSubject(text(arm.Name)), arm))
	}
	for _, w := range m.Experiment.Workloads {
		all = append(all, declared(workloadSubject(text(w.Name)), w))
	}
	return all
}

// declared is a condition with the hash of a declaration. Declarations are only ever compared for equality.
func declared(subject string, what any) condition {
	data, err := json.Marshal(what)
	if err != nil {
		data = []byte(err.Error())
	}
	return condition{subject, declaration, fmt.Sprintf("%x", sha256.Sum256(data))}
}

// shown writes a JSON value for people: without quotes, and with spaces after commas and colons.
func shown(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return text(s)
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return ""
	}
	return text(strings.NewReplacer(`"`, "", ",", ", ", ":", ": ").Replace(b.String()))
}

// trialConditions gives how the trials of each arm in a workload were measured.
func trialConditions(workload string, trials []result.Trial) []condition {
	byArm := map[string][]result.Trial{}
	for _, t := range trials {
		byArm[t.Arm] = append(byArm[t.Arm], t)
	}
	var all []condition
	for _, arm := range slices.Sorted(maps.Keys(byArm)) {
		subject := cellSubject(text(arm), text(workload))
		add := func(name string, of func(result.Trial) string) {
			var values []string
			for _, t := range byArm[arm] {
				if v := of(t); v != "" && !slices.Contains(values, v) && len(values) < 5 {
					values = append(values, v)
				}
			}
			if slices.Sort(values); len(values) > 0 {
				all = append(all, condition{subject, name, text(strings.Join(values, ", "))})
			}
		}
		add("tool", func(t result.Trial) string { return strings.TrimSpace(t.Tool.Name + " " + t.Tool.Version) })
		add("as reported", func(t result.Trial) string { return t.ReportedAs })
		add("window", func(t result.Trial) string {
			// Rounded to 0.1 s, because a window is never exactly as long as requested.
			return strconv.FormatFloat(t.DurationSeconds, 'f', 1, 64) + " s"
		})
		for _, name := range followedFacts() {
			for _, side := range []string{"", "server."} {
				add(side+name, func(t result.Trial) string { return t.Facts[side+name] })
			}
		}
	}
	return all
}

// followedFacts are the facts of a trial that influence its figures and stay the same during a run.
func followedFacts() []string {
	return []string{
		"congestion", "cpus", "dscp", "go", "io", "ip", "os", "path_mtu", "placement", "so_rcvbuf", "so_sndbuf",
		"tcp_congestion", "tcp_mss", "tcp_nodelay", "wait",
	}
}

// text makes a text from a run fit for a database: valid UTF-8 without NUL, at most maxText long.
func text(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
	if len(s) > maxText {
		s = strings.ToValidUTF8(s[:maxText], "") + "..."
	}
	return s
}
