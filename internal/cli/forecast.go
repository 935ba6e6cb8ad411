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

	"nearfar/internal/answer"
	"nearfar/internal/experiment"
	"nearfar/internal/result"
	"nearfar/internal/rundir"
)

// resolveFlag is for whatever says how many blocks find a difference.
func (o *reportOptions) resolveFlag(f *pflag.FlagSet) {
	f.StringVar(&o.resolve, "resolve", "", "say for each comparison how many blocks find this `DIFFERENCE`: 5%, 2us, 10Mbit/s or 100/s")
}

// readAim reads the flag --resolve; nil where it is not given.
func (o *reportOptions) readAim() (err error) {
	if o.resolve == "" {
		return nil
	}
	if o.aim, err = answer.ParseAim(o.resolve); err != nil {
		return &usageError{fmt.Errorf("--resolve: %w", err)}
	}
	return nil
}

// foresight is what an earlier run lets a planned one expect.
type foresight struct {
	// run is the earlier run; empty where there is none.
	run       string
	forecasts []answer.Forecast
}

// mostLooked bounds how many earlier runs are opened in search of one of the same experiment.
const mostLooked = 20

// foresee reads the run that --from names, or the newest one of the same experiment in the folder of runs.
func foresee(e *experiment.Experiment, o runOptions) (foresight, error) {
	if o.from != "" {
		f, err := foreseeBy(o.from, e, o.report.aim)
		if err != nil {
			return foresight{}, &usageError{fmt.Errorf("--from: %w", err)}
		}
		if len(f.forecasts) == 0 {
			return foresight{}, &usageError{fmt.Errorf("--from %s: that run compares nothing that this experiment compares, in 6 blocks or more", o.from)}
		}
		return f, nil
	}
	entries, err := os.ReadDir(o.out)
	if err != nil {
		return foresight{}, nil // there is no earlier run
	}
	slices.Reverse(entries) // names begin with the time
	looked := 0
	for _, entry := range entries {
		if !entry.IsDir() || !strings.Contains(entry.Name(), e.Name) {
			continue
		}
		if looked++; looked > mostLooked {
			break
		}
		// A folder that is no run, or a run that cannot be read, is passed over: nobody asked for it.
		if f, err := foreseeBy(filepath.Join(o.out, entry.Name()), e, o.report.aim); err == nil && len(f.forecasts) > 0 {
			return f, nil
		}
	}
	return foresight{}, nil
}

// foreseeBy goes by one run. A run of another experiment is an error.
func foreseeBy(path string, e *experiment.Experiment, aim *answer.Aim) (foresight, error) {
	dir, err := rundir.Open(path)
	if err != nil {
		return foresight{}, err
	}
	m := dir.Manifest()
	if m.Experiment.Name != e.Name {
		return foresight{}, fmt.Errorf("%s is a run of %s, and this is %s", path, m.Experiment.Name, e.Name)
	}
	trials, err := dir.Trials()
	if err != nil {
		return foresight{}, err
	}
	in := answer.Input{Experiment: m.Experiment, Trials: trials, Skipped: m.Skipped, Seed: m.Seed}
	return foresight{run: path, forecasts: answer.Foresee(in, e, aim)}, nil
}

// refuseDoomed refuses to measure what can show nothing, unless it is forced.
func refuseDoomed(e *experiment.Experiment, o runOptions) error {
	ok, text := answer.Enough(e)
	if ok || o.dryRun || o.force {
		return nil
	}
	return &usageError{errors.New(text + ": no difference could be shown, whatever its size\n" +
		"Give it more (schedule: {blocks: N}, or --blocks N), or measure all the same with --force")}
}

// expect says before a run what it can find.
func (p *progress) expect(e *experiment.Experiment, f foresight) {
	if ok, text := answer.Enough(e); !ok {
		p.step("%s: no difference will be shown, whatever its size", text)
	}
	for _, line := range smallest(f) {
		p.step("%s", line)
	}
}

// smallest says in a line for each workload and quantity what the plan finds in all of its arms.
func smallest(f foresight) []string {
	type key struct {
		workload string
		quantity answer.Quantity
	}
	var keys []key
	largest, share := map[key]float64{}, map[key]float64{}
	for _, c := range f.forecasts {
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
		lines = append(lines, fmt.Sprintf("in %s %s a difference from %s (%.2g %%) on is found four times in five, if trials scatter as in %s",
			k.workload, k.quantity.Name(), result.Amount(largest[k], k.quantity.Unit), 100*share[k], f.run))
	}
	return lines
}

// printForesight writes what a planned run can find, for the dry run.
func printForesight(w io.Writer, e *experiment.Experiment, aim *answer.Aim, f foresight) {
	ok, text := answer.Enough(e)
	if text == "" {
		return
	}
	fmt.Fprintf(w, "\nWhat it can show\n  %s, in each workload and quantity.\n", text)
	switch {
	case !ok:
		fmt.Fprintln(w, "  No difference can be shown, whatever its size: `nearfar run` measures this with --force only.")
		if aim == nil {
			return
		}
	case len(f.forecasts) == 0 && aim != nil:
		fmt.Fprintf(w, "  No earlier run says how trials scatter, so the blocks that find %s are not known: name one with --from RUN.\n", aim.Text)
	}
	if len(f.forecasts) == 0 {
		return
	}
	fmt.Fprintf(w, "  With a probability of 80 %%, if trials scatter as in %s:\n", f.run)
	for _, c := range f.forecasts {
		line := fmt.Sprintf("  %s, %s %s:", c.Arm, c.Workload, c.Quantity.Name())
		if c.Detectable != nil {
			line += fmt.Sprintf(" a difference of %s (%.2g %%)", result.Amount(*c.Detectable, c.Quantity.Unit), 100**c.Detectable/math.Abs(c.Level))
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
		return "a number of blocks that is not known"
	}
	return fmt.Sprintf("%d blocks", *r.Blocks)
}
