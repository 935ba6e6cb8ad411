package main

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/measure/tool"
	"nearfar/internal/onhost/host"
)

// pingPong is sockperf with the window of the native engine. sockperf cuts its warm-up and its end out of whole seconds
// (sockperfCut), so that a window of whole seconds takes one second more. Here the whole run has whole seconds.
type pingPong struct{ *tool.Sockperf }

// Plan takes a window that is sockperfCut shorter than whole seconds.
func (t pingPong) Plan(w experiment.Workload, pair host.Pair) (tool.Plan, error) {
	w.Warmup, w.Duration = 0, w.Duration+sockperfCut
	p, err := t.Sockperf.Plan(w, pair)
	if err != nil {
		return p, err
	}
	argv := slices.Clone(p.Client.Argv)
	at := slices.Index(argv, "-t")
	if at < 0 || at+1 >= len(argv) || argv[at+1] != strconv.Itoa(int(w.Duration/time.Second)+1) {
		return p, fmt.Errorf("workload %s: sockperf's command line has not the time that is shortened here: "+
			"%q", w.Name, argv)
	}
	argv[at+1] = strconv.Itoa(int(w.Duration / time.Second))
	p.Client.Argv = argv
	p.Expected -= time.Second
	return p, nil
}
