package provision

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// event is a line that the program writes with -json (OpenTofu documentation, "Machine-Readable UI"). Only what nearfar
// uses is read; other types of events and other keys are ignored.
type event struct {
	Type   string `json:"type"`
	Change struct {
		Resource resource `json:"resource"`
		Action   string   `json:"action"`
	} `json:"change"`
	Changes struct {
		Add    int `json:"add"`
		Change int `json:"change"`
		Remove int `json:"remove"`
	} `json:"changes"`
	Hook struct {
		Resource resource `json:"resource"`
		Action   string   `json:"action"`
		Elapsed  float64  `json:"elapsed_seconds"`
		IDValue  string   `json:"id_value"`
	} `json:"hook"`
	Diagnostic *diagnostic `json:"diagnostic"`
}

type resource struct {
	Addr string `json:"addr"`
}

// diagnostic is an error or a warning of the program or a provider.
type diagnostic struct {
	Severity string `json:"severity"`
	Summary  string `json:"summary"`
	Detail   string `json:"detail"`
	Address  string `json:"address"`
}

// Limits of the output of the program that is read.
const (
	maxLine        = 1 << 20 // bytes; longer lines are ignored
	maxDiagnostics = 100
	maxShown       = 2000 // characters of one text
)

// lines reads the lines of a program, however its output grows.
type lines struct {
	// on gets each line without its end. It must not keep it. It is nil if nobody reads them.
	on func(line []byte)
	// part is a line whose end has not been read yet. long says that it is too long and ignored.
	part []byte
	long bool
}

// Write takes the next bytes of the program's output. It never fails.
func (l *lines) Write(data []byte) (int, error) {
	n := len(data)
	for len(data) > 0 {
		line, rest, whole := bytes.Cut(data, []byte("\n"))
		if data = rest; !l.long {
			l.part = append(l.part, line...)
		}
		if len(l.part) > maxLine {
			l.part, l.long = nil, true
		}
		if whole {
			l.end()
		}
	}
	return n, nil
}

// end ends a line.
func (l *lines) end() {
	if !l.long && l.on != nil {
		l.on(l.part)
	}
	l.part, l.long = l.part[:0], false
}

// flush ends a last line that has no end, after the program has ended.
func (l *lines) flush() {
	if len(l.part) > 0 {
		l.end()
	}
}

// events reads the lines of the program that are events. Others are ignored.
type events struct {
	on func(event)
	// errors are the diagnostics that are errors, at most maxDiagnostics.
	errors []diagnostic
	// printing is the resource whose commands have printed last; empty for none.
	printing string
}

// line reads one line.
func (e *events) line(line []byte) {
	var one event
	if len(line) == 0 || line[0] != '{' || json.Unmarshal(line, &one) != nil {
		return
	}
	one.Hook.Resource.Addr, one.Change.Resource.Addr = short(one.Hook.Resource.Addr), short(one.Change.Resource.Addr)
	one.Change.Action = short(one.Change.Action)
	if one.Type == "provision_progress" {
		e.printing = one.Hook.Resource.Addr
	}
	if d := one.Diagnostic; d != nil {
		d.Summary, d.Detail, d.Address = short(d.Summary), short(d.Detail), short(d.Address)
		if d.Severity == "error" && len(e.errors) < maxDiagnostics {
			e.errors = append(e.errors, *d)
		}
	}
	if e.on != nil {
		e.on(one)
	}
}

// short cuts a text to maxShown characters.
func short(text string) string {
	text = strings.ToValidUTF8(text, "?")
	if runes := []rune(text); len(runes) > maxShown {
		return string(runes[:maxShown]) + "..."
	}
	return text
}

// progress says in a line what an event is about; empty if it is not about progress.
func (e event) progress() string {
	what := e.Hook.Resource.Addr
	words, known := actionWords()[e.Hook.Action]
	if !known || what == "" {
		return ""
	}
	took := elapsed(e.Hook.Elapsed)
	switch e.Type {
	case "apply_start":
		return what + ": " + words.doing
	case "apply_progress":
		return fmt.Sprintf("%s: still %s after %s", what, words.doing, took)
	case "apply_complete":
		return fmt.Sprintf("%s: %s in %s", what, words.done, took)
	case "apply_errored":
		return fmt.Sprintf("%s: failed after %s", what, took)
	}
	return ""
}

// elapsed writes whole seconds. The number comes from outside and can be anything.
func elapsed(seconds float64) string {
	const most = 1e6
	if !(seconds >= 0 && seconds <= most) {
		return "an unknown time"
	}
	return (time.Duration(seconds) * time.Second).String()
}

func actionWords() map[string]struct{ doing, done string } {
	return map[string]struct{ doing, done string }{
		"create": {"creating", "created"}, "update": {"changing", "changed"}, "delete": {"deleting", "deleted"},
		"read": {"reading", "read"},
	}
}

// text writes a diagnostic as one line.
func (d diagnostic) text() string {
	text := d.Summary
	if d.Detail != "" {
		text += ": " + strings.Join(strings.Fields(d.Detail), " ")
	}
	if d.Address != "" && !strings.Contains(text, d.Address) {
		text = d.Address + ": " + text
	}
	return text
}
