package main

import (
	"fmt"
	"slices"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/measure/tool"
	"nearfar/internal/onhost/host"
)

// bareSelectors are the values that netperf prints if only its rate counts. Any latency selector makes it time every
// transaction.
const bareSelectors = "THROUGHPUT,THROUGHPUT_UNITS,ELAPSED_TIME,PROTOCOL,DIRECTION,BURST_SIZE,TRANSACTION_RATE," +
	"REQUEST_SIZE,RESPONSE_SIZE"

// bare is netperf at its fastest. It times no transaction, like netperf without options. The native engine times each.
type bare struct{ *tool.Netperf }

// Plan removes the latency statistics from the command line.
func (t bare) Plan(w experiment.Workload, pair host.Pair) (tool.Plan, error) {
	p, err := t.Netperf.Plan(w, pair)
	if err != nil {
		return p, err
	}
	argv := slices.DeleteFunc(slices.Clone(p.Client.Argv), func(word string) bool { return word == "-j" })
	at := slices.Index(argv, "-k")
	if at < 0 || at+1 >= len(argv) || len(argv) == len(p.Client.Argv) {
		return p, fmt.Errorf("workload %s: netperf's command line has no latency statistics to remove: %q",
			w.Name, p.Client.Argv)
	}
	argv[at+1] = bareSelectors
	p.Client.Argv = argv
	return p, nil
}
