package runner

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// A readback says which of a trial's facts show the effect of a key that the kernel or the host may ignore.
type readback struct {
	key string
	// asked is the value in the experiment; empty if there is none.
	asked string
	// facts are the names of the facts that show it. Each may also stand with the prefix "server.".
	facts []string
	// holds says whether a fact's value satisfies the request; nil if the two must be equal.
	holds func(fact string) bool
}

// readbacks lists the keys of a workload that the kernel or the host may ignore.
func readbacks(w experiment.Workload) []readback {
	all := []readback{
		{key: "congestion", asked: w.Congestion, facts: []string{"tcp_congestion", "congestion_control"}},
	}
	if w.IP != 0 {
		all = append(all, readback{key: "ip", asked: strconv.Itoa(w.IP), facts: []string{"ip"}})
	}
	if w.NoDelay != nil {
		all = append(all, readback{key: "nodelay", asked: strconv.FormatBool(*w.NoDelay),
			facts: []string{"tcp_nodelay"}})
	}
	if w.DSCP != 0 {
		all = append(all, readback{key: "dscp", asked: strconv.Itoa(w.DSCP), facts: []string{"dscp"}})
	}
	// A load has many sockets: it waits in epoll even if it is told to block.
	if w.Wait != "" && (w.Mode != experiment.Load || w.Wait != experiment.WaitBlock) {
		all = append(all, readback{key: "wait", asked: w.Wait, facts: []string{"wait"}})
	}
	for _, b := range []struct {
		key, fact string
		bytes     int
	}{{"send_buffer", "so_sndbuf", w.SendBuffer}, {"receive_buffer", "so_rcvbuf", w.ReceiveBuffer}} {
		if b.bytes > 0 {
			holds := func(fact string) bool {
				got, err := strconv.Atoi(fact)
				return err == nil && got >= b.bytes // Linux doubles the size, for its own bookkeeping
			}
			asked := experiment.FormatSize(b.bytes)
			all = append(all, readback{key: b.key, asked: asked, facts: []string{b.fact}, holds: holds})
		}
	}
	return slices.DeleteFunc(all, func(r readback) bool { return r.asked == "" })
}

// treatment compares what a workload asks the kernel for with the trial's facts. proof names the facts by key. refuted
// says which fact contradicts the workload; "" if none does.
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
					return proof, fmt.Sprintf("%s %s was asked for, and %s had %s (%s)", r.key, r.asked, who, got,
						side+name)
				default:
					proof[r.key] = strings.TrimPrefix(proof[r.key]+", "+side+name+" "+got, ", ")
				}
			}
		}
	}
	// napi_id 0 means that the socket had no device queue (NAPI): the kernel did not poll, it slept as usual.
	if w.Wait == experiment.WaitBusyPoll && (facts["napi_id"] == "0" || facts["server.napi_id"] == "0") {
		delete(proof, "wait")
	}
	// The kernel may copy the data despite the request. These facts prove that it did not.
	if w.ZeroCopy && facts["zerocopy_copied"] == "0" && facts["zerocopy_sends"] != "0" {
		proof["zerocopy"] = "zerocopy_copied 0"
	}
	return proof, ""
}

// prove writes the proofs into the trial. A trial that they refute has failed: it did not measure its arm.
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
