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

	"nearfar/internal/onhost/confine"
	"nearfar/internal/onhost/host"
)

// The limits of a command, in bytes.
const (
	maxArgv  = 16 << 10 // all words together
	maxStdin = 4 << 10
)

// A Policy is what one agent runs.
type Policy struct {
	system string
	peers  []netip.Prefix
	forms  map[string][]form
	// commands says that every program is run.
	commands bool
}

// AllowCommands makes the policy allow every program with every argument, as a shell does: the programs of experiments'
// own. nearfar's own verbs stay as they are.
func (p *Policy) AllowCommands() { p.commands = true }

// New makes the policy of a host. system is its runtime.GOOS: ping's options depend on it. peers are the addresses with
// which tools may exchange traffic; none for all.
func New(system string, peers ...netip.Prefix) *Policy {
	return &Policy{system: system, peers: peers, forms: programs(system)}
}

// Programs are the measuring tools that the policy knows, in alphabetical order. Beside them it allows host.Self.
func (p *Policy) Programs() []string {
	names := slices.Sorted(maps.Keys(p.forms))
	return slices.DeleteFunc(names, func(name string) bool { return name == host.Self })
}

// Limit checks a command, and adds words that keep its servers from others than the policy's peers.
func (p *Policy) Limit(c *host.Cmd) error {
	if err := p.Check(*c); err != nil || len(p.peers) == 0 {
		return err
	}
	for _, verb := range serving() {
		if len(c.Argv) > len(verb) && slices.Equal(c.Argv[1:1+len(verb)], verb) {
			limits := []string{"--within", confine.JoinPrefixes(p.peers)}
			c.Argv = slices.Insert(slices.Clone(c.Argv), 1+len(verb), limits...)
		}
	}
	return nil
}

// serving are the verbs of nearfar behind which something may listen. They take --within.
func serving() [][]string {
	return [][]string{{confine.Verb}, {"engine", "serve"}, {"engine", "web"}, {"reach", "serve"}}
}

// Check returns an error that says why a command is refused, or nil.
func (p *Policy) Check(c host.Cmd) error {
	if len(c.Argv) == 0 {
		return errors.New("an empty command")
	}
	length := 0
	for _, word := range c.Argv {
		length += len(word)
		if strings.ContainsFunc(word, p.isControl) {
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
	argv, rights, err := p.confined(c.Argv)
	if err != nil {
		return err
	}
	if p.commands && argv[0] != host.Self && rights == nil {
		return nil
	}
	forms, known := p.forms[argv[0]]
	if !known || rights != nil && argv[0] == host.Self {
		return fmt.Errorf("the agent refuses %.100q: it runs nearfar's own measurements, and %s", argv[0],
			strings.Join(p.Programs(), ", "))
	}
	if argv[0] == host.Self && len(argv) > 2 && argv[1] == "absent" && argv[2] == "--commands" {
		return p.checkCommands()
	}
	if argv[0] == host.Self && len(argv) > 2 && argv[1] == "engine" && slices.Contains(appVerbs(), argv[2]) {
		return p.checkApps()
	}
	at := slices.IndexFunc(forms, func(f form) bool { return f.begins(argv[1:]) })
	if at < 0 {
		return fmt.Errorf("the agent refuses this use of %s: %.200q", argv[0], strings.Join(argv[1:], " "))
	}
	if err := forms[at].check(p, argv[1:]); err != nil {
		return fmt.Errorf("the agent refuses %s: %w", argv[0], err)
	}
	if err := p.checkRights(forms[at].needs, rights); err != nil {
		return fmt.Errorf("the agent refuses %s: %w", argv[0], err)
	}
	return nil
}

// isControl says whether a word may not have a character. Scripts have lines.
func (p *Policy) isControl(r rune) bool {
	return (r < ' ' || r == 0x7f || r == 0xfffd) && (!p.commands || r != '\n' && r != '\t')
}

// checkCommands refuses the question which programs of an experiment's own the host lacks, unless they are run.
func (p *Policy) checkCommands() error {
	if p.commands {
		return nil
	}
	return errors.New("the agent runs no programs of an experiment's own (tool: command): whoever started it did so " +
		"without --allow-command")
}

// appVerbs are the verbs that run the parts of an application. They start programs and dial what they are told to.
func appVerbs() []string { return []string{"app", "database"} }

// checkApps refuses applications, unless programs of an experiment's own are run.
func (p *Policy) checkApps() error {
	if p.commands {
		return nil
	}
	return errors.New("the agent runs no applications (tool: app): whoever started it did so without --allow-command")
}

// confined divides a command line into the program's own words and the options of the verb that confines it; nil
// without that verb.
func (p *Policy) confined(argv []string) (own, options []string, err error) {
	if len(argv) < 2 || argv[0] != host.Self || argv[1] != confine.Verb {
		return argv, nil, nil
	}
	end := slices.Index(argv, "--")
	if end < 0 { // it only says what it can do
		return argv, nil, nil
	}
	if end == len(argv)-1 {
		return nil, nil, errors.New("the agent refuses " + confine.Verb + ": no program is named")
	}
	options = argv[2:end]
	if err := confineForm().check(p, options); err != nil {
		return nil, nil, fmt.Errorf("the agent refuses %s: %w", confine.Verb, err)
	}
	return argv[end+1:], options, nil
}

// confineForm has the options before "--".
func confineForm() form {
	return form{options: map[string]check{
		"--peers": prefixes, "--ports": list(",", maxSockets, port()), "--strict": nil, "--scratch": nil,
		"--congestion": congestion(),
	}}
}

// needs are what a use of a program needs to be confined by.
type needs int

const (
	_ needs = iota
	// asClient needs a user without rights, and asServer in addition its ports. asFileServer needs to be kept from files.
	asClient
	asServer
	asFileServer
)

// checkRights refuses a program that keeps more rights than it needs. Only Linux can take them from it.
func (p *Policy) checkRights(n needs, rights []string) error {
	switch {
	case p.system != "linux":
	case n >= asClient && rights == nil:
		return errors.New("it is only run by " + confine.Verb)
	case n >= asServer && !slices.Contains(rights, "--ports"):
		return errors.New("a server needs --ports of " + confine.Verb)
	case n == asFileServer && !slices.Contains(rights, "--strict"):
		return errors.New("it gives files to its peer, and needs --strict of " + confine.Verb)
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
	// needs is what this use must be confined by.
	needs needs
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
