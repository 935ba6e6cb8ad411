package cli

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"nearfar/internal/experiment"
	"nearfar/internal/report"
	"nearfar/internal/runner"
)

// progress tells how far a run is: on a terminal in one line that is rewritten, elsewhere in a line for each trial.
type progress struct {
	w      io.Writer
	live   bool
	width  int
	blocks int
	last   string
}

func newProgress(w io.Writer, e *experiment.Experiment) *progress {
	p := &progress{w: w, blocks: e.Schedule.Blocks, width: 80}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.live = true
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 20 {
			p.width = width
		}
	}
	return p
}

// note prints a line of its own.
func (p *progress) note(format string, args ...any) {
	p.clear()
	fmt.Fprintf(p.w, "nearfar: "+format+"\n", args...)
}

// event follows the runner.
func (p *progress) event(e runner.Event) {
	left := e.Left.Round(time.Second)
	if e.Trial == nil {
		if p.live {
			p.rewrite(fmt.Sprintf("block %d/%d  trial %d/%d  %s left  now %s %s  %s", e.Slot.Block, p.blocks, e.Done+1, e.Total, left, e.Slot.Arm, e.Slot.Workload, p.last))
		}
		return
	}
	figure := report.Headline(*e.Trial)
	p.last = fmt.Sprintf("last %s %s %s", e.Slot.Arm, e.Slot.Workload, figure)
	if p.live && e.Trial.Error == "" {
		return // the next trial's line shows it
	}
	p.note("block %d/%d  trial %d/%d  %s %s: %s  %s left", e.Slot.Block, p.blocks, e.Done, e.Total, e.Slot.Arm, e.Slot.Workload, figure, left)
}

// rewrite puts the text in the place of the live line.
func (p *progress) rewrite(text string) {
	runes := []rune(text)
	if len(runes) >= p.width {
		runes = runes[:p.width-1]
	}
	fmt.Fprintf(p.w, "\r\x1b[K%s", string(runes))
}

func (p *progress) clear() {
	if p.live {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

// end takes the live line away.
func (p *progress) end() { p.clear() }

// wantsColor says whether to write colour: to a terminal, unless NO_COLOR is set.
func wantsColor(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(f.Fd()))
}
