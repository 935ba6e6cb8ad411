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
	"strconv"
	"strings"
	"time"

	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/conclude/answer/proof"
	"nearfar/internal/declare/result"
	"nearfar/internal/declare/rundir"
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
	quantity                               figures.Quantity
	definition, tool, mode, protocol, load string
	// bytes is the message size; -1 if it is not known.
	bytes int
	// rank is the place of the quantity in the workload's report, from 1; 0 if a report does not show it.
	rank     int
	median   float64
	interval figures.Interval
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
		}
		if !proof.IsCompared(m.Experiment, t) || m.Experiment.IsTwin(t.Workload) {
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
		slices.SortStableFunc(trials, func(a, b result.Trial) int { return a.Trial - b.Trial })
		r.figures = append(r.figures, figuresOf(workload, trials, m.Experiment.Schedule.DeploymentCount() > 1)...)
		good := slices.DeleteFunc(trials, func(t result.Trial) bool { return t.Error != "" })
		r.conditions = append(r.conditions, trialConditions(workload, good)...)
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

// cellOf gives the cell of a good trial.
func cellOf(t result.Trial) cell {
	c := cell{
		arm: text(t.Arm), definition: text(t.Definition), tool: text(t.Tool.Name), mode: text(t.Mode),
		protocol: text(t.Protocol), load: text(t.Facts["schedule"]), bytes: -1,
	}
	if t.MessageBytes != nil {
		c.bytes = *t.MessageBytes
	}
	return c
}

// figuresOf gives the figures of a workload's trials, in a fixed order. They are those of a report: figures.FigureOf
// computes both. deployed says that the hosts were made several times.
func figuresOf(workload string, trials []result.Trial, deployed bool) []figure {
	good := slices.DeleteFunc(slices.Clone(trials), func(t result.Trial) bool { return t.Error != "" })
	ranks := map[figures.Quantity]int{}
	for i, q := range figures.Quantities(good) {
		ranks[q] = i + 1
	}
	attempts, cellsOf := attemptsByCell(trials)
	type key struct {
		cell     cell
		quantity figures.Quantity
	}
	seen := map[key]bool{}
	var all []figure
	for _, t := range good {
		c := cellOf(t)
		for _, m := range t.Metrics {
			k := key{c, figures.Quantity{Metric: m.Name, Stat: m.Stat, Unit: m.Unit, Scope: m.Scope,
				BetterIf: m.BetterIf.String()}}
			if isPart(m.Scope) || seen[k] {
				continue
			}
			seen[k] = true
			ranking := figures.NewRanking(k.quantity, attempts[c], good)
			// Trials that lack a figure count as the worst. If there is no worst, most of them must have it.
			if 2*ranking.Count(attempts[c]) < len(attempts[c]) {
				continue
			}
			of, known := figures.FigureOf(deployed, t.Arm, workload, ranking, attempts[c])
			if !known {
				continue
			}
			f := c.figure(workload, k.quantity)
			f.rank, f.median, f.trials, f.interval = ranks[k.quantity], of.Median, of.Trials, of.Interval
			if f.interval.Unbounded() != "" {
				f.interval = nil // the database cannot store an interval with only one bound
			}
			all = append(all, f)
		}
	}
	for _, arm := range slices.Sorted(maps.Keys(cellsOf)) {
		all = append(all, failuresOf(workload, arm, trials))
	}
	return all
}

// attemptsByCell groups first attempts. A failed one does not always say how it was measured: it counts in the cell of
// its arm, if there is one. It also gives the cells of each arm.
func attemptsByCell(trials []result.Trial) (attempts map[cell][]result.Trial, cells map[string][]cell) {
	attempts, cells = map[cell][]result.Trial{}, map[string][]cell{}
	for _, t := range trials {
		if _, known := cells[t.Arm]; !known {
			cells[t.Arm] = nil
		}
		if c := cellOf(t); t.Error == "" && !slices.Contains(cells[t.Arm], c) {
			cells[t.Arm] = append(cells[t.Arm], c)
		}
	}
	for _, t := range figures.FirstAttempts(trials) {
		switch {
		case t.Error == "":
			attempts[cellOf(t)] = append(attempts[cellOf(t)], t)
		case len(cells[t.Arm]) == 1:
			c := cells[t.Arm][0]
			attempts[c] = append(attempts[c], t)
		}
	}
	return attempts, cells
}

// figure is a figure of the cell without its number.
func (c cell) figure(workload string, q figures.Quantity) figure {
	return figure{
		workload: text(workload), arm: c.arm, definition: c.definition, tool: c.tool, mode: c.mode,
		protocol: c.protocol, load: c.load, bytes: c.bytes,
		quantity: figures.Quantity{
			Metric: text(q.Metric), Stat: text(q.Stat), Unit: text(q.Unit), Scope: text(q.Scope),
			BetterIf: text(q.BetterIf),
		},
	}
}

// failuresOf is the share of an arm's first attempts that failed.
func failuresOf(workload, arm string, trials []result.Trial) figure {
	var attempts []result.Trial
	for _, t := range figures.FirstAttempts(trials) {
		if t.Arm == arm {
			attempts = append(attempts, t)
		}
	}
	share := figures.ShareOf("", arm, workload, attempts)
	c := cell{arm: text(arm), bytes: -1} // failed trials do not always say what they would have measured
	f := c.figure(workload, share.Quantity)
	f.median, f.interval, f.trials = share.Share, share.Interval, share.Attempts
	return f
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
	e := m.Experiment.Unwatched()
	for _, arm := range e.Arms {
		arm.Workloads = nil // derived from the arm's settings and the workloads, which have conditions of their own
		all = append(all, declared(armSubject(text(arm.Name)), arm))
	}
	for _, w := range e.Workloads {
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
