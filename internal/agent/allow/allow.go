// Package allow says which commands an agent runs on a host that nothing can log in to: nearfar's own verbs for
// measuring, and a fixed list of measuring tools, with the options that nearfar's plans use.
//
// An agent with this policy is no shell. A command is refused unless every word of it is on the list: no option that
// writes or reads a file, runs a program or detaches from the agent is on it. Words are compared whole, so that the
// abbreviations that tools accept (--auth for --authorized-users-path) are refused too.
package allow

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"nearfar/internal/host"
)

// The limits of a command, in bytes.
const (
	maxArgv  = 16 << 10 // all words together
	maxStdin = 4 << 10
)

// A Policy is what one agent runs.
type Policy struct {
	peers []netip.Prefix
	forms map[string][]form
}

// New makes the policy of a host. system is its runtime.GOOS: ping's options depend on it. peers are the addresses with
// which tools may exchange traffic; none for all.
func New(system string, peers ...netip.Prefix) *Policy {
	return &Policy{peers: peers, forms: programs(system)}
}

// Programs are the measuring tools that the policy knows, in alphabetical order. Beside them it allows host.Self.
func (p *Policy) Programs() []string {
	names := slices.Sorted(maps.Keys(p.forms))
	return slices.DeleteFunc(names, func(name string) bool { return name == host.Self })
}

// Check returns an error that says why a command is refused, or nil.
func (p *Policy) Check(c host.Cmd) error {
	if len(c.Argv) == 0 {
		return errors.New("an empty command")
	}
	length := 0
	for _, word := range c.Argv {
		length += len(word)
		if strings.ContainsFunc(word, func(r rune) bool { return r < ' ' || r == 0x7f || r == 0xfffd }) {
			return fmt.Errorf("the agent refuses a command with control characters: %.100q", word)
		}
	}
	switch {
	case length > maxArgv:
		return fmt.Errorf("the agent refuses a command of %d bytes: at most %d", length, maxArgv)
	case len(c.Stdin) > maxStdin:
		return fmt.Errorf("the agent refuses a standard input of %d bytes: at most %d", len(c.Stdin), maxStdin)
	}
	for _, variable := range c.Env {
		if !slices.Contains(environment(), variable) {
			name, _, _ := strings.Cut(variable, "=")
			return fmt.Errorf("the agent refuses to set the environment variable %.100q", name)
		}
	}
	forms, known := p.forms[c.Argv[0]]
	if !known {
		return fmt.Errorf("the agent refuses %.100q: it runs nearfar's own measurements, and %s", c.Argv[0],
			strings.Join(p.Programs(), ", "))
	}
	at := slices.IndexFunc(forms, func(f form) bool { return f.begins(c.Argv[1:]) })
	if at < 0 {
		return fmt.Errorf("the agent refuses this use of %s: %.200q", c.Argv[0], strings.Join(c.Argv[1:], " "))
	}
	if err := forms[at].check(p, c.Argv[1:]); err != nil {
		return fmt.Errorf("the agent refuses %s: %w", c.Argv[0], err)
	}
	return nil
}

// environment lists all variables that nearfar's plans set.
func environment() []string { return []string{"GODEBUG=asyncpreemptoff=1", "LC_ALL=C"} }

// A check accepts or refuses the value of an option, or an operand.
type check func(p *Policy, value string) error

// A form is one way to use a program.
type form struct {
	// words come first, exactly as they are.
	words []string
	// options are the options and their values; nil for an option without a value. An option whose name ends in "="
	// has its value in the same word. Each may be given once.
	options map[string]check
	// required are the options that must be given.
	required []string
	// operands are the words that are neither options nor their values. More may follow of the last one's kind if
	// repeated is set.
	operands []check
	repeated bool
	// after are the options behind "--"; nil if there must be no "--".
	after map[string]check
}

// begins reports whether a command uses this form.
func (f form) begins(words []string) bool {
	if len(words) < len(f.words) || !slices.Equal(words[:len(f.words)], f.words) {
		return false
	}
	// Forms without words of their own differ in a required option.
	return len(f.words) > 0 || len(f.required) == 0 || slices.Contains(words, f.required[0])
}

func (f form) check(p *Policy, words []string) error {
	words = words[len(f.words):]
	seen := map[string]bool{}
	options, behind, operands := f.options, "", 0
	for len(words) > 0 {
		word := words[0]
		words = words[1:]
		if word == "--" && f.after != nil && behind == "" {
			options, behind = f.after, "-- "
			continue
		}
		name, value, joined := strings.Cut(word, "=")
		if joined {
			name += "="
		}
		accept, known := options[name]
		if known && (joined || !strings.HasSuffix(name, "=")) {
			if seen[behind+name] {
				return fmt.Errorf("option %s twice", name)
			}
			seen[behind+name] = true
			if accept == nil {
				continue
			}
			if !joined {
				if len(words) == 0 {
					return fmt.Errorf("option %s without its value", name)
				}
				value, words = words[0], words[1:]
			}
			if err := accept(p, value); err != nil {
				return fmt.Errorf("option %s: %w", strings.TrimSuffix(name, "="), err)
			}
			continue
		}
		if strings.HasPrefix(word, "-") {
			return fmt.Errorf("option %.100q is not on the agent's list", word)
		}
		at := operands
		if f.repeated {
			at = min(at, len(f.operands)-1)
		}
		if behind != "" || at >= len(f.operands) {
			return fmt.Errorf("%.100q is one word too many", word)
		}
		if err := f.operands[at](p, word); err != nil {
			return err
		}
		operands++
	}
	for _, name := range f.required {
		if !seen[name] {
			return fmt.Errorf("without option %s", name)
		}
	}
	if operands < len(f.operands) {
		return errors.New("a word is missing")
	}
	return nil
}
