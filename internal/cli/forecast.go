package cli

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"nearfar/internal/base/clean"
	"nearfar/internal/conclude/answer"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/declare/rundir"
)

// resolveFlag adds the flag --resolve.
func (o *reportOptions) resolveFlag(f *pflag.FlagSet) {
	f.StringVar(&o.resolve, "resolve", "",
		"say for each comparison how many blocks find this `DIFFERENCE`: 5%, 2us, 10Mbit/s or 100/s")
}

// readAim reads the flag --resolve into aim, which stays nil without it.
func (o *reportOptions) readAim() (err error) {
	if o.resolve == "" {
		return nil
	}
	if o.aim, err = answer.ParseAim(o.resolve); err != nil {
		return usagef("--resolve: %w", err)
	}
	return nil
}

// forecast says which differences a planned run can find, estimated from the scatter of an earlier run.
type forecast struct {
	// run is the earlier run; empty if there is none.
	run         string
	comparisons []answer.Forecast
	// earlier is what an earlier baseline of the hosts saw; nil if there is none.
	earlier *answer.Earlier
}

// maxOpened bounds how many earlier runs are opened in search of a run of the same experiment.
const maxOpened = 20

// makeForecast uses the run that --from names, or the newest run of the same experiment in the folder of runs. It
// returns an empty forecast if there is no such run.
func makeForecast(e *experiment.Experiment, o runOptions) (forecast, error) {
	if e.Schedule.Until != "" {
		return forecast{}, nil // forecasts are for a number of blocks that is chosen before
	}
	if o.from != "" {
		f, err := forecastFrom(o.from, e, o.report.aim)
		if err != nil {
			return forecast{}, usagef("--from: %w", err)
		}
		if len(f.comparisons) == 0 {
			return forecast{}, usagef(
				"--from %s: that run has no comparison of this experiment with 6 or more blocks", clean.Line(o.from))
		}
		return f, nil
	}
	entries, err := os.ReadDir(o.out)
	if err != nil {
		return forecast{}, nil // there is no earlier run
	}
	slices.Reverse(entries) // names begin with the time
	opened := 0
	for _, entry := range entries {
		if !entry.IsDir() || !strings.Contains(entry.Name(), e.Name) {
			continue
		}
		if opened++; opened > maxOpened {
			break
		}
		// Skip folders that are not readable runs: the user did not name them.
		f, err := forecastFrom(filepath.Join(o.out, entry.Name()), e, o.report.aim)
		if err == nil && len(f.comparisons) > 0 {
			return f, nil
		}
	}
	return forecast{}, nil
}

// forecastFrom makes the forecast from one run. It fails for a run of another experiment.
func forecastFrom(path string, e *experiment.Experiment, aim *answer.Aim) (forecast, error) {
	dir, err := rundir.Open(path)
	if err != nil {
		return forecast{}, err
	}
	m := dir.Manifest()
	if m.Experiment.Name != e.Name {
		return forecast{}, fmt.Errorf("%s is a run of %s, and this is %s", path, m.Experiment.Name, e.Name)
	}
	trials, err := dir.Trials()
	if err != nil {
		return forecast{}, err
	}
	in := answer.Input{Experiment: m.Experiment, Trials: trials, Skipped: m.Skipped, Seed: m.Seed}
	return forecast{run: path, comparisons: answer.Foresee(in, e, aim)}, nil
}

// refuseTooFewBlocks refuses to measure a schedule that cannot show any difference, except with --force.
func refuseTooFewBlocks(e *experiment.Experiment, o runOptions) error {
	ok, text := answer.Enough(e)
	if ok || o.dryRun || o.force {
		return nil
	}
	return &usageError{errors.New(text + ": no difference could be shown, whatever its size\n" +
		"Give it more blocks (schedule: {blocks: N}, or --blocks N), or measure anyway with --force")}
}

// expect says before a run which differences it can find.
func (p *progress) expect(e *experiment.Experiment, f forecast) {
	if ok, text := answer.Enough(e); !ok {
		p.step("%s: no difference will be shown, whatever its size", text)
	}
	for _, line := range detectable(f) {
		p.step("%s", line)
	}
	for _, line := range f.earlier.Lines() {
		p.step("%s", clean.Line(line))
	}
	if note := lengthNote(e); note != "" {
		p.step("%s", note)
	}
}

// detectable has a line for each workload and quantity, with the smallest difference that the plan finds in every arm.
func detectable(f forecast) []string {
	type key struct {
		workload string
		quantity answer.Quantity
	}
	var keys []key
	largest, share := map[key]float64{}, map[key]float64{}
	for _, c := range f.comparisons {
		if c.Detectable == nil {
			continue
		}
		k := key{c.Workload, c.Quantity}
		if !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
		if *c.Detectable > largest[k] {
			largest[k], share[k] = *c.Detectable, *c.Detectable/math.Abs(c.Level)
		}
	}
	var lines []string
	for _, k := range keys {
		lines = append(lines, fmt.Sprintf(
			"in %s %s, differences of %s (%s) and more are found four times in five, if trials scatter as in %s",
			k.workload, k.quantity.Name(), result.Amount(largest[k], k.quantity.Unit), result.Share(share[k]), f.run))
	}
	return lines
}

// blocksNeeded says in lines how many blocks the experiment needs and has, and whether that is too few to show any
// difference. An experiment of one arm compares nothing and has no lines.
func blocksNeeded(e *experiment.Experiment) []string {
	ok, text := answer.Enough(e)
	switch {
	case text == "":
		return nil
	case ok:
		return []string{text + ", in each workload and quantity."}
	}
	return []string{
		text + ", in each workload and quantity.",
		"No difference can be shown, whatever its size: `nearfar run` measures this only with --force.",
	}
}

// printForecast writes for the dry run which differences the planned run can find.
func printForecast(w io.Writer, e *experiment.Experiment, aim *answer.Aim, f forecast) {
	lines := blocksNeeded(e)
	if len(lines) == 0 {
		return
	}
	fmt.Fprintln(w, "\nWhat it can show")
	for _, line := range lines {
		fmt.Fprintf(w, "  %s\n", line)
	}
	for _, line := range f.earlier.Lines() {
		fmt.Fprintf(w, "  %s.\n", sentenceCase(clean.Line(line)))
	}
	ok, _ := answer.Enough(e)
	switch {
	case !ok && aim == nil:
		return
	case ok && len(f.comparisons) == 0 && aim != nil:
		fmt.Fprintf(w, "  No earlier run says how trials scatter, so the blocks that find %s are not known: "+
			"name one with --from RUN.\n", aim.Text)
	}
	if len(f.comparisons) == 0 {
		return
	}
	fmt.Fprintf(w, "  With a probability of 80 %%, if trials scatter as in %s:\n", f.run)
	for _, c := range f.comparisons {
		line := fmt.Sprintf("  %s, %s %s:", c.Arm, c.Workload, c.Quantity.Name())
		if c.Detectable != nil {
			line += fmt.Sprintf(" a difference of %s (%s)",
				result.Amount(*c.Detectable, c.Quantity.Unit), result.Share(*c.Detectable/math.Abs(c.Level)))
		}
		if r := c.Resolve; r != nil {
			if c.Detectable != nil {
				line += ";"
			}
			line += " " + aim.Text + " takes " + blocksOf(r)
		}
		if !strings.HasSuffix(line, ":") {
			fmt.Fprintln(w, line)
		}
	}
}

// blocksOf says how many blocks find a difference.
func blocksOf(r *answer.Resolution) string {
	if r.Blocks == nil {
		return "an unknown number of blocks"
	}
	return fmt.Sprintf("%d blocks", *r.Blocks)
}
