package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"nearfar/internal/base/clean"
	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/conclude/forecast"
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
			if _, err := figures.ParseAim(b.resolve); err != nil {
				return usagef("--resolve: %w", err)
			}
			return a.run(cmd.Context(), argumentOr(args, defaultExperiment), o)
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
	arm := cmp.Or(b.arm, e.Baseline)
	if _, ok := e.Arm(arm); !ok {
		return nil, usagef("--arm %s: the arms are %s", clean.Line(arm), strings.Join(e.ArmNames(), ", "))
	}
	self, err := e.CompareWithSelf(arm, b.resolve, blocks, tool.Declared())
	if err != nil {
		return nil, &usageError{err}
	}
	return self, nil
}

// earlierBaseline finds an earlier baseline of the plan's hosts, and prints a note about each run that it skips.
func (a *app) earlierBaseline(folder string, plan *experiment.Experiment) *answer.Earlier {
	return forecast.Baseline(folder, plan, execution.MachineName(), func(path string, err error) {
		a.note("%s is skipped in the search for a baseline of these hosts: %v", clean.Line(path), err)
	})
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
