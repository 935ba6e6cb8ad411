package ci

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"nearfar/internal/base/stats"
)

// pullRequests names the variable that says how many lives of pull requests TestPullRequests leads, as measured,drawn.
const pullRequests = "NEARFAR_PULL_REQUESTS"

const (
	// noMargin is the rule of the lives: any change that is surely worse fails.
	noMargin = "head get response.p50 > +0%"
	// slower is the planted change, as a factor of the time in which the service answers.
	slower = 1.05
	// answers is how long the service waits before it answers, in seconds.
	answers = 0.004
)

// lifeService is the service of the pull requests.
const lifeService = `import http.server, sys, time

ANSWERS = %v

class Service(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one write: the second of two would wait for a delayed acknowledgement

    def do_GET(self):
        time.sleep(ANSWERS)
        self.send_response(200)
        self.send_header("Content-Length", "3")
        self.end_headers()
        self.wfile.write(b"ok\n")

    def log_message(self, *args):
        pass

http.server.ThreadingHTTPServer((sys.argv[1], int(sys.argv[2])), Service).serve_forever()
# %s
`

// TestPullRequests leads pull requests through their lives on a git server of this machine: a branch is pushed, a job
// checks out base and head, measures them interleaved, gates the run, and writes the one comment. Code that did not
// change fails in at most 5 % and two standard errors, and a service that is 5 % slower is found.
//
// So many lives are measured; the others are drawn from the blocks of those whose code did not change, with the arms of
// each block in random order, and judged by the same program and scripts.
func TestPullRequests(t *testing.T) {
	measured, drawn := lives(t)
	nearfar := built(t)
	server := newGitServer(t)
	var alarms, missed int
	var kept []life
	for n := range measured {
		l := server.measure(t, nearfar, fmt.Sprintf("unchanged-%d", n), answers)
		failed, _ := l.judge(t, nearfar, noMargin)
		t.Logf("unchanged, measured: failed %v, head against base %+.2f %%", failed, 100*l.change())
		if failed {
			alarms++
		}
		kept = append(kept, l)
	}
	t.Logf("measured, without a change: %s failed", share(alarms, measured))
	r := rand.New(rand.NewPCG(27, 165))
	folder := t.TempDir()
	for n := range drawn {
		l := draw(t, r, kept, filepath.Join(folder, strconv.Itoa(n)), 1)
		if failed, _ := l.judge(t, nearfar, noMargin); failed {
			alarms++
		}
		if err := os.RemoveAll(l.run); err != nil {
			t.Fatal(err)
		}
	}
	all := measured + drawn
	most := int(float64(all)*0.05 + 2*math.Sqrt(float64(all)*0.05*0.95))
	t.Logf("all without a change: %s failed; at most %d may", share(alarms, all), most)
	if alarms > most {
		t.Errorf("%d of %d pull requests without a change failed, more than %d", alarms, all, most)
	}

	const perPlanted = 5 // unchanged pull requests for each with the planted change
	planted := (all + perPlanted - 1) / perPlanted
	plantedMeasured := (measured + perPlanted - 1) / perPlanted
	for n := range planted {
		var l life
		if n < plantedMeasured {
			l = server.measure(t, nearfar, fmt.Sprintf("slower-%d", n), answers*slower)
		} else {
			l = draw(t, r, kept, filepath.Join(folder, fmt.Sprintf("slower-%d", n)), slower)
		}
		failed, _ := l.judge(t, nearfar, noMargin)
		if n < plantedMeasured {
			t.Logf("5 %% slower, measured: failed %v, head against base %+.2f %%", failed, 100*l.change())
		}
		if !failed {
			missed++
		}
		if n+1 == plantedMeasured {
			t.Logf("measured, 5 %% slower: %s passed", share(missed, plantedMeasured))
		}
	}
	t.Logf("all that are 5 %% slower: %s passed", share(missed, planted))
	if missed > planted/perPlanted {
		t.Errorf("%d of %d pull requests that are 5 %% slower passed", missed, planted)
	}
}

// share writes how many of all are wrong, with the interval of their share at 95 %.
func share(wrong, all int) string {
	of := stats.Attempts{Failed: wrong, Of: all}.Interval(0.05)
	return fmt.Sprintf("%d of %d (%.1f %% [%.1f, %.1f])", wrong, all, 100*float64(wrong)/float64(all), 100*of.Low,
		100*of.High)
}

// TestPullRequestOnce is one life with two pushes: the first is slower and fails, the second is as the base and passes,
// and the pull request has one comment, with the words of the last verdict.
func TestPullRequestOnce(t *testing.T) {
	lives(t)
	nearfar := built(t)
	server := newGitServer(t)
	c := &comments{t: t, bodies: map[int]string{1: "Please add a test."}}
	for _, push := range []struct {
		waits float64
		fails bool
		// verdict is the word with which the comment's headline begins.
		verdict string
	}{{answers * 2, true, "Failed: "}, {answers, false, "Passed: "}} {
		l := server.measure(t, nearfar, "feature", push.waits)
		// So wide a margin decides on a busy machine, too.
		failed, text := l.judge(t, nearfar, "head get response.p50 > +20%")
		if failed != push.fails || !strings.Contains(text, push.verdict) {
			t.Errorf("waiting %v s: failed %v\n%s", push.waits, failed, text)
		}
		if printed, err := comment(t, "sh", c, text, pullRequest); err != nil {
			t.Fatalf("%v: %s", err, printed)
		}
		if len(c.bodies) != 2 || c.bodies[2] != "<!-- nearfar: gate -->\n"+text || c.bodies[1] != "Please add a test." {
			t.Errorf("the comments are %v", c.bodies)
		}
		t.Logf("the comment:\n%s", text)
	}
}

// lives reads how many lives are led; without the variable, the test is skipped.
func lives(t *testing.T) (measured, drawn int) {
	t.Helper()
	text := os.Getenv(pullRequests)
	if text == "" {
		t.Skipf("it measures for many minutes: make pull-requests, or %s=10,190", pullRequests)
	}
	if n, err := fmt.Sscanf(text, "%d,%d", &measured, &drawn); err != nil || n != 2 || measured < 1 || drawn < 0 {
		t.Fatalf("%s=%s: write how many are measured, and how many drawn: 10,190", pullRequests, text)
	}
	return measured, drawn
}

// built is the program of these sources.
func built(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "nearfar")
	build := exec.Command("go", "build", "-o", program, "./cmd/nearfar")
	build.Dir, build.Env = "..", append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return program
}

// A gitServer is a bare repository with a main branch, and a clone from which people push.
type gitServer struct{ bare, clone string }

func newGitServer(t *testing.T) gitServer {
	t.Helper()
	folder := t.TempDir()
	g := gitServer{filepath.Join(folder, "net.git"), filepath.Join(folder, "clone")}
	git(t, folder, "init", "--quiet", "--bare", "--initial-branch=main", g.bare)
	git(t, folder, "clone", "--quiet", g.bare, g.clone)
	git(t, g.clone, "checkout", "--quiet", "-B", "main")
	g.push(t, "main", answers, "the first version")
	return g
}

// push commits the service with a time that it waits, and pushes the branch, also over an earlier push of it.
func (g gitServer) push(t *testing.T, branch string, waits float64, note string) {
	t.Helper()
	text := fmt.Sprintf(lifeService, waits, note)
	if err := os.WriteFile(filepath.Join(g.clone, "service.py"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	git(t, g.clone, "add", "service.py")
	git(t, g.clone, "commit", "--quiet", "--allow-empty", "--message", note)
	git(t, g.clone, "push", "--quiet", "--force", "origin", branch)
}

// git runs git with no configuration but its own.
func git(t *testing.T, folder string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", folder, "-c", "user.name=Test", "-c", "user.email=test@localhost"},
		args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v: %s", args, err, out)
	}
}

// A life is a pull request whose job has measured: run is the run directory.
type life struct{ run string }

// measure pushes a branch with a service that waits so long, and does what a job does: it checks out base and head, and
// runs the experiment of docs/examples on both.
func (g gitServer) measure(t *testing.T, nearfar, branch string, waits float64) life {
	t.Helper()
	git(t, g.clone, "checkout", "--quiet", "-B", branch, "origin/main")
	g.push(t, branch, waits, "a change of "+branch+" "+strconv.FormatFloat(waits, 'g', -1, 64))
	job := t.TempDir()
	for folder, ref := range map[string]string{"127.0.0.1": "main", "127.0.0.2": branch} {
		git(t, job, "clone", "--quiet", "--depth=1", "--branch", ref, "file://"+g.bare, folder)
	}
	file, err := filepath.Abs(filepath.Join("..", "docs", "examples", "pull-request.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	run := exec.Command(nearfar, "run", "--progress", "none", "--set", "CHECKOUTS="+job, "--out", "runs", file)
	run.Dir = job
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	made, err := filepath.Glob(filepath.Join(job, "runs", "*"))
	if err != nil || len(made) != 1 {
		t.Fatalf("%v: %v", made, err)
	}
	return life{made[0]}
}

// judge gates the run by a rule as the action does, and returns the text for the comment.
func (l life) judge(t *testing.T, nearfar, rule string) (failed bool, text string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "gate")
	script := exec.Command("sh", "gate.sh")
	script.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Dir(out), "NEARFAR=" + nearfar, "NEARFAR_BASE=" + l.run,
		"NEARFAR_FAIL_IF=" + rule, "NEARFAR_OUT=" + out, "GITHUB_ACTIONS=true",
	}
	printed, err := script.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() == 3:
		failed = true
	case err != nil:
		t.Fatalf("%v: %s", err, printed)
	}
	data, err := os.ReadFile(filepath.Join(out, "gate.md"))
	if err != nil {
		t.Fatal(err)
	}
	return failed, string(data)
}

// trials reads the lines of trials.jsonl, as they are.
func (l life) trials() (all []map[string]any, err error) {
	data, err := os.ReadFile(filepath.Join(l.run, "trials.jsonl"))
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(data) {
		var trial map[string]any
		if err := json.Unmarshal(line, &trial); err != nil {
			return nil, err
		}
		all = append(all, trial)
	}
	return all, nil
}

// change is how much longer the head takes than the base, as a share: of each, the mean over the trials' medians.
func (l life) change() float64 {
	all, _ := l.trials()
	sum, n := map[string]float64{}, map[string]float64{}
	for _, trial := range all {
		if v, ok := response(trial, 1); ok {
			sum[trial["arm"].(string)] += v
			n[trial["arm"].(string)]++
		}
	}
	return sum["head"]/n["head"]*n["base"]/sum["base"] - 1
}

// response multiplies the response times of a trial, and returns the median.
func response(trial map[string]any, factor float64) (median float64, found bool) {
	metrics, _ := trial["metrics"].([]any)
	for _, m := range metrics {
		metric := m.(map[string]any)
		if metric["name"] != "response" {
			continue
		}
		metric["value"] = metric["value"].(float64) * factor
		if metric["stat"] == "p50" {
			median, found = metric["value"].(float64), true
		}
	}
	return median, found
}

// blocks are the blocks of measured runs in which both arms have a figure.
func blocks(t *testing.T, from []life) (whole [][]map[string]any) {
	t.Helper()
	for _, l := range from {
		all, err := l.trials()
		if err != nil {
			t.Fatal(err)
		}
		byBlock := map[float64][]map[string]any{}
		for _, trial := range all {
			if trial["error"] != "" {
				continue
			}
			block := trial["block"].(float64)
			if byBlock[block] = append(byBlock[block], trial); len(byBlock[block]) == 2 {
				whole = append(whole, byBlock[block])
			}
		}
	}
	return whole
}

// draw makes a run from the blocks of measured ones whose code did not change: each block is one of theirs, with its
// two arms in either order. The head is then slower by a factor.
func draw(t *testing.T, r *rand.Rand, from []life, path string, factor float64) life {
	t.Helper()
	whole := blocks(t, from)
	manifest, err := os.ReadFile(filepath.Join(from[0].run, "run.json"))
	if err != nil {
		t.Fatal(err)
	}
	planned, err := from[0].trials()
	if err != nil {
		t.Fatal(err)
	}
	var lines bytes.Buffer
	var pair []map[string]any
	var block any
	for _, trial := range planned {
		if trial["error"] != "" {
			continue
		}
		if trial["block"] != block {
			block, pair = trial["block"], slices.Clone(whole[r.IntN(len(whole))])
			r.Shuffle(len(pair), func(i, j int) { pair[i], pair[j] = pair[j], pair[i] })
		}
		line := copied(t, trial)
		line["metrics"], pair = copied(t, pair[0])["metrics"], pair[1:]
		if line["arm"] == "head" {
			response(line, factor)
		}
		data, err := json.Marshal(line)
		if err != nil {
			t.Fatal(err)
		}
		lines.Write(append(data, '\n'))
	}
	if err := errors.Join(os.MkdirAll(filepath.Join(path, "raw"), 0o755),
		os.WriteFile(filepath.Join(path, "run.json"), manifest, 0o644),
		os.WriteFile(filepath.Join(path, "trials.jsonl"), lines.Bytes(), 0o644)); err != nil {
		t.Fatal(err)
	}
	return life{path}
}

// copied is a deep copy of a trial.
func copied(t *testing.T, trial map[string]any) map[string]any {
	t.Helper()
	data, err := json.Marshal(trial)
	if err != nil {
		t.Fatal(err)
	}
	var again map[string]any
	if err := json.Unmarshal(data, &again); err != nil {
		t.Fatal(err)
	}
	return again
}
