package serve

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/rundir"
)

// maxPoints is how many runs a history has at most.
const maxPoints = 500

// historyQuery says which figure a history is about.
type historyQuery struct {
	experiment, workload, arm string
	metric, stat, scope       string
}

func readHistoryQuery(r *http.Request) historyQuery {
	q := r.URL.Query()
	return historyQuery{
		experiment: q.Get("experiment"), workload: q.Get("workload"), arm: q.Get("arm"),
		metric: q.Get("metric"), stat: q.Get("stat"), scope: q.Get("scope"),
	}
}

// matches reports whether the query is about the figure.
func (q historyQuery) matches(f figures.Figure) bool {
	return f.Workload == q.workload && f.Arm == q.arm && f.Metric == q.metric && f.Stat == q.stat && f.Scope == q.scope
}

// History is one figure over the runs of an experiment, oldest first, with the figures that can be queried.
type History struct {
	Nearfar    string `json:"nearfar"`
	Experiment string `json:"experiment"`
	// Choices are the figures that the runs have.
	Choices []Choice `json:"choices"`
	// Points are the values of the figure; empty if the query names none.
	Points []Point `json:"points"`
	// Broken are the runs that have no figures because of an error. OlderLeftOut is how many older runs were left out.
	Broken       []BrokenRun `json:"broken"`
	OlderLeftOut int         `json:"older_left_out"`
}

// Choice is one quantity of one workload, and the arms that have it.
type Choice struct {
	Workload string `json:"workload"`
	figures.Quantity
	Arms []string `json:"arms"`
}

// BrokenRun is a run that has no figures, with the reason.
type BrokenRun struct {
	ID    string `json:"id"`
	Path  string `json:"path"`
	Error string `json:"error"`
}

// Point is the value of the figure in one run.
type Point struct {
	ID       string           `json:"id"`
	Path     string           `json:"path"`
	Started  time.Time        `json:"started,omitzero"`
	State    string           `json:"state"`
	Unit     string           `json:"unit"`
	Median   float64          `json:"median"`
	Interval figures.Interval `json:"interval"`
	Trials   int              `json:"trials"`
	// Series is the same for runs with equal declarations of the workload and the arm: only these are comparable. The
	// newest run is in series 0. Differs lists how another series differs from it.
	Series  int      `json:"series"`
	Differs []string `json:"differs"`
	// Versions names the versions of nearfar and of the workload's tool.
	Versions string `json:"versions"`
}

// kept are the figures of a run and the summary of its answer. They are kept until the run's files change.
type kept struct {
	stamp   stamp
	all     []figures.Figure
	summary Summary
	err     error
}

// history returns the history that the query asks for.
func (f *Folder) history(q historyQuery) (History, error) {
	h := History{Nearfar: "v1", Experiment: q.experiment, Choices: []Choice{}, Points: []Point{}, Broken: []BrokenRun{}}
	runs, err := f.ofExperiment(q.experiment)
	if err != nil {
		return h, err
	}
	if len(runs) > maxPoints {
		h.OlderLeftOut = len(runs) - maxPoints
		runs = runs[h.OlderLeftOut:]
	}
	f.forgetRemoved()
	declared := &declarations{}
	for _, k := range slices.Backward(runs) { // the newest first: the others are compared with it
		of := f.figuresOf(k.place)
		if of.err != nil {
			h.Broken = append(h.Broken, BrokenRun{ID: k.place.id, Path: k.place.path, Error: clip(of.err.Error())})
			continue
		}
		for _, figure := range of.all {
			h.addChoice(figure)
			if !q.matches(figure) {
				continue
			}
			p := Point{
				ID: k.place.id, Path: k.place.path, Started: k.manifest.Started, State: clip(k.manifest.State),
				Unit: figure.Unit, Median: figure.Median, Interval: figure.Interval, Trials: figure.Trials,
				Versions: versions(k.manifest, q.workload),
			}
			p.Series, p.Differs = declared.add(k.manifest.Experiment, q.workload, q.arm)
			h.Points = append(h.Points, p)
		}
	}
	slices.Reverse(h.Points)
	return h, nil
}

// addChoice adds the figure's workload, quantity and arm to the choices.
func (h *History) addChoice(f figures.Figure) {
	same := func(c Choice) bool { return c.Workload == f.Workload && c.Quantity == f.Quantity }
	i := slices.IndexFunc(h.Choices, same)
	if i < 0 {
		h.Choices = append(h.Choices, Choice{Workload: f.Workload, Quantity: f.Quantity, Arms: []string{}})
		i = len(h.Choices) - 1
	}
	if !slices.Contains(h.Choices[i].Arms, f.Arm) {
		h.Choices[i].Arms = append(h.Choices[i].Arms, f.Arm)
	}
}

// ofExperiment returns the readable runs of an experiment, oldest first.
func (f *Folder) ofExperiment(name string) ([]known, error) {
	if _, err := f.list(); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var runs []known
	for _, k := range f.runs {
		if k.manifest != nil && k.manifest.Experiment.Name == name {
			runs = append(runs, *k)
		}
	}
	slices.SortFunc(runs, func(a, b known) int {
		return cmp.Or(a.run.when().Compare(b.run.when()), strings.Compare(a.place.path, b.place.path))
	})
	return runs, nil
}

// forgetRemoved drops the figures of runs that no longer exist.
func (f *Folder) forgetRemoved() {
	f.work.Lock()
	defer f.work.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	maps.DeleteFunc(f.figures, func(id string, _ kept) bool { return f.runs[id] == nil })
}

// figuresOf returns the figures of a run. It makes them anew only if the run's files have changed.
func (f *Folder) figuresOf(p place) kept {
	f.work.Lock()
	defer f.work.Unlock()
	now := look(f.root, p.path)
	if had, ok := f.figures[p.id]; ok && had.stamp == now.stamp {
		return had
	}
	of := kept{stamp: now.stamp, err: cmp.Or(now.broken, safe(f.root, p.path))}
	if of.err == nil {
		var a answer.Answer
		a, of.err = f.source.Answer(filepathOf(f.path, p.path))
		of.all, of.summary = a.Arms, summarize(a)
	}
	f.figures[p.id] = of
	return of
}

// versions names the versions of nearfar and of the workload's tool.
func versions(m *rundir.Manifest, workload string) string {
	text := "nearfar " + cmp.Or(m.Versions["nearfar"], "unknown")
	if w, ok := m.Experiment.Workload(workload); ok && w.Tool != "native" {
		text += ", " + w.Tool + " " + cmp.Or(m.Versions[w.Tool], "unknown")
	}
	return clip(text)
}
