package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nearfar/internal/experiment"
)

// suggestVerb refuses an argument where only verbs are known, and says which verb is meant.
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
	message := fmt.Sprintf("unknown command %q for %q", cell(verb), cmd.CommandPath())
	if near := experiment.Nearest(verb, known); near != "" {
		message += fmt.Sprintf(": did you mean %q?", cmd.CommandPath()+" "+near)
	}
	return seeHelp(cmd, errors.New(message))
}

// flagError explains a flag that cannot be read. args are all arguments of the program.
func flagError(cmd *cobra.Command, args []string, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return seeHelp(cmd, err)
	}
	// What comes behind a misspelt verb are flags of that verb, which here nobody knows.
	if verb := verbBehind(cmd, args); verb != "" {
		return unknownVerb(cmd, verb)
	}
	// A long flag with one dash is read as letters.
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

// verbBehind is the word that stands where a command expects a verb; empty where the command has no verbs, or a flag stands
// there, whose value the next word may be.
func verbBehind(cmd *cobra.Command, args []string) string {
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
	return &usageError{fmt.Errorf("%w\nSee '%s --help'", err, cmd.CommandPath())}
}
