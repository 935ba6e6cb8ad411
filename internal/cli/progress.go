package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"nearfar/internal/experiment"
	"nearfar/internal/report"
	"nearfar/internal/result"
	"nearfar/internal/runner"
)

// The ways to tell how far a run is.
const (
	progressAuto  = "auto"  // live on a terminal, plain elsewhere
	progressPlain = "plain" // a line for each trial
	progressLive  = "live"  // a view that is drawn again and again
	progressNone  = "none"
)

func progressModes() []string {
	return []string{progressAuto, progressPlain, progressLive, progressNone}
}

// maxFailureLines is how many failed trials are listed after a live view; the report counts all.
const maxFailureLines = 20

// progress tells how far a run is, on standard error.
type progress struct {
	w          io.Writer
	mode       string
	experiment *experiment.Experiment
	// trials are those so far, for the figures of the live view.
	trials []result.Trial
	// view is there from the first trial on, where the mode is live. figures are what it shows of the trials.
	view    *live
	figures *figures
	// later are the lines that wait for the end of the view; failed counts the failed trials, ran all that this process ran.
	later       []string
	failed, ran int
	started     time.Time
}

// progressMode makes auto what w can show, and refuses what is none of progressModes or cannot be shown.
func progressMode(w io.Writer, choice string) (string, error) {
	obstacle := liveObstacle(w)
	switch {
	case !slices.Contains(progressModes(), choice):
		return "", &usageError{fmt.Errorf("--progress %s: use one of %s", choice, strings.Join(progressModes(), ", "))}
	case choice == progressAuto && obstacle == "":
		return progressLive, nil
	case choice == progressAuto:
		return progressPlain, nil
	case choice == progressLive && obstacle != "":
		return "", &usageError{fmt.Errorf("--progress live: %s; use plain", obstacle)}
	}
	return choice, nil
}

// newProgress follows a run of e; progressMode made the mode.
func newProgress(w io.Writer, e *experiment.Experiment, mode string) *progress {
	return &progress{w: w, mode: mode, experiment: e, figures: newFigures(e)}
}

// before takes in the trials that were there before this process.
func (p *progress) before(trials []result.Trial) {
	if p.mode == progressLive {
		p.trials = append(p.trials, trials...)
	}
}

// step says what is being done.
func (p *progress) step(format string, args ...any) {
	if p.mode != progressNone {
		p.note(format, args...)
	}
}

// note prints what must be known, whatever the mode; while the live view stands, after its end.
func (p *progress) note(format string, args ...any) {
	line := fmt.Sprintf("nearfar: "+format+"\n", args...)
	if p.view != nil && p.view.drawing() {
		p.later = append(p.later, line)
		return
	}
	fmt.Fprint(p.w, line)
}

// event follows the runner. It is called between trials, when nothing measures: here is the time to reckon.
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
	case progressLive:
		p.live(e)
	}
}

// line prints a line for a trial that has ended.
func (p *progress) line(e runner.Event) {
	if e.Trial != nil {
		fmt.Fprintf(p.w, "nearfar: %s\n", p.trialLine(e))
	}
}

func (p *progress) trialLine(e runner.Event) string {
	return fmt.Sprintf("block %d/%d  trial %d/%d  %s %s: %s  %v left", e.Slot.Block, p.experiment.Schedule.Blocks, e.Done, e.Total,
		e.Slot.Arm, e.Slot.Workload, report.Headline(*e.Trial), e.Left.Round(time.Second))
}

// live brings the view up to date; the first event begins it. While there is none, for it broke or nearfar runs in
// the background, lines are printed.
func (p *progress) live(e runner.Event) {
	if e.Trial != nil {
		p.trials = append(p.trials, lean(*e.Trial))
		if e.Trial.Error != "" && p.failed <= maxFailureLines {
			p.later = append(p.later, "nearfar: "+p.trialLine(e)+"\n")
		}
	}
	now := time.Now()
	p.figures.update(p.trials, now, e.Done == e.Total)
	s := liveState{
		experiment: p.experiment, slot: e.Slot, running: e.Trial == nil, done: e.Done, total: e.Total, left: e.Left, at: now, begun: p.started,
		figures: p.figures.latest,
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

// end takes the live view away, and prints what waited for that. It may be called again.
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
		fmt.Fprintf(p.w, "nearfar: and %d more that failed\n", p.failed-maxFailureLines)
	}
	failed := ""
	if p.failed > 0 {
		failed = fmt.Sprintf(", %d of them failed", p.failed)
	}
	fmt.Fprintf(p.w, "nearfar: %d trials in %v%s\n", p.ran, time.Since(p.started).Round(time.Second), failed)
}

// lean is a trial without what no figure is made from.
func lean(t result.Trial) result.Trial {
	t.Commands, t.Raw, t.Treatment, t.Histogram = nil, nil, nil, ""
	return t
}
