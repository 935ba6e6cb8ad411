package cli

import (
	"strings"

	"github.com/spf13/pflag"
)

// sideFlag is a flag that starts the second side: its value and all names after it belong to that side.
type sideFlag struct {
	flags *pflag.FlagSet
	// named are the flag's values. before is how many names came before the first value; -1 if the flag is not given.
	named  []string
	before int
}

func newSideFlag(flags *pflag.FlagSet, name, usage string) *sideFlag {
	s := &sideFlag{flags: flags, before: -1}
	flags.Var(s, name, usage)
	return s
}

func (s *sideFlag) String() string { return strings.Join(s.named, " ") }

// Type names the value in the help.
func (s *sideFlag) Type() string { return "side" }

// Set adds a value, and records the position of the first one.
func (s *sideFlag) Set(value string) error {
	if s.before < 0 {
		s.before = s.flags.NArg()
	}
	s.named = append(s.named, value)
	return nil
}

// sides divides the names into two sides. The flag starts the second side; without it each of two names is a side. Both
// sides are empty without names, and the second is empty if there is only one name.
func (s *sideFlag) sides(args []string, flag string) (base, other []string, err error) {
	switch {
	case s.before >= 0:
		base = args[:s.before]
		other = append(append([]string{}, s.named...), args[s.before:]...)
		if len(base) == 0 {
			return nil, nil, usagef("no name comes before --%s: name the first side there", flag)
		}
		return base, other, nil
	case len(args) > 2:
		return nil, nil, usagef("%d names and two sides: write --%s before the names of the second side",
			len(args), flag)
	case len(args) == 2:
		return args[:1], args[1:], nil
	}
	return args, nil, nil
}
