package runner

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"nearfar/internal/experiment"
	"nearfar/internal/result"
)

// A readback says where a trial's facts show what was made of a key whose effect the kernel or the host decides.
type readback struct {
	key string
	// asked is the value that was asked for; empty where none was.
	asked string
	// facts are the names of the facts that show it, each also with "server." before it.
	facts []string
	// holds says whether a fact's value is what was asked for; nil where it must be equal.
	holds func(fact string) bool
}

// readbacks lists what a workload asks the kernel for.
func readbacks(w experiment.Workload) []readback {
	all := []readback{
		{key: "congestion", asked: w.Congestion, facts: []string{"tcp_congestion", "congestion_control"}},
	}
	if w.IP != 0 {
		all = append(all, readback{key: "ip", asked: strconv.Itoa(w.IP), facts: []string{"ip"}})
	}
	if w.NoDelay != nil {
		all = append(all, readback{key: "nodelay", asked: strconv.FormatBool(*w.NoDelay), facts: []string{"tcp_nodelay"}})
	}
	if w.DSCP != 0 {
		all = append(all, readback{key: "dscp", asked: strconv.Itoa(w.DSCP), facts: []string{"dscp"}})
	}
	// A load waits in epoll for its many sockets also where it is told to block.
	if w.Wait != "" && (w.Mode != experiment.Load || w.Wait != experiment.WaitBlock) {
		all = append(all, readback{key: "wait", asked: w.Wait, facts: []string{"wait"}})
	}
	for _, b := range []struct {
		key, fact string
		bytes     int
	}{{"send_buffer", "so_sndbuf", w.SendBuffer}, {"receive_buffer", "so_rcvbuf", w.ReceiveBuffer}} {
		if b.bytes > 0 {
			all = append(all, readback{key: b.key, asked: experiment.FormatSize(b.bytes), facts: []string{b.fact}, holds: func(fact string) bool {
				got, err := strconv.Atoi(fact)
				return err == nil && got >= b.bytes // Linux gives twice as much, for its own use
			}})
		}
	}
	return slices.DeleteFunc(all, func(r readback) bool { return r.asked == "" })
}

// treatment sets what was asked of the kernel beside what the trial's facts say that it did. The result is the proof
// by key; the second is why the trial is not what it was to be, or "".
func treatment(w experiment.Workload, facts map[string]string) (proof map[string]string, refuted string) {
	proof = map[string]string{}
	for _, r := range readbacks(w) {
		for _, side := range []string{"", "server."} {
			for _, name := range r.facts {
				got := facts[side+name]
				switch {
				case got == "":
				case r.holds == nil && got != r.asked, r.holds != nil && !r.holds(got):
					who := "the client"
					if side != "" {
						who = "the server"
					}
					return proof, fmt.Sprintf("%s %s was asked for, and %s had %s (%s)", r.key, r.asked, who, got, side+name)
				default:
					proof[r.key] = strings.TrimPrefix(proof[r.key]+", "+side+name+" "+got, ", ")
				}
			}
		}
	}
	// No device queue takes part, so that the kernel slept as ever.
	if w.Wait == experiment.WaitBusyPoll && (facts["napi_id"] == "0" || facts["server.napi_id"] == "0") {
		delete(proof, "wait")
	}
	// Where data were copied all the same, the kernel did not what it was asked for.
	if w.ZeroCopy && facts["zerocopy_copied"] == "0" && facts["zerocopy_sends"] != "0" {
		proof["zerocopy"] = "zerocopy_copied 0"
	}
	return proof, ""
}

// prove keeps in the trial what was set and what proves it. A trial whose kernel did something else has failed: it
// would be counted for an arm that it is not of.
func prove(trial *result.Trial, w experiment.Workload) {
	proof, refuted := treatment(w, trial.Facts)
	maps.Copy(trial.Treatment, proof)
	if kind := trial.Facts["placement"]; kind != "" {
		trial.Treatment["placement"] = fmt.Sprintf("%s: client on CPU %s, server on CPU %s", kind,
			trial.Facts["placement.client.cpus"], trial.Facts["placement.server.cpus"])
	}
	if refuted != "" && trial.Error == "" {
		trial.Error = "not what was declared: " + refuted
	}
}
