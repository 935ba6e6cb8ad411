package page

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"nearfar/internal/base/hdr"
	"nearfar/internal/conclude/answer"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/declare/rundir"
)

// Limits on texts from hosts and files, in bytes.
const (
	maxText = 4000
	// maxReason is the limit for the reason why a trial failed, in the list of all trials.
	maxReason = 300
)

// collector holds what the parts of the page are made from.
type collector struct {
	experiment *experiment.Experiment
	manifest   rundir.Manifest
	answer     answer.Answer
	// trials are the trials whose arm and workload the experiment declares, in the order of execution.
	trials []*result.Trial
	// groups are the trials by workload and arm.
	groups map[place][]*result.Trial
	// facts and ran are for the facts that the tools found, lines for the command lines; see see.
	facts      []map[string][]string
	ran        [][]bool
	varying    map[string]bool
	lines      map[place]*linesOf
	undeclared int
	arms       map[string]int
	// twins are the watched twins, whose trials the page does not show.
	twins     map[string]bool
	workloads map[string]int
	files     *files
	notes     []string
	// decoder reads histograms into decoded, one at a time.
	decoder hdr.Decoder
	decoded hdr.Histogram
}

// place is a workload in an arm, by their indexes.
type place struct{ workload, arm int }

// maxWhole is the number of trials up to which the page can have their records; see recordBudget. Of more trials, only
// what the rest of the page needs stays in memory.
const maxWhole = 20_000

// Collect makes the page's data from a run directory and its answer. Trials, histograms, intervals and outputs are
// bounded in size. If a file cannot be read, its part of the page is missing and a note says so. The error is that of
// reading the trials or the directory.
func Collect(dir *rundir.Dir, a answer.Answer) (Data, error) {
	root, err := os.OpenRoot(dir.Path)
	if err != nil {
		return Data{}, err
	}
	defer func() { _ = root.Close() }() // only read from
	c := newCollector(dir.Manifest(), a, nil, &files{root: root})
	if err := dir.Each(func(t result.Trial) error {
		c.see(&t)
		if a.Trials > maxWhole {
			t.Commands, t.Notes, t.Facts, t.Treatment, t.Set = nil, nil, nil, nil, nil
			t.Observed, t.Counters, t.Wire = nil, nil, nil
		}
		return nil
	}); err != nil {
		return Data{}, err
	}
	return c.data()
}

func newCollector(m rundir.Manifest, a answer.Answer, trials []result.Trial, f *files) *collector {
	twins := map[string]bool{}
	for _, w := range m.Experiment.Workloads {
		twins[w.Name] = m.Experiment.IsTwin(w.Name)
	}
	m.Experiment = m.Experiment.Unwatched()
	c := &collector{
		twins:      twins,
		experiment: m.Experiment, manifest: m, answer: a, files: f,
		arms: map[string]int{}, workloads: map[string]int{},
		groups: map[place][]*result.Trial{}, lines: map[place]*linesOf{}, varying: map[string]bool{},
	}
	for i, arm := range m.Experiment.Arms {
		c.arms[arm.Name] = i
	}
	for i, w := range m.Experiment.Workloads {
		c.workloads[w.Name] = i
	}
	for range m.Experiment.Workloads {
		c.facts = append(c.facts, map[string][]string{})
		c.ran = append(c.ran, make([]bool, len(m.Experiment.Arms)))
	}
	for i := range trials {
		c.see(&trials[i])
	}
	return c
}

// see adds a trial. What it needs of the facts and command lines is taken at once.
func (c *collector) see(t *result.Trial) {
	if c.twins[t.Workload] {
		return
	}
	arm, known := c.arms[t.Arm]
	workload, declared := c.workloads[t.Workload]
	if !known || !declared {
		c.undeclared++
		return
	}
	c.trials = append(c.trials, t)
	c.seeFacts(workload, arm, t)
	c.seeLines(place{workload, arm}, t)
}

// sorted puts the trials in order, after all were seen.
func (c *collector) sorted() {
	if c.undeclared > 0 {
		c.note("%d trials belong to an arm or a workload that the experiment does not have", c.undeclared)
	}
	slices.SortStableFunc(c.trials, func(a, b *result.Trial) int { return a.Trial - b.Trial })
	for _, t := range c.trials {
		at := place{c.workloads[t.Workload], c.arms[t.Arm]}
		c.groups[at] = append(c.groups[at], t)
	}
}

func (c *collector) note(format string, args ...any) {
	if len(c.notes) < 20 {
		c.notes = append(c.notes, fmt.Sprintf(format, args...))
	}
}

func (c *collector) data() (Data, error) {
	c.sorted()
	m := c.manifest
	shown, err := clipped(c.answer)
	if err != nil {
		return Data{}, err
	}
	d := Data{
		Nearfar: "v1", Page: pageVersion, Answer: shown, Name: clip(m.Experiment.Name),
		Started: stamp(m.Started), Ended: stamp(m.Ended), Seed: m.Seed, Versions: m.Versions,
		Arms: c.listArms(), Workloads: c.listWorkloads(), Quantities: c.quantities(), Loads: c.loads(),
		Hosts: c.hosts(), Commands: c.commands(), Lead: leadOf(c.answer),
	}
	if c.answer.State == rundir.Running {
		d.Planned = max(m.Experiment.Planned(m.Skipped), c.answer.Trials)
	}
	if d.Trials, err = pack(c.listTrials(d.Quantities)); err != nil {
		return Data{}, err
	}
	if d.Curves, err = pack(c.curves()); err != nil {
		return Data{}, err
	}
	if d.Courses, err = pack(c.courses()); err != nil {
		return Data{}, err
	}
	if d.Records, err = c.records(); err != nil {
		return Data{}, err
	}
	if n := len(c.answer.Differs) - maxDiffers; n > 0 {
		c.note("%d differences between hosts are not on the page: report -f json lists all", n)
	}
	d.Notes = c.notes
	if d.Notes == nil {
		d.Notes = []string{}
	}
	return d, nil
}

// leadOf is the index of the finding that the headline tells; nil for none.
func leadOf(a answer.Answer) *int {
	if i := answer.Lead(a); i >= 0 {
		return &i
	}
	return nil
}

// stamp writes a time in RFC 3339; the zero time is empty.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// clip cuts a text to maxText.
func clip(s string) string { return clipTo(s, maxText) }

func clipTo(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "\uFFFD") + fmt.Sprintf(" ... (%d bytes more)", len(s)-most)
}

// clipped gives a copy of an answer in which no text is longer than maxText, the reasons of failures and the lists of
// what hosts and providers said are shorter, and the lists that JSON always has are not null. The copy is made from the
// answer's JSON, so that no text is forgotten.
func clipped(a answer.Answer) (c answer.Answer, err error) {
	a.Differs = a.Differs[:min(len(a.Differs), maxDiffers)]
	texts, err := documentOf(a)
	if err != nil {
		return c, err
	}
	data, err := json.Marshal(clipTexts(texts))
	if err != nil {
		return c, err
	}
	if err := json.Unmarshal(data, &c); err != nil {
		return c, err
	}
	c.Arms, c.Layers, c.Residual = listOf(c.Arms), listOf(c.Layers), listOf(c.Residual)
	c.Warnings, c.Findings, c.Comparisons = listOf(c.Warnings), listOf(c.Findings), listOf(c.Comparisons)
	if c.Failures != nil {
		for i := range c.Failures.Arms {
			c.Failures.Arms[i].Reason = clipTo(a.Failures.Arms[i].Reason, maxReason)
		}
	}
	for i := range c.ProviderAnswers {
		p := &c.ProviderAnswers[i].Provider
		p.Commands = p.Commands[:min(len(p.Commands), maxProviderList)]
		p.NetworkNodes = p.NetworkNodes[:min(len(p.NetworkNodes), maxProviderList)]
	}
	return c, nil
}

// documentOf gives a value as its JSON says it: objects, lists, texts, numbers as they are written.
func documentOf(of any) (document any, err error) {
	data, err := json.Marshal(of)
	if err != nil {
		return nil, err
	}
	return decoded(data)
}

func decoded(data []byte) (document any, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	err = d.Decode(&document)
	return document, err
}

// clipTexts clips all texts of a document, in place where it can.
func clipTexts(document any) any {
	switch v := document.(type) {
	case string:
		return clip(v)
	case []any:
		for i := range v {
			v[i] = clipTexts(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = clipTexts(v[key])
		}
	}
	return document
}

// listOf copies a list. A nil list becomes an empty one, so that JSON has [] and not null.
func listOf[T any](list []T) []T { return append([]T{}, list...) }

func (c *collector) listWorkloads() []Workload {
	workloads := []Workload{}
	for _, w := range c.experiment.Workloads {
		workloads = append(workloads, Workload{
			Name: w.Name, Tool: w.Tool, Mode: w.Mode, Description: describe(w),
			Skipped: clip(c.manifest.Skipped[w.Name]),
		})
	}
	return workloads
}

// describe writes a workload in words, with the background that runs beside it.
func describe(w experiment.Workload) string {
	words := []string{strings.TrimSpace(strings.Join([]string{w.Tool, w.Mode, w.Protocol}, " "))}
	if w.Command != nil {
		words[0] = "program " + clip(experiment.Program(w.Command.Client))
	}
	add := func(given bool, text string) {
		if given {
			words = append(words, text)
		}
	}
	add(w.Request > 0, "request "+experiment.FormatSize(w.Request))
	add(w.Response > 0, "response "+experiment.FormatSize(w.Response))
	add(w.Message > 0, "messages of "+experiment.FormatSize(w.Message))
	add(w.OfferedRate > 0, "offered "+experiment.FormatPerSecond(w.OfferedRate))
	add(w.Rate > 0, "offered "+experiment.FormatRate(w.Rate))
	for _, s := range w.Steps {
		words = append(words, s.String())
	}
	add(w.Arrivals != "", w.Arrivals+" arrivals")
	add(w.Connections > 1, fmt.Sprintf("%d connections", w.Connections))
	add(w.Direction != "", w.Direction)
	add(w.Wait != "", "wait "+w.Wait)
	add(w.Duration > 0, experiment.FormatDuration(w.Duration)+" a trial")
	add(w.Warmup > 0, experiment.FormatDuration(w.Warmup)+" warm-up")
	add(w.Placement.Kind != "", "placement "+w.Placement.Kind)
	text := strings.Join(words, ", ")
	if w.Background != nil {
		text += "; beside it " + describe(*w.Background)
	}
	return text
}

// quantities lists the quantities for which the answer has figures.
func (c *collector) quantities() []Quantity {
	return quantitiesOf(c.answer, func(workload string) (int, bool) {
		i, known := c.workloads[workload]
		return i, known
	})
}

// listTrials gives the trials in short form.
func (c *collector) listTrials(quantities []Quantity) []Trial {
	var first time.Time
	for _, t := range c.trials {
		if !t.Started.IsZero() && (first.IsZero() || t.Started.Before(first)) {
			first = t.Started
		}
	}
	all := []Trial{}
	for _, t := range c.trials {
		short := Trial{
			Trial: t.Trial, Block: t.Block, Arm: c.arms[t.Arm], Workload: c.workloads[t.Workload],
			Values: []*float64{}, Started: -1, Unproved: outcomeOf(*t),
		}
		if !t.Started.IsZero() {
			short.Started = t.Started.Sub(first).Seconds()
		}
		if t.Error != "" {
			short.Error = clipTo(t.Error, maxReason)
		}
		for _, q := range quantities {
			if q.Workload != short.Workload {
				continue
			}
			var value *float64
			if v, ok := q.Of(*t); ok && t.Error == "" {
				value = &v
			}
			short.Values = append(short.Values, value)
		}
		all = append(all, short)
	}
	return all
}

// loads finds the workloads that differ only in the offered rate.
func (c *collector) loads() []Load {
	type sweep struct {
		first experiment.Workload
		load  *Load
	}
	var order []sweep
	for i, w := range c.experiment.Workloads {
		if !experiment.Offers(w.Mode) || w.OfferedRate <= 0 || c.manifest.Skipped[w.Name] != "" {
			continue
		}
		at := slices.IndexFunc(order, func(s sweep) bool { return s.first.SameButRate(w) })
		if at < 0 {
			rest := w
			rest.OfferedRate = 0
			order, at = append(order, sweep{w, &Load{Description: describe(rest)}}), len(order)
		}
		order[at].load.Rates = append(order[at].load.Rates, LoadPoint{Workload: i, Offered: w.OfferedRate})
	}
	loads := []Load{}
	for _, s := range order {
		load := s.load
		slices.SortStableFunc(load.Rates, func(a, b LoadPoint) int { return cmp.Compare(a.Offered, b.Offered) })
		if len(load.Rates) > 1 && load.Rates[0].Offered < load.Rates[len(load.Rates)-1].Offered {
			loads = append(loads, *load)
		}
	}
	return loads
}
