package experiment

import (
	"fmt"
	"slices"
)

// InsideSuffix ends the name of a watched twin.
const InsideSuffix = "-inside"

// Watched gives the watched twin of a workload.
func (w Workload) Watched() Workload {
	w.Inside, w.InsideOf, w.Name = true, w.Name, w.Name+InsideSuffix
	return w
}

// AddTwin adds the watched twin of a workload to what the arm sets.
func (a *Arm) AddTwin(plain, twin string) {
	for i, s := range a.Set {
		if at := slices.Index(s.Workloads, plain); at >= 0 {
			a.Set[i].Workloads = slices.Insert(slices.Clone(s.Workloads), at+1, twin)
		}
	}
	at := slices.IndexFunc(a.Workloads, func(w Workload) bool { return w.Name == plain })
	if at < 0 {
		return
	}
	a.Workloads = slices.Clone(a.Workloads)
	a.Workloads[at].Inside = false
	a.Workloads = slices.Insert(a.Workloads, at+1, a.Workloads[at].Watched())
}

// checkTwin checks that a watched workload is the twin of another one.
func (e *Experiment) checkTwin(c *Checker, w Workload) {
	if !w.Inside && w.InsideOf == "" {
		return
	}
	plain, ok := e.Workload(w.InsideOf)
	if !w.Inside || !ok || plain.Inside || w.Name != plain.Name+InsideSuffix {
		c.wrong(AtValue("inside_of"), "", "workload %s is not the watched one of %s", quote(w.Name), quote(w.InsideOf))
	}
}

// Twin finds the watched twin of a workload.
func (e *Experiment) Twin(workload string) (Workload, bool) {
	i := slices.IndexFunc(e.Workloads, func(w Workload) bool { return w.Inside && w.InsideOf == workload })
	if i < 0 {
		return Workload{}, false
	}
	return e.Workloads[i], true
}

// IsTwin says whether a workload is a watched twin.
func (e *Experiment) IsTwin(workload string) bool {
	w, ok := e.Workload(workload)
	return ok && w.Inside
}

// Unwatched gives the experiment without watched twins: that from which figures and verdicts come. It is e itself if
// there are none.
func (e *Experiment) Unwatched() *Experiment {
	watched := func(w Workload) bool { return w.Inside }
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
	if e.Unwatched() != e {
		return e, nil
	}
	for i, w := range e.Workloads {
		if !e.watchable(w.Name, tools) {
			continue
		}
		out, twin := *e, w.Watched()
		out.Workloads = slices.Insert(slices.Clone(e.Workloads), i+1, twin)
		out.Arms = slices.Clone(e.Arms)
		for j := range out.Arms {
			out.Arms[j].Set = slices.Clone(out.Arms[j].Set)
			out.Arms[j].AddTwin(w.Name, twin.Name)
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
