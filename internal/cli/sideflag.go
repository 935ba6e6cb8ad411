package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

// sideFlag begins the second side: its value and all names behind it belong to that side.
type sideFlag struct {
	flags *pflag.FlagSet
	// named are the values, before how many names came before the first; -1 where the flag was not given.
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

// Set takes one value, and remembers where it stood.
func (s *sideFlag) Set(value string) error {
	if s.before < 0 {
		s.before = s.flags.NArg()
	}
	s.named = append(s.named, value)
	return nil
}

// sides parts the names into two sides: at the flag, or of two names one each. Both are empty where there are no names; the
// second is where there is one.
func (s *sideFlag) sides(args []string, flag string) (base, other []string, err error) {
	switch {
	case s.before >= 0:
		base = args[:s.before]
		other = append(append([]string{}, s.named...), args[s.before:]...)
		if len(base) == 0 {
			return nil, nil, &usageError{fmt.Errorf("nothing stands before --%s: name the other side first", flag)}
		}
		return base, other, nil
	case len(args) > 2:
		return nil, nil, &usageError{fmt.Errorf("%d names and two sides: write --%s before those of the second side", len(args), flag)}
	case len(args) == 2:
		return args[:1], args[1:], nil
	}
	return args, nil, nil
}
