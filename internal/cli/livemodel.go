package cli

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
)

// liveTick is the interval between two drawings of the view. Its clock shows seconds.
const liveTick = time.Second

// liveModel is the live view as a model for Bubble Tea. Its content depends only on the messages that it received.
type liveModel struct {
	// read returns the latest state. Only the tick calls it.
	read          func() liveState
	state         liveState
	now           time.Time
	width, height int
	look          look
	// picture is the text on the terminal. Its number of lines never decreases while the terminal keeps its size:
	// otherwise the inline renderer of Bubble Tea 2.0.10 loses count of its lines and leaves some on the terminal.
	picture string
}

// liveTickMsg is sent every second, with the current state.
type liveTickMsg struct {
	now   time.Time
	state liveState
}

// liveEndMsg ends the view. Its picture stays until live.run erases it.
type liveEndMsg struct{}

// Init starts the ticks.
func (m liveModel) Init() tea.Cmd { return m.tick() }

func (m liveModel) tick() tea.Cmd {
	return tea.Tick(liveTick, func(now time.Time) tea.Msg { return liveTickMsg{now, m.read()} })
}

// Update handles a message.
func (m liveModel) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case liveTickMsg:
		m.now, m.state = msg.now, msg.state
		return m.draw(m.lines()), m.tick()
	case tea.WindowSizeMsg:
		smaller := msg.Width < m.width || msg.Height < m.height
		m.width, m.height = msg.Width, msg.Height
		if smaller {
			// Most terminals wrap lines that are now too long, and scroll if there are now too many lines. The position
			// of the picture is then unknown, so that the whole terminal is cleared.
			return m.draw(0), tea.Sequence(tea.Raw(clearTerminal), tea.ClearScreen)
		}
		return m.draw(m.lines()), nil
	case liveEndMsg:
		return m, tea.Quit
	}
	return m, nil
}

// clearTerminal clears the visible part of the terminal (ECMA-48: CUP, ED).
const clearTerminal = "\x1b[H\x1b[2J"

// draw draws the view again, with at least least lines.
func (m liveModel) draw(least int) liveModel {
	// The last column stays empty: terminals differ in the position of the cursor after a character there.
	m.picture = m.state.view(m.width-1, m.height, m.now, m.look)
	m.picture += strings.Repeat("\n", max(0, least-m.lines()))
	return m
}

// lines returns the number of lines of the picture.
func (m liveModel) lines() int {
	if m.picture == "" {
		return 0
	}
	return strings.Count(m.picture, "\n") + 1
}

// View returns the picture.
func (m liveModel) View() tea.View {
	var v tea.View
	v.DisableBracketedPasteMode = true // no input is read
	v.SetContent(m.picture)
	return v
}
