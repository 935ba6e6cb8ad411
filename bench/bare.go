package main

import (
	"fmt"
	"slices"

	"nearfar/internal/experiment"
	"nearfar/internal/host"
	"nearfar/internal/tool"
)

// bareSelectors are the values asked of netperf where only its rate counts. Any selector of a latency makes it time every
// transaction.
const bareSelectors = "THROUGHPUT,THROUGHPUT_UNITS,ELAPSED_TIME,PROTOCOL,DIRECTION,BURST_SIZE,TRANSACTION_RATE,REQUEST_SIZE,RESPONSE_SIZE"

// bare is netperf at its fastest: it times no transaction, as it does when run without options. The native engine times
// each.
type bare struct{ *tool.Netperf }

// Plan takes the statistics of latency out of the command line.
func (t bare) Plan(w experiment.Workload, server host.Endpoint) (tool.Plan, error) {
	p, err := t.Netperf.Plan(w, server)
	if err != nil {
		return p, err
	}
	argv := slices.DeleteFunc(slices.Clone(p.Client.Argv), func(word string) bool { return word == "-j" })
	at := slices.Index(argv, "-k")
	if at < 0 || at+1 >= len(argv) || len(argv) == len(p.Client.Argv) {
		return p, fmt.Errorf("workload %s: netperf's command line is not the one that is made bare here: %q", w.Name, p.Client.Argv)
	}
	argv[at+1] = bareSelectors
	p.Client.Argv = argv
	return p, nil
}
