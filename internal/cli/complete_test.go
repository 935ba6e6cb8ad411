package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// completed returns the words that the shell offers after the given words, of which the last is incomplete. The
// directive says what else the shell does, such as offering files.
func completed(t *testing.T, words ...string) (offered []string, directive string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	args := append([]string{cobra.ShellCompNoDescRequestCmd}, words...)
	if code := Main(args, strings.NewReader(""), &stdout, &stderr); code != exitDone {
		t.Fatalf("%q: exit code %d\n%s", words, code, stderr.String())
	}
	lines := strings.Split(strings.TrimSuffix(stdout.String(), "\n"), "\n")
	return lines[:len(lines)-1], lines[len(lines)-1]
}

const (
	directiveDefault = ":0"  // files
	directiveNoFile  = ":4"  // nothing else
	directiveExt     = ":8"  // files that end so
	directiveDirs    = ":16" // directories
)

// The words that flags and arguments can be, where they do not depend on files.
func TestCompletionOfWords(t *testing.T) {
	for _, c := range []struct {
		words     string
		want      string
		directive string
	}{
		{"run -f ", "terminal markdown csv json html", directiveNoFile},
		{"report --format par", "parquet parquet-histograms", directiveNoFile},
		{"gate -f ", "terminal markdown json junit github html", directiveNoFile},
		{"history -f ", "terminal markdown csv json", directiveNoFile},
		{"history --metric goo", "goodput", directiveNoFile},
		{"schema -f ", "json markdown", directiveNoFile},
		{"validate -f ", "terminal json", directiveNoFile},
		{"run --progress ", "auto plain live none", directiveNoFile},
		{"gate --inconclusive ", "pass fail", directiveNoFile},
		{"import --tool sock", "sockperf", directiveNoFile},
		{"engine rr --wait ", "block busy-poll epoll spin", directiveNoFile},
		{"engine load --wait ", "block epoll spin", directiveNoFile},
		{"engine stream --direction ", "upload download both", directiveNoFile},
		{"init ", "paths knobs load ssh kubernetes", directiveNoFile},
		{"kube --through ", "pod ClusterIP NodePort headless LoadBalancer", directiveNoFile},
		{"kube --tool n", "native netperf ntttcp", directiveNoFile},
		{"kube --from ", "yaml yml", directiveExt},
		{"kube --out ", "", directiveDirs},
		{"kube ", "", directiveNoFile},
		{"image --platform linux/", "linux/amd64 linux/arm64", directiveNoFile},
		{"image -o ", "", directiveDefault},
		{"init load ", "yaml yml", directiveExt},
		{"run ", "yaml yml", directiveExt},
		{"run x.yaml ", "", directiveNoFile},
		{"validate x.yaml ", "yaml yml", directiveExt},
		{"run --out ", "", directiveDirs},
		{"serve ", "", directiveDirs},
		{"doctor ", "yaml yml", directiveExt},
		{"check ", "yaml yml", directiveExt},
		{"check -f ", "terminal json", directiveNoFile},
		{"doctor --ssh-config ", "", directiveDefault},
		{"bisect ", "yaml yml", directiveExt},
		{"bisect -f ", "terminal json", directiveNoFile},
		{"bisect --git ", "", directiveDirs},
		{"bisect --steps ", "", directiveDefault},
		{"bisect --metric goo", "goodput", directiveNoFile},
		{"val", "validate", directiveNoFile},
	} {
		offered, directive := completed(t, strings.Split(c.words, " ")...)
		if strings.Join(offered, " ") != c.want || directive != c.directive {
			t.Errorf("%q offers %q %s, want %q %s", c.words, offered, directive, c.want, c.directive)
		}
	}
}

// Runs, their arms and workloads come from the directory runs, or from where the words say.
func TestCompletionOfRuns(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, m := range []struct{ path, workload string }{
		{"runs/a1", "rr"}, {"runs/a2", "rr"}, {"runs/b", "bulk"}, {"other/c", "rr"},
	} {
		if err := os.MkdirAll(filepath.Dir(m.path), 0o755); err != nil {
			t.Fatal(err)
		}
		made := madeRun{arms: []string{"l2", "vxlan"}, workloads: []string{m.workload}, blocks: 1, level: 20e-6}
		if err := made.write(m.path); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir("runs/no-run", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		words     string
		want      string
		directive string
	}{
		{"report ", "runs/a1 runs/a2 runs/b", directiveNoFile},
		{"report a", "runs/a1 runs/a2", directiveNoFile},
		{"report ru", "runs/a1 runs/a2 runs/b", directiveNoFile},
		{"report runs/a1 runs/a", "runs/a2", directiveNoFile},
		{"report other/", "other/c", directiveNoFile},
		{"report ./other/", "./other/c", directiveNoFile},
		{"report nowhere/", "", directiveDirs},
		{"run --resume runs/b", "runs/b", directiveNoFile},
		{"compare runs/a", "runs/a1 runs/a2", directiveNoFile},
		{"compare runs/b", "runs/b runs/b:l2 runs/b:vxlan", directiveNoFile},
		{"gate runs/a1 runs/a2:", "runs/a2:l2 runs/a2:vxlan", directiveNoFile},
		{"gate runs/a1 runs/a2:v", "runs/a2:vxlan", directiveNoFile},
		{"compare result.t", "", directiveDefault},
		{"compare runs/a1 runs/a2 ", "", directiveNoFile},
		{"history --workload ", "rr bulk", directiveNoFile},
		{"history --arm v", "vxlan", directiveNoFile},
		{"history --experiment ", "made", directiveNoFile},
		{"history other --workload ", "rr", directiveNoFile},
	} {
		offered, directive := completed(t, strings.Split(c.words, " ")...)
		if strings.Join(offered, " ") != c.want || directive != c.directive {
			t.Errorf("%q offers %q %s, want %q %s", c.words, offered, directive, c.want, c.directive)
		}
	}
}

// The arms of a baseline come from its file, or from experiment.yaml if no file is given.
func TestCompletionOfArmsOfAFile(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, file := range []string{"x.yaml", defaultExperiment} {
		if err := os.WriteFile(file, []byte(hostsFile), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for words, want := range map[string]string{
		"baseline x.yaml --arm ": "near far", "baseline --arm f": "far", "baseline none.yaml --arm ": "",
		"bisect x.yaml --arm n": "near",
	} {
		offered, _ := completed(t, strings.Split(words, " ")...)
		if strings.Join(offered, " ") != want {
			t.Errorf("%q offers %q, want %q", words, offered, want)
		}
	}
}

// Every form that a verb names in its error is offered.
func TestCompletionKnowsEveryFormat(t *testing.T) {
	named := regexp.MustCompile(`use one of ([a-z, -]+)`)
	for verb, arguments := range map[string][]string{
		"run": {}, "report": {"x"}, "compare": {"x", "y"}, "gate": {"x", "y", "--fail-if", "rr rtt.p50 > +5%"},
		"history": {}, "validate": {}, "schema": {}, "bisect": {},
	} {
		var stdout, stderr bytes.Buffer
		code := Main(append([]string{verb, "-f", "nonsense"}, arguments...), strings.NewReader(""), &stdout, &stderr)
		known := named.FindStringSubmatch(stderr.String())
		if code != exitUsage || known == nil {
			t.Errorf("%s -f nonsense: exit code %d\n%s", verb, code, stderr.String())
			continue
		}
		offered, _ := completed(t, verb, "-f", "")
		for format := range strings.SplitSeq(known[1], ", ") {
			if !slices.Contains(offered, format) {
				t.Errorf("%s offers %q and takes %s", verb, offered, format)
			}
		}
	}
}

// Every verb that has a --format has words for it.
func TestCompletionOfEveryFormatFlag(t *testing.T) {
	a := &app{}
	var look func(cmd *cobra.Command)
	look = func(cmd *cobra.Command) {
		for _, c := range cmd.Commands() {
			look(c)
		}
		if cmd.Flags().Lookup("format") == nil {
			return
		}
		words := append(strings.Fields(cmd.CommandPath())[1:], "-f", "")
		if offered, _ := completed(t, words...); len(offered) == 0 {
			t.Errorf("%s offers no words for -f", cmd.CommandPath())
		}
	}
	look(a.rootCommand())
}
