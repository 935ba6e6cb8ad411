package cli

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/figures"
)

var updateReadmes = flag.Bool("update-readmes", false, "write into the labs' README files what their commands print")

var (
	// readmeImport finds a lab's import command and the output that is shown below it.
	readmeImport = regexp.MustCompile("(?s)```sh\n(nearfar import .*?)```\n\n```text\n(.*?)```")
	runTime      = regexp.MustCompile(`\d{8}T\d{6}Z`)
)

// publishedLabs returns the labs that contain published results, with the differences that follow from the articles'
// figures: the arm's figure minus the baseline's, in base units.
func publishedLabs() map[string]map[string]float64 {
	return map[string]map[string]float64{
		"proximity": {"proximity-accelerated latte-rr-tcp-4B rtt mean": 88.80e-6 - 774.51e-6},
		"zones": {
			"across-zones sockperf-rr-tcp-1400B rtt mean": 94.790e-6 - 54.516e-6,
			"across-zones sockperf-rr-tcp-1400B rtt p50":  93.556e-6 - 53.433e-6,
			"across-zones sockperf-rr-tcp-1400B rtt p99":  106.059e-6 - 67.660e-6,
			"across-zones sockperf-rr-tcp-350B rtt mean":  85.902e-6 - 45.570e-6,
			"across-zones sockperf-rr-tcp-350B rtt p50":   84.389e-6 - 44.215e-6,
			"across-zones sockperf-rr-tcp-350B rtt p99":   96.321e-6 - 57.249e-6,
			"across-zones ping-icmp rtt mean":             0.969e-3 - 1.902e-3,
			"across-zones iperf3-stream-tcp goodput":      0,
		},
		"placement-group": {
			"placement-group iperf3-stream-tcp goodput": 9.50e9 - 4.94e9,
			"placement-group ping-icmp-56B rtt mean":    0.155e-3 - 0.457e-3,
		},
	}
}

// inRepository makes a working directory outside the repository with a link to the repository's labs.
func inRepository(t *testing.T) (labs string) {
	t.Helper()
	labs, err := filepath.Abs(filepath.Join("..", "..", "labs"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(labs, filepath.Join(dir, "labs")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	return labs
}

// readmeCommand returns the arguments of a lab's import command, split by a shell, and the output in its README.
func readmeCommand(t *testing.T, readme []byte) (args []string, shown string) {
	t.Helper()
	found := readmeImport.FindAllSubmatch(readme, -1)
	if len(found) != 1 {
		t.Fatalf("%d import commands with an output below, want 1", len(found))
	}
	arguments := strings.TrimPrefix(string(found[0][1]), "nearfar ")
	words, err := exec.Command("sh", "-c", `printf '%s\n' `+arguments).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(words), "\n"), "\n"), string(found[0][2])
}

// TestPublished runs the import command of each lab's README. It prints the README's output, and has the differences of
// the article's figures.
func TestPublished(t *testing.T) {
	for name, want := range publishedLabs() {
		t.Run(name, func(t *testing.T) {
			t.Setenv("NO_COLOR", "1")
			t.Setenv("LC_ALL", "C.UTF-8")
			path := filepath.Join(inRepository(t), name, "README.md")
			readme, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			args, shown := readmeCommand(t, readme)
			var out, errs bytes.Buffer
			if code := Main(args, strings.NewReader(""), &out, &errs); code != exitDone || errs.Len() > 0 {
				t.Fatalf("exit %d, %s", code, errs.String())
			}
			printed := runTime.ReplaceAllString(out.String(), "20261121T192200Z")
			if *updateReadmes {
				readme = bytes.Replace(readme, []byte("```text\n"+shown+"```"), []byte("```text\n"+printed+"```"), 1)
				if err := os.WriteFile(path, readme, 0o644); err != nil {
					t.Fatal(err)
				}
			} else if diff := cmp.Diff(shown, printed); diff != "" {
				t.Errorf("the README shows another output; update it with go test ./internal/cli -run TestPublished "+
					"-update-readmes (-shown +printed):\n%s", diff)
			}
			checkPublished(t, append(args, "-f", "json"), want)
		})
	}
}

// checkPublished compares the differences with the articles', and checks that none has an interval or a verdict.
func checkPublished(t *testing.T, args []string, want map[string]float64) {
	t.Helper()
	var out, errs bytes.Buffer
	if code := Main(args, strings.NewReader(""), &out, &errs); code != exitDone {
		t.Fatalf("exit %d, %s", code, errs.String())
	}
	var a answer.Answer
	if err := json.Unmarshal(out.Bytes(), &a); err != nil {
		t.Fatal(err)
	}
	if a.Failed != 0 || len(a.Comparisons) != len(want) {
		t.Errorf("%d failed, %d comparisons, want %d", a.Failed, len(a.Comparisons), len(want))
	}
	for _, c := range a.Comparisons {
		key := fmt.Sprint(c.Arm, " ", c.Workload, " ", c.Name())
		difference, ok := want[key]
		tolerance := 1e-9 * math.Max(1, math.Abs(difference))
		if !ok || c.Difference == nil || math.Abs(*c.Difference-difference) > tolerance {
			t.Errorf("%s: %v, want %g", key, c.Difference, difference)
		}
		if c.Interval != nil || c.PValue != nil || c.Verdict != figures.SingleTrial ||
			c.Reason != "one trial a side: no interval can be given" {
			t.Errorf("%s: has more than the difference of one trial a side: %+v", key, c)
		}
	}
}

// TestPublishedLabsDryRun makes the hosts of each lab's experiment, and prints the plan.
func TestPublishedLabsDryRun(t *testing.T) {
	skipMeasuring(t)
	labs, err := filepath.Abs(filepath.Join("..", "..", "labs"))
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/labs",
		Setup: func(env *testscript.Env) error {
			env.Setenv("LABS", labs)
			return nil
		},
	})
}
