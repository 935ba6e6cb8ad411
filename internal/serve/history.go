package serve

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"nearfar/internal/answer"
	"nearfar/internal/rundir"
)

// maxPoints is how many runs a history goes back.
const maxPoints = 500

// asked is which figure a history is asked of.
type asked struct {
	experiment, workload, arm string
	metric, stat, scope       string
}

func question(r *http.Request) asked {
	q := r.URL.Query()
	return asked{
		experiment: q.Get("experiment"), workload: q.Get("workload"), arm: q.Get("arm"),
		metric: q.Get("metric"), stat: q.Get("stat"), scope: q.Get("scope"),
	}
}

// of says whether the figure is the one that is asked of.
func (a asked) of(f answer.Figure) bool {
	return f.Workload == a.workload && f.Arm == a.arm && f.Metric == a.metric && f.Stat == a.stat && f.Scope == a.scope
}

// History is one figure over the runs of an experiment, oldest first, with what else could be asked.
type History struct {
	Nearfar    string `json:"nearfar"`
	Experiment string `json:"experiment"`
	// Choices are the figures that the runs have.
	Choices []Choice `json:"choices"`
	// Points are of the figure that was asked of; empty where none was.
	Points []Point `json:"points"`
	// Broken are the runs that have no figures for an error, OlderLeftOut how many runs are further back than the history goes.
	Broken       []BrokenRun `json:"broken"`
	OlderLeftOut int         `json:"older_left_out"`
}

// Choice is one quantity of one workload, and the arms that have it.
type Choice struct {
	Workload string `json:"workload"`
	answer.Quantity
	Arms []string `json:"arms"`
}

// BrokenRun is a run that has no figures, with the reason.
type BrokenRun struct {
	ID    string `json:"id"`
	Path  string `json:"path"`
	Error string `json:"error"`
}

// Point is the figure in one run.
type Point struct {
	ID       string          `json:"id"`
	Path     string          `json:"path"`
	Started  time.Time       `json:"started,omitzero"`
	State    string          `json:"state"`
	Unit     string          `json:"unit"`
	Median   float64         `json:"median"`
	Interval answer.Interval `json:"interval"`
	Trials   int             `json:"trials"`
	// Series is the same for runs that declare workload and arm alike: only these may be set beside each other. 0 is that of the
	// newest run; Differs says what another declares otherwise.
	Series  int      `json:"series"`
	Differs []string `json:"differs"`
	// Versions are those of nearfar and of the workload's tool.
	Versions string `json:"versions"`
}

// figures are those of a run, with what the list says of its answer, kept as long as its files stay the same.
type figures struct {
	stamp   stamp
	all     []answer.Figure
	summary Summary
	err     error
}

// history gives the history of the figure that is asked of.
func (f *Folder) history(a asked) (History, error) {
	h := History{Nearfar: "v1", Experiment: a.experiment, Choices: []Choice{}, Points: []Point{}, Broken: []BrokenRun{}}
	runs, err := f.ofExperiment(a.experiment)
	if err != nil {
		return h, err
	}
	if len(runs) > maxPoints {
		h.OlderLeftOut = len(runs) - maxPoints
		runs = runs[h.OlderLeftOut:]
	}
	f.forget()
	declared := newDeclarations()
	for _, k := range slices.Backward(runs) { // the newest first: the others are set against it
		of := f.figuresOf(k.place)
		if of.err != nil {
			h.Broken = append(h.Broken, BrokenRun{ID: k.place.id, Path: k.place.path, Error: clip(of.err.Error())})
			continue
		}
		for _, figure := range of.all {
			h.choose(figure)
			if !a.of(figure) {
				continue
			}
			p := Point{
				ID: k.place.id, Path: k.place.path, Started: k.manifest.Started, State: clip(k.manifest.State),
				Unit: figure.Unit, Median: figure.Median, Interval: figure.Interval, Trials: figure.Trials,
				Versions: versions(k.manifest, a.workload),
			}
			p.Series, p.Differs = declared.add(k.manifest.Experiment, a.workload, a.arm)
			h.Points = append(h.Points, p)
		}
	}
	slices.Reverse(h.Points)
	return h, nil
}

// choose adds what the figure is of to the choices.
func (h *History) choose(f answer.Figure) {
	i := slices.IndexFunc(h.Choices, func(c Choice) bool { return c.Workload == f.Workload && c.Quantity == f.Quantity })
	if i < 0 {
		h.Choices = append(h.Choices, Choice{Workload: f.Workload, Quantity: f.Quantity, Arms: []string{}})
		i = len(h.Choices) - 1
	}
	if !slices.Contains(h.Choices[i].Arms, f.Arm) {
		h.Choices[i].Arms = append(h.Choices[i].Arms, f.Arm)
	}
}

// ofExperiment gives the runs of that name that can be read, oldest first.
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

// forget drops the figures of runs that are there no more.
func (f *Folder) forget() {
	f.work.Lock()
	defer f.work.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	maps.DeleteFunc(f.figures, func(id string, _ figures) bool { return f.runs[id] == nil })
}

// figuresOf makes the figures of a run, or gives those that were made of the same files.
func (f *Folder) figuresOf(p place) figures {
	f.work.Lock()
	defer f.work.Unlock()
	now := look(f.root, p.path)
	if had, ok := f.figures[p.id]; ok && had.stamp == now.stamp {
		return had
	}
	of := figures{stamp: now.stamp, err: cmp.Or(now.broken, safe(f.root, p.path))}
	if of.err == nil {
		var a answer.Answer
		a, of.err = f.source.Answer(filepathOf(f.path, p.path))
		of.all, of.summary = a.Arms, summarize(a)
	}
	f.figures[p.id] = of
	return of
}

// versions says what measured: nearfar and the workload's tool.
func versions(m *rundir.Manifest, workload string) string {
	text := "nearfar " + cmp.Or(m.Versions["nearfar"], "unknown")
	if w, ok := m.Experiment.Workload(workload); ok && w.Tool != "native" {
		text += ", " + w.Tool + " " + cmp.Or(m.Versions[w.Tool], "unknown")
	}
	return clip(text)
}
