package lab

import (
	"context"
	"errors"
	"slices"

	"nearfar/internal/onhost/host"
)

// The names of an arm's two hosts.
const (
	clientSpace = "client"
	serverSpace = "server"
)

// Watch begins to observe which programs use the CPUs (nil for any) during a trial of the arm; end ends the observation
// and gives the result. Both read a dozen small files, before the trial's first process and after its last one; nothing
// is read in between. The result says which values the lab and the kernel do not give.
func (l *Lab) Watch(arm string, client, server []int) (end func() host.Contention) {
	cpus := l.trialCPUs(client, server)
	threads, err := l.lookAt(arm)
	if err != nil {
		return func() host.Contention { return host.Contention{} }
	}
	all := l.Facts().CPUs
	before := l.reader.Read(cpus, all)
	return func() host.Contention {
		after := l.reader.Read(cpus, all)
		seen, err := l.lookAt(arm)
		if err != nil || before.Err != nil || after.Err != nil {
			return host.Contention{}
		}
		w := watched{
			cpus: cpus, client: client, server: server, all: all, fresh: l.Facts().FreshProc, before: before,
			after: after,
			ended: seen.Ended, wires: seen.Wires, threads: threadsSince(threads.Threads, seen.Threads),
		}
		return w.contention()
	}
}

// trialCPUs are the CPUs that the two sides of a trial may use, in ascending order.
func (l *Lab) trialCPUs(client, server []int) []int {
	if len(client) == 0 || len(server) == 0 {
		return l.Facts().CPUs
	}
	cpus := slices.Concat(client, server)
	slices.Sort(cpus)
	return slices.Compact(cpus)
}

func (l *Lab) lookAt(arm string) (look, error) {
	r, err := l.call(context.Background(), request{Op: opLook, Arm: arm})
	if err != nil {
		return look{}, err
	}
	if r.Look == nil {
		return look{}, errors.New("a look without its answer")
	}
	return *r.Look, nil
}

// threadsSince is the CPU time that the threads used between two looks, without threads that ended in between.
func threadsSince(before, after []threadUse) []threadUse {
	for i := range after {
		for _, b := range before {
			if b.TID == after[i].TID && b.Ran <= after[i].Ran && b.Delay <= after[i].Delay {
				after[i].Ran -= b.Ran
				after[i].Delay -= b.Delay
			}
		}
	}
	return after
}
