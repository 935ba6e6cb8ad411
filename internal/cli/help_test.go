package cli

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// everyVerb calls do for each verb that users see.
func everyVerb(t *testing.T, do func(*cobra.Command)) {
	t.Helper()
	a := &app{stdin: strings.NewReader(""), stdout: &bytes.Buffer{}, stderr: &bytes.Buffer{}, last: &lastWords{}}
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		do(c)
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				walk(sub)
			}
		}
	}
	walk(a.rootCommand())
}

// TestHelpFits: at each width the help fits, a flag has one default, and the names of values are in capitals.
func TestHelpFits(t *testing.T) {
	capitals := regexp.MustCompile(`^[][A-Z0-9@_.:/=-]+$`)
	everyVerb(t, func(c *cobra.Command) {
		for _, width := range []int{40, 80, 120} {
			for line := range strings.SplitSeq(flagsText(c.LocalFlags(), width), "\n") {
				// A long flag without room beside it is alone in its line.
				if len(line) > width && !strings.HasPrefix(strings.TrimSpace(line), "-") {
					t.Errorf("%s at %d columns: %q", c.CommandPath(), width, line)
				}
			}
			if strings.HasPrefix(c.CommandPath(), "nearfar completion ") {
				continue // the library's
			}
			for line := range strings.SplitSeq(reflow(c.Long, width), "\n") {
				if len(line) > width && !strings.HasPrefix(line, " ") && strings.Contains(line, " ") {
					t.Errorf("%s at %d columns: %q", c.CommandPath(), width, line)
				}
			}
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			name, _ := valueName(f)
			if name != "" && !capitals.MatchString(name) {
				t.Errorf("%s --%s: the value is called %q", c.CommandPath(), f.Name, name)
			}
		})
		if n := strings.Count(flagsText(c.LocalFlags(), 10_000), "(default"); n > 0 {
			for line := range strings.SplitSeq(flagsText(c.LocalFlags(), 10_000), "\n") {
				if strings.Count(line, "(default") > 1 {
					t.Errorf("%s: two defaults: %q", c.CommandPath(), line)
				}
			}
		}
	})
}

// TestTerminalWidth: COLUMNS says how wide the output is, if it is a number.
func TestTerminalWidth(t *testing.T) {
	for value, want := range map[string]int{"40": 40, "": 0, "x": 0, "-3": 0, "0": 0, "999999": mostColumns} {
		getenv := func(name string) string { return map[string]string{"COLUMNS": value}[name] }
		if got := terminalWidth(&bytes.Buffer{}, getenv); got != want {
			t.Errorf("COLUMNS=%s: %d columns, want %d", value, got, want)
		}
	}
}

// TestVerbsAreInGroups: each verb is in a group of the help.
func TestVerbsAreInGroups(t *testing.T) {
	everyVerb(t, func(c *cobra.Command) {
		if c.Parent() != nil && c.Parent().Parent() == nil && c.GroupID == "" {
			t.Errorf("%s is in no group", c.Name())
		}
	})
}

func TestShownDefault(t *testing.T) {
	f := pflag.NewFlagSet("x", pflag.ContinueOnError)
	for name, c := range map[string]struct {
		seconds int64
		want    string
	}{"a": {600, "10m"}, "b": {30, "30s"}, "c": {3600, "1h0m"}, "d": {0, ""}, "e": {90, "1m30s"}} {
		f.Duration(name, 1e9*time.Duration(c.seconds), "")
		if got := shownDefault(f.Lookup(name)); got != c.want {
			t.Errorf("%d s is %q, want %q", c.seconds, got, c.want)
		}
	}
}
