package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nearfar/internal/base/clean"
	"nearfar/internal/declare/experiment"
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
	if hint := fileHint(verb); hint != "" {
		return seeHelp(cmd, fmt.Errorf("%s is not a command: %s", clean.Quote(verb), hint))
	}
	message := fmt.Sprintf("unknown command %s for %q", clean.Quote(verb), cmd.CommandPath())
	if near := experiment.Nearest(verb, known); near != "" {
		message += fmt.Sprintf(": did you mean %q?", cmd.CommandPath()+" "+near)
	}
	return seeHelp(cmd, errors.New(message))
}

// fileHint says what to do with a file or a run directory that stands where a verb is expected; "" for other words.
func fileHint(word string) string {
	name := clean.Line(word)
	if info, err := os.Stat(word); err == nil && info.IsDir() {
		if _, err := os.Stat(filepath.Join(word, "run.json")); err == nil {
			return "to print the answer of this run: nearfar report " + name
		}
		return "to list the runs of this folder: nearfar history " + name
	}
	if ext := filepath.Ext(word); ext == ".yaml" || ext == ".yml" {
		return "to measure what a file declares: nearfar run " + name
	}
	return ""
}

// flagError explains the error of a flag. args are all arguments of the program.
func flagError(cmd *cobra.Command, args []string, err error) error {
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return seeHelp(cmd, fmt.Errorf("--%s %s: %s",
			invalid.GetFlag().Name, clean.Quote(invalid.GetValue()), wanted(invalid)))
	}
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

// wanted says what the value of a flag is to be.
func wanted(e *pflag.InvalidValueError) string {
	switch e.GetFlag().Value.Type() {
	case "int":
		return "write a whole number, such as 20"
	case "uint64":
		return "write a whole number from 0 on, such as 7"
	case "duration":
		return "write a duration, such as 500ms, 30s or 10m"
	case "bool":
		return "write true or false"
	}
	if cause := errors.Unwrap(e); cause != nil {
		return cause.Error()
	}
	return e.Error()
}

// verbAfter returns the word at the position where the command expects a verb. It returns "" if the command has no
// verbs, or if there is a flag at this position, because the next word may be the flag's value.
func verbAfter(cmd *cobra.Command, args []string) string {
	if !cmd.HasAvailableSubCommands() {
		return ""
	}
	var path []string
	for c := cmd; c.HasParent(); c = c.Parent() {
		path = slices.Insert(path, 0, c.Name())
	}
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
