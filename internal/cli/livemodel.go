package cli

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
)

// liveTick is how often the view is drawn at most, and how often while nothing ends: the clock in it goes by seconds.
const liveTick = time.Second

// liveModel is the live view for Bubble Tea: what it shows depends only on the messages that it got.
type liveModel struct {
	// read gives the latest state; only the tick calls it.
	read          func() liveState
	state         liveState
	now           time.Time
	width, height int
	look          look
	// picture is what stands on the terminal. It never gets lower while the terminal stays as large: the renderer would lose
	// count of its lines (Bubble Tea 2.0.10, inline) and leave some behind.
	picture string
}

// liveTickMsg is a second that has gone by, with the state at its end.
type liveTickMsg struct {
	now   time.Time
	state liveState
}

// liveEndMsg ends the view. Its picture stays until live.run takes it away.
type liveEndMsg struct{}

// Init begins the ticks.
func (m liveModel) Init() tea.Cmd { return m.tick() }

func (m liveModel) tick() tea.Cmd {
	return tea.Tick(liveTick, func(now time.Time) tea.Msg { return liveTickMsg{now, m.read()} })
}

// Update takes over what a message says.
func (m liveModel) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case liveTickMsg:
		m.now, m.state = msg.now, msg.state
		return m.draw(m.lines()), m.tick()
	case tea.WindowSizeMsg:
		smaller := msg.Width < m.width || msg.Height < m.height
		m.width, m.height = msg.Width, msg.Height
		if smaller {
			// Most terminals wrap the lines that are now too long, and scroll what is now too high: where the picture began
			// can no longer be known.
			return m.draw(0), tea.Sequence(tea.Raw(clearTerminal), tea.ClearScreen)
		}
		return m.draw(m.lines()), nil
	case liveEndMsg:
		return m, tea.Quit
	}
	return m, nil
}

// clearTerminal clears what is to be seen of the terminal (ECMA-48: CUP, ED).
const clearTerminal = "\x1b[H\x1b[2J"

// draw makes the picture anew, with so many lines at least.
func (m liveModel) draw(least int) liveModel {
	// The last column stays free: terminals differ in where the cursor stands after it.
	m.picture = m.state.view(m.width-1, m.height, m.now, m.look)
	m.picture += strings.Repeat("\n", max(0, least-m.lines()))
	return m
}

// lines is how many lines the picture has.
func (m liveModel) lines() int {
	if m.picture == "" {
		return 0
	}
	return strings.Count(m.picture, "\n") + 1
}

// View gives the picture.
func (m liveModel) View() tea.View {
	var v tea.View
	v.DisableBracketedPasteMode = true // nobody reads what is pasted
	v.SetContent(m.picture)
	return v
}
