package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"maps"
	mathrand "math/rand/v2"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/declare/rundir"
	"nearfar/internal/measure/runner"
	"nearfar/internal/measure/tool"
	"nearfar/internal/onhost/host"
)

const armName = "bridge"

// newTools lists the programs that the rows need, with the newest iperf3 if there is one. For bulk transfers their CPU
// time is measured too.
func newTools(newest tool.Tool) *tool.Registry {
	var secret [16]byte
	_, _ = rand.Read(secret[:]) // never fails
	native := tool.NewNative(hex.EncodeToString(secret[:]))
	all := []tool.Tool{metered{native}, pingPong{tool.NewSockperf()}, bare{tool.NewNetperf()}, metered{tool.NewIperf3()},
		floor{}, throughput{tool.NewSockperf()}, clockAlone{native}}
	if newest != nil {
		all = append(all, newest)
	}
	return tool.New(all...)
}

// A bench measures the groups, block after block.
type bench struct {
	options  options
	groups   []group
	runners  []*runner.Runner
	designs  []*experiment.Experiment
	record   *record
	moves    moves
	versions map[string]string
	newest   tool.Tool // nil for none
	progress func(format string, args ...any)
}

// record writes the trials of all groups to one run directory, numbered in the order of execution.
type record struct {
	*rundir.Dir
	trials trials
	count  int
	failed []string
}

// Append writes a trial to disk and keeps it in memory.
func (r *record) Append(t result.Trial) error {
	r.count++
	t.Trial = r.count
	if r.trials[t.Workload] == nil {
		r.trials[t.Workload] = map[int]result.Trial{}
	}
	r.trials[t.Workload][t.Block] = t
	if t.Error != "" {
		r.failed = append(r.failed, fmt.Sprintf("block %d, %s: %s", t.Block, t.Workload, t.Error))
	}
	return r.Dir.Append(t)
}

// prepare finds the tools for every group, before anything is measured. Each group is an experiment of its own, on the
// same hosts, so that its workloads run one after the other within a block.
func (b *bench) prepare(ctx context.Context, hosts map[string]host.Hosts) error {
	seeds := mathrand.New(mathrand.NewPCG(b.options.seed, 0))
	b.versions = map[string]string{}
	for _, g := range b.groups {
		design := b.design(g.Workloads, b.options.blocks, seeds.Uint64())
		r := runner.New(design, newTools(b.newest), hosts, runner.DefaultLimits(), nil)
		if err := r.Prepare(ctx); err != nil {
			return err
		}
		maps.Copy(b.versions, r.Versions())
		b.designs, b.runners = append(b.designs, design), append(b.runners, r)
	}
	return nil
}

// design is an experiment of one arm with one bridge.
func (b *bench) design(workloads []experiment.Workload, blocks int, seed uint64) *experiment.Experiment {
	return &experiment.Experiment{
		Name: "bench", Question: "How does the native engine compare with the field's tools?", Baseline: armName,
		Arms: []experiment.Arm{{
			Name: armName, Layers: map[string]int{experiment.Bridge: 1},
			Lab: &experiment.Lab{Path: []experiment.Element{{Kind: experiment.Bridge}}, MTU: 1500},
		}},
		Workloads: workloads, Schedule: experiment.Schedule{Blocks: blocks, Seed: seed},
	}
}

// all is the whole run as one experiment, for the run directory.
func (b *bench) all() *experiment.Experiment {
	var workloads []experiment.Workload
	for _, g := range b.groups {
		workloads = append(workloads, g.Workloads...)
	}
	return b.design(workloads, b.options.blocks, b.options.seed)
}

// run measures every group once in each block, in an order drawn from the seed.
func (b *bench) run(ctx context.Context) error {
	for block := 1; block <= b.options.blocks; block++ {
		order := mathrand.New(mathrand.NewPCG(b.options.seed, uint64(block))).Perm(len(b.groups))
		for _, i := range order {
			if err := b.measure(ctx, b.runners[i], b.groups[i], otherBlocks(b.designs[i], block)); err != nil {
				return err
			}
		}
	}
	return nil
}

// keep records a trial and prints its result.
func (b *bench) keep(t result.Trial) error {
	if err := b.record.Append(t); err != nil {
		return err
	}
	b.progress("block %d/%d  trial %d/%d  %s: %s", t.Block, b.options.blocks, b.record.count, b.total(), t.Workload,
		headline(b.groups, t))
	return nil
}

// otherBlocks lists the trials of all other blocks, so that the runner leaves them out.
func otherBlocks(e *experiment.Experiment, block int) []result.Trial {
	var done []result.Trial
	for _, slot := range e.Slots() {
		if slot.Block != block {
			done = append(done,
				result.Trial{Trial: slot.Trial, Block: slot.Block, Arm: slot.Arm, Workload: slot.Workload})
		}
	}
	return done
}

// total is how many trials the run has.
func (b *bench) total() (n int) {
	for _, g := range b.groups {
		n += len(g.Workloads) * b.options.blocks
	}
	return n
}

// headline writes the figures of a trial that appear in rows and checks.
func headline(groups []group, t result.Trial) string {
	if t.Error != "" {
		return "failed: " + t.Error
	}
	text, seen := "", map[string]bool{}
	for _, g := range groups {
		for _, r := range g.Rows {
			key := r.Metric + r.Stat
			v, ok := t.Value(r.Metric, r.Stat)
			if !ok || seen[key] || r.Ours != t.Workload && r.Theirs != t.Workload {
				continue
			}
			seen[key] = true
			text += fmt.Sprintf("  %s %s", r.Stat, r.figure(v))
		}
		for _, c := range g.Checks {
			if v, ok := c.Value(t); ok && c.Workload == t.Workload {
				text += "  " + c.figure(v)
			}
		}
	}
	return text
}
