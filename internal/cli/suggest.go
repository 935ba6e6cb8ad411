package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nearfar/internal/clean"
	"nearfar/internal/experiment"
)

// suggestVerb refuses arguments of a command that takes only verbs, and suggests a verb.
func suggestVerb(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return unknownVerb(cmd, args[0])
}

func unknownVerb(cmd *cobra.Command, verb string) error {
	var known []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			known = append(known, c.Name())
		}
	}
	message := fmt.Sprintf("unknown command %s for %q", clean.Quote(verb), cmd.CommandPath())
	if near := experiment.Nearest(verb, known); near != "" {
		message += fmt.Sprintf(": did you mean %q?", cmd.CommandPath()+" "+near)
	}
	return seeHelp(cmd, errors.New(message))
}

// flagError explains the error of a flag. args are all arguments of the program.
func flagError(cmd *cobra.Command, args []string, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return seeHelp(cmd, err)
	}
	// The flags after a misspelt verb are unknown too, but the verb is the mistake.
	if verb := verbAfter(cmd, args); verb != "" {
		return unknownVerb(cmd, verb)
	}
	// A long flag with only one dash was read as a sequence of one-letter flags.
	name := unknown.GetSpecifiedName()
	if letters := unknown.GetSpecifiedShortnames(); letters != "" {
		name, _, _ = strings.Cut(letters, "=")
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			known = append(known, f.Name)
		}
	})
	if near := experiment.Nearest(name, known); near != "" && len(name) > 1 {
		err = fmt.Errorf("%w: did you mean --%s?", err, near)
	}
	return seeHelp(cmd, err)
}

// verbAfter returns the word at the position where the command expects a verb. It returns "" if the command has no
// verbs, or if there is a flag at this position, because the next word may be the flag's value.
func verbAfter(cmd *cobra.Command, args []string) string {
	if !cmd.HasAvailableSubCommands() {
		return ""
	}
	path := strings.Fields(cmd.CommandPath())[1:]
	for _, arg := range args {
		switch {
		case strings.HasPrefix(arg, "-"):
			return ""
		case len(path) > 0 && arg == path[0]:
			path = slices.Delete(path, 0, 1)
		default:
			return arg
		}
	}
	return ""
}

func seeHelp(cmd *cobra.Command, err error) error {
	return usagef("%w\nSee '%s --help'", err, cmd.CommandPath())
}
