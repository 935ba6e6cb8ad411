package experiment

import (
	"fmt"
	"slices"
)

// InsideSuffix ends the name of a watched twin, and CaptureSuffix that of a captured one.
const (
	InsideSuffix  = "-inside"
	CaptureSuffix = "-capture"
)

// A Twin is a kind of twin: a workload that is another one once more, while something looks at it. Looking costs time,
// so that no figure comes from twins, and nothing else looks at the same time.
type Twin struct {
	// Key is the key of a workload that asks for it, and Word says what is done to it.
	Key, Word string
	suffix    string
	asked     func(w *Workload) *bool
	of        func(w *Workload) *string
}

// Twins are the kinds of twins, in the order in which they follow their workload.
func Twins() []Twin {
	return []Twin{
		{
			"inside", "watched", InsideSuffix,
			func(w *Workload) *bool { return &w.Inside }, func(w *Workload) *string { return &w.InsideOf },
		},
		{
			"capture", "captured", CaptureSuffix,
			func(w *Workload) *bool { return &w.Capture }, func(w *Workload) *string { return &w.CaptureOf },
		},
	}
}

// watching and capturing are the kinds.
func watching() Twin  { return Twins()[0] }
func capturing() Twin { return Twins()[1] }

// LongestName is how long the name of a workload with such a twin is at most.
func (t Twin) LongestName() int { return MaxName - len(t.suffix) }

// Asked says whether a workload of a file asks for such a twin.
func (t Twin) Asked(w Workload) bool { return *t.asked(&w) }

// Make gives the twin of a workload.
func (t Twin) Make(w Workload) Workload {
	w = w.Plain()
	*t.asked(&w), *t.of(&w), w.Name = true, w.Name, w.Name+t.suffix
	return w
}

// Plain gives the workload without what asks for twins.
func (w Workload) Plain() Workload {
	for _, t := range Twins() {
		*t.asked(&w) = false
	}
	return w
}

// unfollowed says why round trips of a mode cannot be followed inside the path: one packet at a time is (ADR 0152).
func unfollowed(c ToolCapability) string {
	switch c.Mode {
	case Load:
		return "its requests overlap, and one packet at a time is followed"
	case Stream, Messages:
		return "nothing answers its packets, so that there are no round trips"
	case CRR:
		return "each of its transactions is many packets, and one at a time is followed"
	case HTTP:
		return "its responses can be many packets, and one at a time is followed"
	}
	return ""
}

// isTwin says whether the workload of a whole experiment is a twin.
func (w Workload) isTwin() bool { return w.Inside || w.Capture }

// AddTwin adds the twin of a workload to what the arm sets, directly behind the workload.
func (a *Arm) AddTwin(plain string, t Twin) {
	for i, s := range a.Set {
		if at := slices.Index(s.Workloads, plain); at >= 0 {
			a.Set[i].Workloads = slices.Insert(slices.Clone(s.Workloads), at+1, plain+t.suffix)
		}
	}
	at := slices.IndexFunc(a.Workloads, func(w Workload) bool { return w.Name == plain })
	if at < 0 {
		return
	}
	a.Workloads = slices.Clone(a.Workloads)
	a.Workloads[at] = a.Workloads[at].Plain()
	a.Workloads = slices.Insert(a.Workloads, at+1, t.Make(a.Workloads[at]))
}

// checkTwin checks that a watched or captured workload is the twin of another one.
func (e *Experiment) checkTwin(c *Checker, w Workload) {
	for _, t := range Twins() {
		asked, of := *t.asked(&w), *t.of(&w)
		if !asked && of == "" {
			continue
		}
		plain, ok := e.Workload(of)
		if !asked || !ok || plain.isTwin() || w.Name != plain.Name+t.suffix {
			c.wrong(AtValue(t.Key+"_of"), "", "workload %s is not the %s one of %s", quote(w.Name), t.Word, quote(of))
		}
	}
}

// Twin finds the watched twin of a workload.
func (e *Experiment) Twin(workload string) (Workload, bool) { return e.twin(workload, watching()) }

// CapturedTwin finds the captured twin of a workload.
func (e *Experiment) CapturedTwin(workload string) (Workload, bool) {
	return e.twin(workload, capturing())
}

func (e *Experiment) twin(workload string, t Twin) (Workload, bool) {
	i := slices.IndexFunc(e.Workloads, func(w Workload) bool { return *t.asked(&w) && *t.of(&w) == workload })
	if i < 0 {
		return Workload{}, false
	}
	return e.Workloads[i], true
}

// IsTwin says whether a workload is a twin.
func (e *Experiment) IsTwin(workload string) bool {
	w, ok := e.Workload(workload)
	return ok && w.isTwin()
}

// Unwatched gives the experiment without twins: that from which figures and verdicts come. It is e itself if there are
// none.
func (e *Experiment) Unwatched() *Experiment {
	watched := Workload.isTwin
	if !slices.ContainsFunc(e.Workloads, watched) {
		return e
	}
	out := *e
	out.Workloads = slices.DeleteFunc(slices.Clone(e.Workloads), watched)
	out.Arms = slices.Clone(e.Arms)
	for i := range out.Arms {
		a := &out.Arms[i]
		a.Workloads = slices.DeleteFunc(slices.Clone(a.Workloads), watched)
		a.Set = slices.Clone(a.Set)
		for j := range a.Set {
			a.Set[j].Workloads = slices.DeleteFunc(slices.Clone(a.Set[j].Workloads), e.IsTwin)
		}
	}
	return &out
}

// WatchFirst gives the experiment with a watched twin of its first workload that can have one, in all arms; e itself if
// it has a twin already.
func (e *Experiment) WatchFirst(tools Tools) (*Experiment, error) {
	if slices.ContainsFunc(e.Workloads, func(w Workload) bool { return w.Inside }) {
		return e, nil
	}
	for i, w := range e.Workloads {
		if w.isTwin() || !e.watchable(w.Name, tools) {
			continue
		}
		out := *e
		out.Workloads = slices.Insert(slices.Clone(e.Workloads), i+1, watching().Make(w))
		out.Arms = slices.Clone(e.Arms)
		for j := range out.Arms {
			out.Arms[j].Set = slices.Clone(out.Arms[j].Set)
			out.Arms[j].AddTwin(w.Name, watching())
		}
		return &out, out.CheckRunnable(tools)
	}
	return nil, fmt.Errorf("no workload can be watched: it takes %s", tools.WhoTakes("inside"))
}

// watchable says whether a workload can be watched as every arm runs it.
func (e *Experiment) watchable(workload string, tools Tools) bool {
	for _, a := range e.Arms {
		w, _ := e.WorkloadIn(a.Name, workload)
		can, ok := tools.Find(w.Tool, w.Mode, w.Protocol)
		if !ok || !can.Accepts("inside") {
			return false
		}
	}
	return true
}
