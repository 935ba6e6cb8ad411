package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"golang.org/x/term"
)

// leastLiveWidth and leastLiveHeight are the size of the smallest terminal for the live view.
const (
	leastLiveWidth  = 20
	leastLiveHeight = 4
)

// liveEndPatience is how long the view may take to end: a terminal that was stopped with Ctrl-S accepts no output.
const liveEndPatience = 2 * time.Second

// liveObstacle says why a live view cannot be shown on w. It returns "" if it can be shown.
func liveObstacle(w io.Writer) string {
	f, ok := terminalFile(w)
	if !ok {
		return "standard error is not a terminal"
	}
	switch name := os.Getenv("TERM"); {
	case name == "dumb":
		return "the terminal can only print lines (TERM=dumb)"
	case name == "" && runtime.GOOS != "windows":
		return "TERM does not say what the terminal can do"
	}
	width, height, err := term.GetSize(int(f.Fd()))
	if err != nil || width < leastLiveWidth || height < leastLiveHeight {
		return fmt.Sprintf("the terminal is smaller than %d columns and %d lines", leastLiveWidth, leastLiveHeight)
	}
	if !foreground(f) {
		return "nearfar runs in the background"
	}
	return ""
}

// live draws a view of the run on a terminal. It reads no keys and leaves Ctrl-C to the terminal, so that a fault in
// the view cannot prevent an interrupt.
type live struct {
	terminal *os.File
	look     look

	mu    sync.Mutex
	state liveState
	// program is nil while nothing is drawn. done is closed when the program has ended, for whatever reason.
	program *tea.Program
	// kill ends the program without its last picture.
	kill    context.CancelFunc
	done    chan struct{}
	restore func()
	// failed is the error with which a program ended by itself. After an error nothing is drawn any more.
	failed error
	// suspended says that Ctrl-Z is stopping nearfar. stopJobs ends the handling of Ctrl-Z.
	suspended bool
	stopJobs  func()
}

// newLive makes a view of the state. w must be a terminal.
func newLive(w io.Writer, s liveState) *live {
	f, _ := terminalFile(w)
	return &live{terminal: f, state: s, look: look{unicode: unicodeLocale(os.Getenv), color: wantsColor(w)}}
}

// begin starts to draw.
func (l *live) begin() {
	l.resume()
	l.stopJobs = followJobs(l)
}

// show sets the state of the view, and starts to draw again if nearfar has returned from the background. It does not
// wait for the terminal.
func (l *live) show(s liveState) {
	l.mu.Lock()
	l.state = s
	l.mu.Unlock()
	l.resume()
}

func (l *live) latest() liveState {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state
}

// drawing reports whether the view is on the terminal.
func (l *live) drawing() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.program == nil {
		return false
	}
	select {
	case <-l.done:
		return false
	default:
		return true
	}
}

// resume starts to draw, unless the view is drawn already or cannot be drawn, as in the background.
func (l *live) resume() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.program != nil || l.failed != nil || l.suspended || !foreground(l.terminal) {
		return
	}
	width, height, err := term.GetSize(int(l.terminal.Fd()))
	if err != nil {
		l.failed = err
		return
	}
	profile := colorprofile.ASCII
	if l.look.color {
		profile = colorprofile.ANSI
	}
	// The program draws the first picture, when it gets the size, because it recovers from a panic.
	model := liveModel{read: l.latest, state: l.state, now: time.Now(), look: l.look, width: width, height: height}
	l.restore = disableEcho(l.terminal)
	ctx, kill := context.WithCancel(context.Background())
	l.kill = kill
	l.program = tea.NewProgram(model, tea.WithContext(ctx),
		tea.WithOutput(l.terminal), tea.WithInput(nil), tea.WithoutSignalHandler(),
		tea.WithColorProfile(profile), tea.WithFPS(liveFPS))
	l.done = make(chan struct{})
	go l.run(l.program, l.done)
}

// run draws until the program ends, and then erases the view.
func (l *live) run(p *tea.Program, done chan struct{}) {
	defer close(done)
	last, err := p.Run()
	if err != nil {
		l.mu.Lock()
		l.failed = err
		l.mu.Unlock()
		return
	}
	// The renderer leaves the cursor in the first column of the last line (ECMA-48: CUU, ED).
	up := ""
	if m, ok := last.(liveModel); ok && m.lines() > 1 {
		up = fmt.Sprintf("\x1b[%dA", m.lines()-1)
	}
	fmt.Fprint(l.terminal, "\r"+up+"\x1b[J")
}

// liveFPS is how often a second the renderer checks whether the picture has changed. It changes once a second.
const liveFPS = 2

// suspend erases the picture, calls stop, and draws again.
func (l *live) suspend(stop func()) {
	l.setSuspended(true)
	l.pause()
	stop()
	l.setSuspended(false)
	l.resume()
}

func (l *live) setSuspended(suspended bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.suspended = suspended
}

// pause erases the picture and restores the terminal's settings.
func (l *live) pause() {
	l.mu.Lock()
	program, done, restore, kill := l.program, l.done, l.restore, l.kill
	l.program, l.restore, l.kill = nil, nil, nil
	l.mu.Unlock()
	if program == nil {
		return
	}
	go program.Send(liveEndMsg{}) // blocks if the terminal is stopped
	select {
	case <-done:
	case <-time.After(liveEndPatience):
	}
	kill() // not program.Kill, which panics if the program has not started yet
	restore()
}

// end erases the view and stops handling Ctrl-Z. It returns the error with which the view ended earlier, if any.
func (l *live) end() error {
	if l.stopJobs != nil {
		l.stopJobs()
	}
	l.pause()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed != nil && !errors.Is(l.failed, tea.ErrProgramKilled) || errors.Is(l.failed, tea.ErrProgramPanic) {
		return l.failed
	}
	return nil
}
