//go:build linux

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/rundir"
)

const watched = `
nearfar: v1
name: watched
question: How much does a bridge add?
baseline: l2
arms:
  l2: {lab: {path: [bridge]}}
  switched: {lab: {path: [bridge, bridge]}}
workloads:
  - {name: rr, tool: native, mode: rr, duration: 200ms, warmup: 50ms}
schedule: {blocks: 6, seed: 1}
`

// serving is a process of nearfar that serves pages.
type serving struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdout bytes.Buffer
	said   <-chan string // lines of standard error
	url    string
}

var address = regexp.MustCompile(`http://127\.0\.0\.1:\d+/[0-9a-f]{32}/`)

// serve starts the program and waits for the address that it prints.
func serve(t *testing.T, dir string, args ...string) *serving {
	t.Helper()
	s := &serving{t: t}
	ctx, cancel := context.WithTimeout(context.Background(), browserPatience)
	s.cmd = exec.CommandContext(ctx, program, args...)
	s.cmd.Dir = dir
	s.cmd.Stdout = &s.stdout
	stderr, err := s.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.said = startTelling(t, s.cmd, cancel, stderr)
	var all []string
	for line := range s.said {
		all = append(all, line)
		if s.url = address.FindString(line); s.url != "" {
			return s
		}
	}
	t.Fatalf("prints no address: %s", strings.Join(all, "\n"))
	return nil
}

// ended waits for the end and returns the exit code.
func (s *serving) ended() int {
	s.t.Helper()
	for range s.said { // until standard error is closed
	}
	err := s.cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.t.Fatal(err)
	}
	return s.cmd.ProcessState.ExitCode()
}

// ask gets a URL and returns status code and body.
func ask(t *testing.T, address string) (int, []byte) {
	t.Helper()
	code, body, err := tryAsk(t, address)
	if err != nil {
		t.Fatal(err)
	}
	return code, body
}

// tryAsk is ask for a server that may end meanwhile.
func tryAsk(t *testing.T, address string) (int, []byte, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, body, err
}

// events opens the stream of events and returns a channel with their names, which is closed when the stream ends.
func (s *serving) events() <-chan string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), browserPatience)
	s.t.Cleanup(cancel)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"events", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	if response.StatusCode != http.StatusOK {
		s.t.Fatalf("events: %s", response.Status)
	}
	events := make(chan string, 1000)
	go func() {
		defer close(events)
		defer func() { _ = response.Body.Close() }()
		for lines := bufio.NewScanner(response.Body); lines.Scan(); {
			if name, is := strings.CutPrefix(lines.Text(), "event: "); is {
				events <- name
			}
		}
	}()
	return events
}

// shown fetches the answer that the page draws.
func (s *serving) shown() answer.Answer {
	s.t.Helper()
	code, body := ask(s.t, s.url+"data.json")
	return s.read(code, body)
}

func (s *serving) read(code int, body []byte) answer.Answer {
	s.t.Helper()
	var data struct{ Answer answer.Answer }
	if err := json.Unmarshal(body, &data); code != http.StatusOK || err != nil {
		s.t.Fatalf("data.json: %d, %v: %s", code, err, body)
	}
	return data.Answer
}

// TestWatch: the last figures are those of the answer. Requests without the token are refused. After the run nothing
// listens.
func TestWatch(t *testing.T) {
	t.Parallel()
	dir := workspace(t)
	s := serve(t, dir, "run", "--watch", "-f", "json", write(t, dir, watched))
	where, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	events := s.events()
	last := s.shown()
	for event := range events {
		if event != "trial" && event != "state" {
			t.Errorf("event %q", event)
		}
		for _, path := range []string{"/", "/data.json", "/events", "/" + strings.Repeat("0", 32) + "/data.json"} {
			code, body := ask(t, "http://"+where.Host+path)
			if code != http.StatusForbidden || bytes.Contains(body, []byte("l2")) {
				t.Errorf("%s without the token: %d %s", path, code, body)
			}
		}
		now := s.shown()
		if now.Trials < last.Trials {
			t.Errorf("%d trials after %d", now.Trials, last.Trials)
		}
		last = now
		if now.State != rundir.Running {
			break // like a page, which asks for nothing more: the server ends once every page has the last document
		}
	}
	if last.State != rundir.Complete || last.Trials != 12 {
		t.Errorf("the page ends at %d trials, %s", last.Trials, last.State)
	}
	if code := s.ended(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	var printed answer.Answer
	if err := json.Unmarshal(s.stdout.Bytes(), &printed); err != nil {
		t.Fatalf("%v in %s", err, s.stdout.Bytes())
	}
	if diff := cmp.Diff(printed, last, withoutPooled()); diff != "" {
		t.Errorf("the page and the answer differ (-printed +shown):\n%s", diff)
	}
	if c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", where.Host); err == nil {
		_ = c.Close()
		t.Error("something still listens after the run")
	}
}

// TestWatchInterrupted: figures appear as trials end. Ctrl-C ends a run that is watched, even if one of the clients
// never reads.
func TestWatchInterrupted(t *testing.T) {
	t.Parallel()
	before := traces(t, "")
	dir := workspace(t)
	s := serve(t, dir, "run", "--watch", "-f", "json", "--blocks", "200", write(t, dir, watched))
	where, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	stuck, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", where.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stuck.Close() }()
	if _, err := fmt.Fprintf(stuck, "GET %sevents HTTP/1.1\r\nHost: %s\r\n\r\n", where.Path, where.Host); err != nil {
		t.Fatal(err)
	}
	events := s.events()
	if event := <-events; event != "trial" {
		t.Errorf("event %q", event)
	}
	// As a page does, it fetches the data: the run waits only for clients that do. The run is long enough to grow
	// meanwhile, however slow this client is.
	for grew, last := false, s.shown(); !grew; {
		event, open := <-events
		if !open || event == "state" {
			t.Fatalf("no figures appeared during the run: %d trials, %s", last.Trials, last.State)
		}
		now := s.shown()
		grew = last.Trials < now.Trials && len(now.Arms) > 0
		last = now
	}
	if err := s.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	for event := range events {
		if event == "state" {
			// The program waits 2 s for pages after Ctrl-C: on a busy machine this one may come too late.
			if code, body, err := tryAsk(t, s.url+"data.json"); err != nil {
				t.Logf("the last document was not fetched in time: %v", err)
			} else if got := s.read(code, body); got.State != rundir.Interrupted {
				t.Errorf("the page ends with %s", got.State)
			}
			break
		}
	}
	if code := s.ended(); code != 130 {
		t.Errorf("exit code %d", code)
	}
	if a := answerOf(t, s.stdout.Bytes(), dir); a.State != rundir.Interrupted || a.Trials == 0 {
		t.Errorf("state %s with %d trials", a.State, a.Trials)
	}
	waitForTraces(t, "", before)
}

// TestServe: serve lists runs, shows their reports, and exits with 0 after Ctrl-C.
func TestServe(t *testing.T) {
	t.Parallel()
	dir := workspace(t)
	a := answerOf(t, nearfar(t, dir, nil, "run", "-f", "json", write(t, dir, watched)), dir)
	s := serve(t, dir, "serve")
	code, body := ask(t, s.url+"runs.json")
	var listing struct {
		Runs []struct {
			ID, Path, Name, State string
			Trials                int
		}
	}
	if err := json.Unmarshal(body, &listing); code != http.StatusOK || err != nil || len(listing.Runs) != 1 {
		t.Fatalf("runs.json: %d, %v: %s", code, err, body)
	}
	run := listing.Runs[0]
	if run.Path != filepath.Base(a.Run) || run.Name != "watched" || run.State != rundir.Complete || run.Trials != 12 {
		t.Errorf("listed: %+v", run)
	}
	s.url += "run/" + run.ID + "/"
	shown := s.shown()
	a.Run = shown.Run
	if diff := cmp.Diff(a, shown, withoutPooled()); diff != "" {
		t.Errorf("the page and the answer differ (-printed +shown):\n%s", diff)
	}
	if err := s.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if code := s.ended(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// withoutPooled ignores the pooled percentiles: the pages show running runs and do not read the histograms that these
// need.
func withoutPooled() cmp.Option { return cmpopts.IgnoreFields(figures.Figure{}, "Pooled") }
