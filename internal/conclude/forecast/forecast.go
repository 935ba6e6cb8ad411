// Package forecast says before a run which differences it can find: from its number of blocks, from how the trials of
// an earlier run scattered, and from what an earlier baseline of the same hosts saw.
package forecast

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"nearfar/internal/base/clean"
	"nearfar/internal/base/files"
	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/declare/rundir"
)

// A Forecast says which differences a planned run can find. The zero value has no earlier run.
type Forecast struct {
	// run is the earlier run whose scatter is known; empty if there is none.
	run         string
	comparisons []figures.Forecast
	// Earlier is what an earlier baseline of the hosts saw; nil if there is none.
	Earlier *answer.Earlier
}

// Empty says that no earlier run predicts any comparison.
func (f Forecast) Empty() bool { return len(f.comparisons) == 0 }

// maxOpened bounds how many earlier runs are opened in search of one of the same experiment or hosts.
const maxOpened = 20

// Newest makes the forecast from the newest run of the same experiment in a folder of runs; it is empty if there is
// none. A nil aim asks about no difference.
func Newest(folder string, e *experiment.Experiment, aim *figures.Aim) Forecast {
	for _, path := range newest(folder, e.Name, -1) {
		// Skip folders that are not readable runs: the user did not name them.
		if f, err := From(path, e, aim); err == nil && !f.Empty() {
			return f
		}
	}
	return Forecast{}
}

// newest lists the newest folders of a folder of runs whose names contain a text, the newest first. It looks at most
// listed entries of the folder; at all if that is negative.
func newest(folder, text string, listed int) (paths []string) {
	entries, _ := files.List(folder, listed)         // without one there is no earlier run
	for _, entry := range slices.Backward(entries) { // names begin with the time
		if entry.IsDir() && strings.Contains(entry.Name(), text) && len(paths) < maxOpened {
			paths = append(paths, filepath.Join(folder, entry.Name()))
		}
	}
	return paths
}

// From makes the forecast from one run. It fails for a run of another experiment.
func From(path string, e *experiment.Experiment, aim *figures.Aim) (Forecast, error) {
	dir, err := rundir.Open(path)
	if err != nil {
		return Forecast{}, err
	}
	m := dir.Manifest()
	if m.Experiment.Name != e.Name {
		return Forecast{}, fmt.Errorf("%s is a run of %s, and this is %s", path, m.Experiment.Name, e.Name)
	}
	in, err := inputOf(dir)
	if err != nil {
		return Forecast{}, err
	}
	run := figures.Run{Experiment: in.Experiment, Trials: in.Trials}
	return Forecast{run: path, comparisons: figures.Foresee(run, e, aim)}, nil
}

// inputOf reads the trials of an earlier run.
func inputOf(dir *rundir.Dir) (answer.Input, error) {
	m := dir.Manifest()
	trials, err := dir.Trials()
	return answer.Input{Experiment: m.Experiment, Trials: trials, Skipped: m.Skipped, Seed: m.Seed}, err
}

// Lines says in short, before a run, which differences it can find.
func (f Forecast) Lines(e *experiment.Experiment) []string {
	var lines []string
	if ok, text := figures.Enough(e); !ok {
		lines = append(lines, text+": no difference will be shown, whatever its size")
	}
	lines = append(lines, f.detectable()...)
	for _, line := range f.Earlier.Lines() {
		lines = append(lines, clean.Line(line))
	}
	if note := lengthNote(e); note != "" {
		lines = append(lines, note)
	}
	return lines
}

// detectable has a line for each workload and quantity, with the smallest difference that the plan finds in every arm.
func (f Forecast) detectable() []string {
	type key struct {
		workload string
		quantity figures.Quantity
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

// BlocksNeeded says in lines how many blocks the experiment needs and has, and whether that is too few to show any
// difference. An experiment of one arm compares nothing and has no lines.
func BlocksNeeded(e *experiment.Experiment) []string {
	ok, text := figures.Enough(e)
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

// Plan says in full which differences the planned run can find; nothing if it compares nothing.
func (f Forecast) Plan(e *experiment.Experiment, aim *figures.Aim) []string {
	lines := BlocksNeeded(e)
	if len(lines) == 0 {
		return nil
	}
	for _, line := range f.Earlier.Lines() {
		line = clean.Line(line)
		lines = append(lines, strings.ToUpper(line[:1])+line[1:]+".")
	}
	ok, _ := figures.Enough(e)
	switch {
	case !ok && aim == nil:
		return lines
	case ok && f.Empty() && aim != nil:
		lines = append(lines, fmt.Sprintf("No earlier run says how trials scatter, so the blocks that find %s are not "+
			"known: name one with --from RUN.", aim.Text))
	}
	if f.Empty() {
		return lines
	}
	lines = append(lines, fmt.Sprintf("With a probability of 80 %%, if trials scatter as in %s:", f.run))
	for _, c := range f.comparisons {
		var parts []string
		if c.Detectable != nil {
			parts = append(parts, fmt.Sprintf("a difference of %s (%s)",
				result.Amount(*c.Detectable, c.Quantity.Unit), result.Share(*c.Detectable/math.Abs(c.Level))))
		}
		if c.Resolve != nil {
			parts = append(parts, aim.Text+" takes "+blocksOf(c.Resolve))
		}
		if len(parts) > 0 {
			lines = append(lines,
				fmt.Sprintf("%s, %s %s: %s", c.Arm, c.Workload, c.Quantity.Name(), strings.Join(parts, "; ")))
		}
	}
	return lines
}

// blocksOf says how many blocks find a difference.
func blocksOf(r *figures.Resolution) string {
	if r.Blocks == nil {
		return "an unknown number of blocks"
	}
	return fmt.Sprintf("%d blocks", *r.Blocks)
}
