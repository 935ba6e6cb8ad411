package cli

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nearfar/internal/base/prose"
)

// helpWidth is the width of help that does not go to a terminal. Help is at least helpLeast columns wide.
const (
	helpWidth = 100
	helpLeast = 40
)

// verbGroup is a group of verbs in the help.
type verbGroup struct {
	id, title string
	verbs     []string
}

// verbGroups lists the groups and their verbs, in the order of the help.
func verbGroups() []verbGroup {
	return []verbGroup{
		{"measure", "Measure", []string{"init", "validate", "check", "run", "baseline", "bisect", "kube"}},
		{"look", "Look", []string{"report", "inside", "compare", "gate", "history", "serve", "import"}},
		{"machines", "Machines", []string{"up", "down", "ls", "agent"}},
		{"clouds", "Clouds and clusters", []string{"migrate-pool", "image"}},
		{"tools", "Tools", []string{"doctor", "engine", "schema", "completion", "version", "help"}},
	}
}

// helpFor gives all verbs of a command one form of help, which fits the terminal. typed writes commands as the user
// types them.
func helpFor(root *cobra.Command, stdout io.Writer, typed func(string) string) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, g := range verbGroups() {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, c := range root.Commands() {
			if slices.Contains(g.verbs, c.Name()) {
				c.GroupID = g.id
			}
		}
	}
	width := helpWidth
	if w := terminalWidth(stdout, os.Getenv); w > 0 {
		width = max(w, helpLeast)
	}
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		_, err := io.WriteString(cmd.OutOrStderr(), usageText(cmd, width, typed))
		return err
	})
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		about := typed(cmp.Or(cmd.Long, cmd.Short))
		fmt.Fprintf(cmd.OutOrStdout(), "%s\n\n%s", reflow(about, width), usageText(cmd, width, typed))
	})
}

// usageText is the usage of a command: its arguments, examples, verbs and flags.
func usageText(cmd *cobra.Command, width int, typed func(string) string) string {
	var b strings.Builder
	b.WriteString("Usage:\n")
	if cmd.Runnable() {
		b.WriteString("  " + cmd.UseLine() + "\n")
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString("  " + cmd.CommandPath() + " [command]\n")
	}
	if cmd.HasExample() {
		b.WriteString("\nExamples:\n" + typed(cmd.Example) + "\n")
	}
	groups := cmd.Groups()
	if len(groups) == 0 && cmd.HasAvailableSubCommands() {
		groups = []*cobra.Group{{Title: "Commands"}}
	}
	widest := 0
	for _, c := range cmd.Commands() {
		widest = max(widest, len(c.Name()))
	}
	for _, g := range groups {
		fmt.Fprintf(&b, "\n%s:\n", g.Title)
		for _, c := range cmd.Commands() {
			if c.GroupID == g.ID && (c.IsAvailableCommand() || c.Name() == "help") {
				b.WriteString(entry("  "+pad(c.Name(), widest), c.Short, width))
			}
		}
	}
	for _, part := range []struct {
		title string
		flags *pflag.FlagSet
	}{{"Flags", cmd.LocalFlags()}, {"Flags of all commands", cmd.InheritedFlags()}} {
		if part.flags.HasAvailableFlags() {
			fmt.Fprintf(&b, "\n%s:\n%s", part.title, flagsText(part.flags, width))
		}
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n%s\n",
			reflow(fmt.Sprintf("Use \"%s [command] --help\" for more about a command.", cmd.CommandPath()), width))
	}
	return b.String()
}

// flagsText lists flags, each with the name of its value in capitals, what it does, and its default, once.
func flagsText(flags *pflag.FlagSet, width int) string {
	type line struct{ left, right string }
	var lines []line
	widest := 0
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, usage := valueName(f)
		left := "      --" + f.Name
		if f.Shorthand != "" {
			left = "  -" + f.Shorthand + ", --" + f.Name
		}
		if value != "" {
			left += " " + value
		}
		if d := shownDefault(f); d != "" && !strings.Contains(usage, "(default") {
			usage += " (default " + d + ")"
		}
		lines = append(lines, line{left, usage})
		widest = max(widest, len(left))
	})
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(entry(pad(l.left, widest), l.right, width))
	}
	return b.String()
}

// valueName is the name of a flag's value, in capitals, and the flag's description; the name is empty if the flag
// needs no value. The description has the name between back quotes, or the name follows from the kind of value.
func valueName(f *pflag.Flag) (name, usage string) {
	name, usage = pflag.UnquoteUsage(f)
	if quoted := strings.Count(f.Usage, "`") == 2; quoted {
		upper := strings.ToUpper(name)
		return upper, strings.Replace(usage, name, upper, 1)
	}
	switch f.Value.Type() {
	case "bool":
		return "", usage
	case "int", "uint64":
		return "N", usage
	case "duration":
		return "DURATION", usage
	}
	words := strings.Split(f.Name, "-")
	switch last := words[len(words)-1]; last {
	case "out":
		return "DIRECTORY", usage
	case "output", "file":
		return "FILE", usage
	default:
		return strings.ToUpper(last), usage
	}
}

// shownDefault is a flag's default as the help shows it; empty if there is none.
func shownDefault(f *pflag.Flag) string {
	switch f.DefValue {
	case "", "0", "false", "[]", "0s":
		return ""
	}
	if minutes, whole := strings.CutSuffix(f.DefValue, "m0s"); whole && f.Value.Type() == "duration" {
		return minutes + "m"
	}
	return f.DefValue
}

// pad fills a text with spaces.
func pad(text string, width int) string { return text + strings.Repeat(" ", max(0, width-len(text))) }

// entry is a line of a list: what it is, and what that does. If the line is narrow, the second part stands below.
func entry(left, right string, width int) string {
	indent := len(left) + 3
	if indent > width/2 {
		return strings.TrimRight(left, " ") + "\n" + prose.Wrap(right, "        ", width)
	}
	lines := strings.Split(strings.TrimRight(prose.Wrap(right, "", max(width-indent-2, helpLeast/2)), "\n"), "\n")
	text := left + "   " + lines[0] + "\n"
	for _, l := range lines[1:] {
		text += strings.Repeat(" ", indent) + strings.TrimSpace(l) + "\n"
	}
	return text
}

// reflow breaks the paragraphs of a text into lines of a width. Lines that begin with a space or a hyphen are a
// list and stay.
func reflow(text string, width int) string {
	var lines []string
	line := ""
	flush := func() {
		if line != "" {
			lines, line = append(lines, line), ""
		}
	}
	for from := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		if from == "" || strings.HasPrefix(from, " ") || strings.HasPrefix(from, "- ") {
			flush()
			lines = append(lines, from)
			continue
		}
		for word := range strings.FieldsSeq(from) {
			if line != "" && len(line)+1+len(word) > width {
				flush()
			}
			line = strings.TrimPrefix(line+" "+word, " ")
		}
	}
	flush()
	return strings.Join(lines, "\n")
}
