package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nearfar/internal/onhost/hostverbs"
)

// TestCanaryInArguments gives the canary to every verb as an argument and to each of its flags as a value.
func TestCanaryInArguments(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv(hostverbs.SecretVariable, "")
	text := strings.ReplaceAll(canary, "\x00", "") + "\x9b"
	var walk func(cmd *cobra.Command, verb []string)
	walk = func(cmd *cobra.Command, verb []string) {
		words := func(more ...string) []string { return append(slices.Clone(verb), more...) }
		nearfarSays(t, "argument", words(text)...)
		nearfarSays(t, "flag", words("--"+text)...)
		nearfarSays(t, "arguments", words(text, text, text)...)
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			nearfarSays(t, "--"+f.Name, words("--"+f.Name+"="+text, text)...)
			nearfarSays(t, "--"+f.Name, words("--"+f.Name+"="+text, text, text)...)
		})
		for _, below := range cmd.Commands() {
			walk(below, words(below.Name()))
		}
	}
	walk((&app{}).rootCommand(), nil)
	for _, words := range [][]string{{"report", ""}, {"compare", "", ""}, {"history", "--arm", ""}, {"run", ""},
		{text, ""}} {
		nearfarSays(t, "completion", append([]string{cobra.ShellCompRequestCmd}, words...)...)
		nearfarSays(t, "completion", append([]string{cobra.ShellCompRequestCmd, words[0]}, text)...)
	}
}

// TestCanaryInFileNames has run directories, experiment files and recorded outputs whose names contain the canary.
func TestCanaryInFileNames(t *testing.T) {
	ping, err := os.ReadFile(recordedOutput(t, "ping"))
	if err != nil {
		t.Fatal(err)
	}
	parent := t.TempDir()
	t.Chdir(parent)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(parent, "cache"))
	evil := canary + "\x9b"
	for i, name := range []string{"good", evil, evil + "2"} {
		m := canaryRun()
		m.day = i
		if err := m.write(filepath.Join("runs", name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join("runs", evil+"broken"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		filepath.Join("runs", evil+"broken", "run.json"): "{",
		evil + ".yaml": "nearfar: v2\n", evil + ".txt": string(ping), evil + ".none": "nothing",
	} {
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run := filepath.Join("runs", evil)
	for _, args := range [][]string{
		{"report"}, {"report", run}, {"report", run, run}, {"report", "-f", "markdown", run},
		{"report", "-f", "csv", run}, {"report", run + "broken"},
		{"compare"}, {"compare", run, run + "2"}, {"compare", run + ":l2", run + ":vxlan"},
		{"compare", run + ":none", run}, {"compare", run, evil + ".txt"},
		{"gate"}, {"gate", run}, {"gate", run, run + "2", "--fail-if", "rr rtt.p50 > +5%"}, {"history"},
		{"history", run}, {"serve", evil + ".txt"},
		{"validate", evil + ".yaml"}, {"validate", evil + ".yaml", evil + ".none"}, {"run", evil + ".yaml"},
		{"run", "--resume", run + "broken"},
		{"import", evil + ".txt"}, {"import", evil + ".none"},
		{"import", "--run", "x", "--arm", "a=" + evil + ".txt", "--arm", "b=" + evil + ".none"},
		{"import", "--run", "x", "--out", evil, "--arm", "a=" + evil + ".txt"},
		{"init", "paths", evil + "new.yaml"}, {"init", "paths", evil + "new.yaml"},
		{"report", "-o", filepath.Join(evil+"gone", "x"), run},
		{"report", "-f", "html", "-o", filepath.Join(evil+"gone", "x"), run},
	} {
		nearfarSays(t, "file names", args...)
	}
}

// recordedOutput returns the path of a recorded output of a tool.
func recordedOutput(t *testing.T, tool string) string {
	t.Helper()
	names := recordedOutputs(t)
	i := slices.IndexFunc(names, func(name string) bool {
		return strings.Contains(name, string(filepath.Separator)+tool+string(filepath.Separator))
	})
	if i < 0 {
		t.Fatalf("no recorded output of %s", tool)
	}
	return names[i]
}

// recordedOutputs lists the recorded outputs that the tests of the tools read, as absolute paths. The working directory
// must be the package's.
func recordedOutputs(t *testing.T) []string {
	t.Helper()
	var names []string
	root, err := filepath.Abs(filepath.Join("..", "measure", "tool", "testdata"))
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(root, func(name string, entry os.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && !strings.Contains(name, "fuzz") {
			names = append(names, name)
		}
		return err
	})
	if err != nil || len(names) == 0 {
		t.Fatalf("%d recorded outputs: %v", len(names), err)
	}
	return names
}

// TestCanaryInExperimentFiles puts the canary into each value, each key and each line of the templates: as escapes in
// YAML quotes, and unescaped.
func TestCanaryInExperimentFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	const quoted = `"\e]0;owned\a\e[2J\x9b2J\r\u202E\u2066\u2028\u200B\x7F"`
	pair := regexp.MustCompile(`^(\s*(?:- )?)([\w-]+):(.*)$`)
	n := 0
	try := func(lines []string) {
		n++
		if err := os.WriteFile("e.yaml", []byte(strings.Join(lines, "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
		nearfarSays(t, fmt.Sprintf("%q", strings.Join(lines, "\n")), "validate", "e.yaml")
	}
	for _, template := range templateNames() {
		text, err := templateText(template)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(text), "\n")
		for i, line := range lines {
			m := pair.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			for _, other := range []string{
				m[1] + m[2] + ": " + quoted, m[1] + quoted + ":" + m[3], m[1] + m[2] + ": [" + quoted + "]",
				line + canary, line + " " + canary + "\x9b", canary + line,
			} {
				changed := slices.Clone(lines)
				changed[i] = other
				try(changed)
			}
		}
	}
	if n < 100 {
		t.Errorf("only %d files", n)
	}
}

// TestCanaryInImports puts the canary into the lines and the words of recorded outputs.
func TestCanaryInImports(t *testing.T) {
	names := recordedOutputs(t)
	t.Chdir(t.TempDir())
	const lines = 3 // of each file
	word := regexp.MustCompile(`[A-Za-z][A-Za-z_]+`)
	try := func(what, text string) {
		if err := os.WriteFile("out", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		nearfarSays(t, what, "import", "out")
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if len(data) > 64<<10 {
			continue
		}
		all := strings.SplitAfter(string(data), "\n")
		for i := 0; i < len(all) && i < lines; i++ {
			changed := slices.Clone(all)
			middle := len(changed[i]) / 2
			changed[i] = changed[i][:middle] + canary + changed[i][middle:]
			try(fmt.Sprintf("%s, line %d", filepath.Base(name), i+1), strings.Join(changed, ""))
		}
		marked := func(s string) string { return s + canary }
		try(filepath.Base(name)+", words", word.ReplaceAllStringFunc(string(data), marked))
		for _, format := range []string{"iperf3", "sockperf", "netperf", "ping", "native"} {
			nearfarSays(t, filepath.Base(name)+" as "+format, "import", "--tool", format, "out")
		}
	}
}

// TestCanaryInRules inserts the canary at each position of a rule, on the command line and in the objectives of a run.
func TestCanaryInRules(t *testing.T) {
	run := made(t, "run", canaryRun())
	rule := "vxlan rr rtt.p99 > +5%"
	for at := range len(rule) + 1 {
		text := rule[:at] + canary + rule[at:]
		nearfarSays(t, "--fail-if", "gate", run, "--fail-if", text)
		nearfarSays(t, "--require", "gate", run, "--require", text+"\x9b")
		m := canaryRun()
		m.objectives = []string{text}
		other := made(t, fmt.Sprint(at), m)
		nearfarSays(t, "objective", "gate", other)
		nearfarSays(t, "objective", "report", other)
	}
}
