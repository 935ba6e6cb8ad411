package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"nearfar/internal/base/clean"
	"nearfar/internal/base/files"
	"nearfar/internal/conclude/answer"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/rundir"
	"nearfar/internal/measure/execution"
	"nearfar/internal/measure/tool"
)

// baselineBlocks is the default number of blocks of a baseline: with it, predicted differences are within 30 % of the
// true ones in nine of ten runs (TestBaselinesPredictLaterRuns of internal/base/stats).
const baselineBlocks = 30

// baselineOptions make a run the comparison of an arm with itself.
type baselineOptions struct {
	// arm is compared with itself; empty for the file's baseline.
	arm string
	// resolve is the difference that the recommended plan finds.
	resolve string
}

func (a *app) baselineCommand() *cobra.Command {
	b := &baselineOptions{}
	o := runOptions{watch: &watcher{}, baseline: b}
	cmd := &cobra.Command{
		Use:   "baseline [FILE]",
		Short: "Compare an arm with itself: the noise of these hosts, and which differences they can show",
		Long: `Baseline measures one arm of an experiment against itself, on the same hosts: two arms that differ in
nothing. It says how much trials scatter between blocks and within them, which differences 5, 10, 20 and 40 blocks
find four times in five, and which blocks and durations find the wanted difference in the least time. Each workload
runs a second time with shorter trials, because only that says whether longer trials scatter less.

If the arm differs from itself, the hosts or the design are not sound, and the answer says so. By chance that happens
in at most 5 % of baselines.

It leaves a run directory. Later runs on the same hosts that are made in the same --out quote it. An interrupted
baseline is continued with "nearfar run --resume".

Exit codes: 0 the answer is printed; 1 a failure, or too many trials failed; 2 wrong usage, or a mistake in the file;
4 an expectation of the arm (expect) is refuted or unknown, unless --allow-unverified is given; 130 interrupted.`,
		Example: `  nearfar baseline experiment.yaml
  nearfar baseline --resolve 2% experiment.yaml
  nearfar baseline --arm vxlan --blocks 50 experiment.yaml
  nearfar baseline --dry-run experiment.yaml
  nearfar baseline --set CLIENT=vm-a --set SERVER=vm-b labs/byo-ssh/experiment.yaml
  nearfar baseline -f json experiment.yaml | jq .noise_floor.recommended`,
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.blocksGiven, o.seedGiven = true, cmd.Flags().Changed("seed")
			if err := watchNeedsPage(o, cmd); err != nil {
				return err
			}
			if _, err := answer.ParseAim(b.resolve); err != nil {
				return usagef("--resolve: %w", err)
			}
			return a.run(cmd.Context(), fileOf(args), o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&b.arm, "arm", "", "the `NAME` of the arm that is compared with itself (default: the file's baseline)")
	f.StringVar(&b.resolve, "resolve", "5%",
		"recommend blocks and durations that find this `DIFFERENCE`: 5%, 2us, 10Mbit/s or 100/s")
	f.IntVar(&o.blocks, "blocks", baselineBlocks, "how many times each workload is run in each of the two arms")
	o.commonFlags(f)
	return cmd
}

// apply makes the experiment the comparison of an arm with itself.
func (b *baselineOptions) apply(e *experiment.Experiment, blocks int) (*experiment.Experiment, error) {
	arm := b.arm
	if arm == "" {
		arm = e.Baseline
	}
	if _, ok := e.Arm(arm); !ok {
		return nil, usagef("--arm %s: the arms are %s", clean.Line(arm), strings.Join(e.ArmNames(), ", "))
	}
	self, err := e.CompareWithSelf(arm, b.resolve, blocks, tool.Declared())
	if err != nil {
		return nil, &usageError{err}
	}
	return self, nil
}

// Limits of the search for an earlier baseline: directory entries that are listed, and runs that are opened.
const (
	maxListed         = 10_000
	maxOpenedBaseline = 20
)

// earlierBaseline finds the newest complete baseline of the plan's hosts in the folder of runs, preferably of the
// plan's own baseline arm. It returns nil if there is none. It prints a note about directories that it skips because
// they are damaged.
func earlierBaseline(
	folder string, plan *experiment.Experiment, told func(format string, args ...any),
) *answer.Earlier {
	if plan.SelfComparison != nil {
		return nil
	}
	machine := execution.MachineName()
	var other *answer.Earlier // the newest one of another arm's hosts
	for _, name := range baselinesIn(folder) {
		path := filepath.Join(folder, name)
		earlier, err := readBaseline(path, plan, machine)
		if err != nil {
			told("%s is skipped in the search for a baseline of these hosts: %v", clean.Line(path), err)
			continue
		}
		switch {
		case earlier == nil:
		case earlier.Arm == plan.Baseline:
			return earlier
		case other == nil:
			other = earlier
		}
	}
	return other
}

// baselinesIn lists the newest run directories in a folder whose names look like those of baselines, the newest first.
func baselinesIn(folder string) []string {
	directory, err := files.OpenFolder(folder)
	if err != nil {
		return nil // there is no earlier run
	}
	entries, err := directory.ReadDir(maxListed)
	if err = errors.Join(err, directory.Close()); len(entries) == 0 && err != nil {
		return nil
	}
	var names []string
	for _, entry := range entries {
		if entry.IsDir() && strings.Contains(entry.Name(), experiment.SelfSuffix) {
			names = append(names, entry.Name())
		}
	}
	slices.Sort(names) // names begin with the time
	slices.Reverse(names)
	return names[:min(len(names), maxOpenedBaseline)]
}

// readBaseline reads a baseline of the hosts of a plan; nil if the run is not a complete baseline of them. Its error
// says what is damaged.
func readBaseline(path string, plan *experiment.Experiment, machine string) (*answer.Earlier, error) {
	dir, err := rundir.Open(path)
	if err != nil {
		return nil, err
	}
	m := dir.Manifest()
	self := m.Experiment.SelfComparison
	if self == nil || m.State != rundir.Complete {
		return nil, nil
	}
	arm := armOn(plan, machine, m.Experiment.HostsIdentity(self.Arm, m.Machine))
	if arm == "" {
		return nil, nil
	}
	trials, err := dir.Trials()
	if err != nil {
		return nil, err
	}
	in := answer.Input{Experiment: m.Experiment, Trials: trials, Skipped: m.Skipped, Seed: m.Seed}
	return answer.EarlierFloor(in, path, m.Started, plan, arm), nil
}

// armOn is the plan's arm on the hosts with this identity, preferably its baseline; empty if there is none.
func armOn(plan *experiment.Experiment, machine, identity string) string {
	for _, name := range append([]string{plan.Baseline}, plan.ArmNames()...) {
		if _, ok := plan.Arm(name); ok && plan.HostsIdentity(name, machine) == identity {
			return name
		}
	}
	return ""
}

// lengthNote says which workloads of a baseline have no short trials.
func lengthNote(e *experiment.Experiment) string {
	if e.SelfComparison == nil {
		return ""
	}
	var without []string
	for _, l := range e.SelfComparison.Lengths {
		if l.Short == "" {
			without = append(without, l.Workload)
		}
	}
	if len(without) == 0 {
		return ""
	}
	return fmt.Sprintf("no shorter trials of %s can be run: whether longer ones scatter less stays unknown",
		strings.Join(without, ", "))
}

// earlierRecord is an earlier baseline as run.json keeps it.
func earlierRecord(earlier *answer.Earlier) json.RawMessage {
	if earlier == nil {
		return nil
	}
	data, err := json.Marshal(earlier)
	if err != nil {
		return nil // a run is not lost because of what it quotes
	}
	return data
}

// earlierOf reads the earlier baseline that a run quotes; nil if there is none, or if it cannot be read.
func earlierOf(m rundir.Manifest) *answer.Earlier {
	var earlier answer.Earlier
	if len(m.Earlier) == 0 || json.Unmarshal(m.Earlier, &earlier) != nil {
		return nil
	}
	return &earlier
}

// note prints a message for people on standard error.
func (a *app) note(format string, args ...any) {
	fmt.Fprintf(a.stderr, "nearfar: "+format+"\n", args...)
}

// sentenceCase makes the first letter a capital.
func sentenceCase(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
