package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"nearfar/internal/base/clean"
	"nearfar/internal/conclude/answer/proof"
	"nearfar/internal/conclude/interim"
	"nearfar/internal/declare/check"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/measure/runner"
	"nearfar/internal/show/report"
)

// The values of --progress.
const (
	progressAuto  = "auto"  // live on a terminal, plain elsewhere
	progressPlain = "plain" // a line for each trial
	progressLive  = "live"  // a view that is updated
	progressNone  = "none"
)

func progressModes() []string {
	return []string{progressAuto, progressPlain, progressLive, progressNone}
}

// maxFailureLines is how many failed trials are listed after a live view. The report counts all.
const maxFailureLines = 20

// progress shows on standard error how far a run is.
type progress struct {
	w          io.Writer
	mode       string
	experiment *experiment.Experiment
	// trials are the trials so far, for the figures of the live view.
	trials []result.Trial
	// view is set from the first trial on in the mode live. figures makes the figures that it shows.
	view    *live
	figures *interim.Maker
	// later are the lines to print after the end of the view. ran counts the trials of this process, failed those of
	// them that failed.
	later       []string
	failed, ran int
	started     time.Time
	// unproved are the arms' expectations that were not proved in a trial and for which a line was printed.
	unproved map[string]bool
}

// progressMode replaces auto with the mode that w can show. It refuses unknown modes, and live if w cannot show it.
func progressMode(w io.Writer, choice string) (string, error) {
	obstacle := liveObstacle(w)
	switch {
	case !slices.Contains(progressModes(), choice):
		return "", usagef("--progress %s: use one of %s", choice, strings.Join(progressModes(), ", "))
	case choice == progressAuto && obstacle == "":
		return progressLive, nil
	case choice == progressAuto:
		return progressPlain, nil
	case choice == progressLive && obstacle != "":
		return "", usagef("--progress live: %s; use plain", obstacle)
	}
	return choice, nil
}

// newProgress shows the progress of a run of e. progressMode returned the mode.
func newProgress(w io.Writer, e *experiment.Experiment, mode string) *progress {
	return &progress{w: w, mode: mode, experiment: e, figures: interim.NewMaker(e), unproved: map[string]bool{}}
}

// before adds the trials of earlier processes of a resumed run.
func (p *progress) before(trials []result.Trial) {
	if p.mode == progressLive {
		p.trials = append(p.trials, trials...)
	}
}

// step prints the current step, except in the mode none.
func (p *progress) step(format string, args ...any) {
	if p.mode != progressNone {
		p.note(format, args...)
	}
}

// note prints a line in every mode. While the live view is drawn, the line waits for its end.
func (p *progress) note(format string, args ...any) {
	line := fmt.Sprintf("nearfar: "+format+"\n", args...)
	if p.view != nil && p.view.drawing() {
		p.later = append(p.later, line)
		return
	}
	fmt.Fprint(p.w, line)
}

// event receives the runner's events. It is called between trials, when nothing is measured, so that computing figures
// disturbs no trial.
func (p *progress) event(e runner.Event) {
	if p.started.IsZero() {
		p.started = time.Now()
	}
	if e.Trial != nil {
		p.ran++
		if e.Trial.Error != "" {
			p.failed++
		}
	}
	switch p.mode {
	case progressPlain:
		p.line(e)
		p.expectations(e)
	case progressLive:
		p.live(e)
	}
}

// line prints a line if the event is the end of a trial.
func (p *progress) line(e runner.Event) {
	if e.Trial != nil {
		fmt.Fprintf(p.w, "nearfar: %s\n", p.trialLine(e))
	}
}

// expectations prints a line for each expectation that is not proved for the first time, so that a person can end the
// run early. The live view has the answer's warnings instead.
func (p *progress) expectations(e runner.Event) {
	if e.Trial == nil || e.Trial.Error != "" {
		return
	}
	arm, _ := p.experiment.Arm(e.Trial.Arm)
	for _, x := range arm.Expect {
		j := proof.Judged(x, *e.Trial)
		key := arm.Name + " " + x.Subject()
		if j.Outcome == check.Proved || p.unproved[key] {
			continue
		}
		p.unproved[key] = true
		fmt.Fprintf(p.w, "nearfar: %s: %s is %s in trial %d: %s\n", arm.Name, x.Text(), j.Outcome, e.Trial.Trial,
			clean.Line(j.Evidence))
	}
}

// blockText says which block a trial belongs to: "block 3/12", or "deployment 2/3, block 15/36".
func blockText(s experiment.Schedule, slot experiment.Slot) string {
	text := fmt.Sprintf("block %d/%d", slot.Block, s.AllBlocks())
	if n := s.DeploymentCount(); n > 1 {
		text = fmt.Sprintf("deployment %d/%d, %s", slot.Deployment, n, text)
	}
	return text
}

func (p *progress) trialLine(e runner.Event) string {
	return fmt.Sprintf("%s  trial %d/%d  %s %s: %s  %v left",
		blockText(p.experiment.Schedule, e.Slot), e.Done, e.Total, e.Slot.Arm, e.Slot.Workload,
		report.Headline(*e.Trial), e.Left.Round(time.Second))
}

// live updates the view; the first event starts it. While the view is not drawn, because it failed or nearfar runs in
// the background, it prints lines.
func (p *progress) live(e runner.Event) {
	if e.Trial != nil {
		p.trials = append(p.trials, forFigures(*e.Trial))
		if e.Trial.Error != "" && p.failed <= maxFailureLines {
			p.later = append(p.later, "nearfar: "+p.trialLine(e)+"\n")
		}
	}
	now := time.Now()
	p.figures.Update(p.trials, now, e.Done == e.Total)
	s := liveState{
		experiment: p.experiment, slot: e.Slot, running: e.Trial == nil, done: e.Done, total: e.Total,
		left: e.Left, at: now, begun: p.started, figures: p.figures.Latest(),
	}
	if p.view == nil {
		p.view = newLive(p.w, s)
		p.view.begin()
		return
	}
	p.view.show(s)
	if !p.view.drawing() {
		p.line(e)
	}
}

// end erases the live view, and prints the lines that waited for it. Further calls do nothing.
func (p *progress) end() {
	if p.view == nil {
		return
	}
	if err := p.view.end(); err != nil {
		fmt.Fprintln(p.w, "nearfar: the live view ended early:", err)
	}
	p.view = nil
	for _, line := range p.later {
		fmt.Fprint(p.w, line)
	}
	p.later = nil
	if p.failed > maxFailureLines {
		fmt.Fprintf(p.w, "nearfar: and %d more failed trials\n", p.failed-maxFailureLines)
	}
	failed := textIf(p.failed > 0, fmt.Sprintf(", %d of them failed", p.failed))
	fmt.Fprintf(p.w, "nearfar: %d trials in %v%s\n", p.ran, time.Since(p.started).Round(time.Second), failed)
}

// forFigures returns the trial without the fields that no figure is made from, to save memory.
func forFigures(t result.Trial) result.Trial {
	t.Commands, t.Raw, t.Treatment, t.Histogram = nil, nil, nil, ""
	t.Observed, t.Counters, t.Wire = nil, nil, nil
	return t
}
