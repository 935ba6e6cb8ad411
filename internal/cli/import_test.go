package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nearfar/internal/declare/result"
)

const pingOutput = "20 packets transmitted, 20 received, 0% packet loss, time 19235ms\n" +
	"rtt min/avg/max/mdev = 0.718/0.969/2.137/0.299 ms\n"

// runImport runs import with the given standard input.
func runImport(stdin string, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = Main(append([]string{"import"}, args...), strings.NewReader(stdin), &out, &errs)
	return code, out.String(), errs.String()
}

func importedTrials(t *testing.T, stdout string) []result.Trial {
	t.Helper()
	var doc struct {
		Trials []result.Trial `json:"trials"`
	}
	if err := json.Unmarshal([]byte(stdout), &doc); err != nil {
		t.Fatalf("%v in %s", err, stdout)
	}
	return doc.Trials
}

func TestImportJSON(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ping.txt")
	if err := os.WriteFile(file, []byte(pingOutput), 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := runImport(pingOutput, "--json", "--arm", "near", file, "-")
	if code != exitDone || stderr != "" {
		t.Fatalf("exit %d, %s", code, stderr)
	}
	trials := importedTrials(t, stdout)
	if len(trials) != 2 || trials[0].Raw[0] != file || trials[1].Raw[0] != "-" {
		t.Fatalf("%+v", trials)
	}
	for i, trial := range trials {
		if trial.Trial != i+1 || trial.Arm != "near" || trial.Tool.Name != "ping" || trial.ReportedAs != "rtt" ||
			trial.Error != "" || trial.MessageBytes != nil {
			t.Errorf("%+v", trial)
		}
		if mean, ok := trial.Value(result.RTT, result.Mean); !ok || mean != 969e-6 {
			t.Errorf("mean %v, %v", mean, ok)
		}
	}
}

// TestImportFailedRun: a failed run becomes a trial with an error. The exit code is 0, because the file was read.
func TestImportFailedRun(t *testing.T) {
	const refused = "iperf3: error - unable to connect to server: Connection refused\n"
	code, stdout, stderr := runImport(refused, "--json", "-")
	trials := importedTrials(t, stdout)
	if code != exitDone || len(trials) != 1 || !strings.Contains(trials[0].Error, "unable to connect") ||
		len(trials[0].Metrics) != 0 {
		t.Errorf("exit %d, %+v, %s", code, trials, stderr)
	}
}

// TestImportUnreadable: import prints the trials of readable files and names the other files. The exit code is 1.
func TestImportUnreadable(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing.txt")
	code, stdout, stderr := runImport(pingOutput, "--json", missing, "-")
	if code != exitFailed || len(importedTrials(t, stdout)) != 1 || !strings.Contains(stderr, missing) {
		t.Errorf("exit %d, %s, %s", code, stdout, stderr)
	}
	code, stdout, stderr = runImport("a letter", "--json", "-")
	if code != exitFailed || len(importedTrials(t, stdout)) != 0 ||
		!strings.Contains(stderr, "-: no output of sockperf") {
		t.Errorf("exit %d, %s, %s", code, stdout, stderr)
	}
}

func TestImportUsage(t *testing.T) {
	for _, args := range [][]string{{}, {"--tool", "perf", "-"}} {
		if code, _, stderr := runImport("", args...); code != exitUsage || stderr == "" {
			t.Errorf("%v: exit %d, %s", args, code, stderr)
		}
	}
}

// TestImportTable: the table has no control characters from the file, because it is for a terminal.
func TestImportTable(t *testing.T) {
	hostile := "iperf3: error - \x1b]0;title\x07 \x1b[31mred \u202e \x00\x08 end\nPING6(56=40+8+8 bytes)\n" + pingOutput
	code, stdout, _ := runImport(hostile, "-", "--arm", "a\x1b[2J\nb")
	if code != exitDone {
		t.Errorf("exit %d\n%s", code, stdout)
	}
	for _, want := range []string{"rtt.mean", " 969 ", "failed: "} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the table lacks %q\n%s", want, stdout)
		}
	}
	for _, r := range stdout {
		if r < ' ' && r != '\n' || r == 0x7f || r == 0x202e {
			t.Errorf("control character %U is printed:\n%q", r, stdout)
		}
	}
	if !strings.HasPrefix(stdout, "TRIAL") {
		t.Errorf("no head: %q", stdout)
	}
}
