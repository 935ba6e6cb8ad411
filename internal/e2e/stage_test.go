//go:build linux

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// stage is a directory in which the blocks of a page are run, one after the other.
type stage struct {
	t        *testing.T
	dir      string
	finished string
	env      []string
	// blocks are those that are left.
	blocks        []block
	substitutions []substitution
	// sql runs a query and gives how many rows it found, which rows is of the last one.
	sql  func(query string) int
	rows int
	// printed is what the commands of the last block printed.
	printed string
	// lasting are the servers that later commands ask; following goes on while a command follows events.
	lasting   []*process
	following func(events *process)
}

// substitution is what a page shows and what stands for it here.
type substitution struct {
	shown, here string
	met         bool
}

func newStage(t *testing.T, finished string, blocks []block) *stage {
	dir := workspace(t)
	return &stage{t: t, dir: dir, finished: finished, blocks: blocks, env: append(os.Environ(),
		"PATH="+filepath.Dir(program)+string(os.PathListSeparator)+os.Getenv("PATH"),
		"HOME="+dir, "XDG_CACHE_HOME="+filepath.Join(dir, "cache"), "LC_ALL=C")}
}

// instead says what stands for something that the page shows: an address, a place, a time that is too long for a test. It is an
// error when the page does not show it. What was said first is replaced first.
func (s *stage) instead(shown, here string) {
	s.substitutions = append(s.substitutions, substitution{shown: shown, here: here})
}

func (s *stage) substituted(text string) string {
	for i := range s.substitutions {
		u := &s.substitutions[i]
		u.met = u.met || strings.Contains(text, u.shown)
		text = strings.ReplaceAll(text, u.shown, u.here)
	}
	return text
}

// save writes a file of the stage, saved reads one.
func (s *stage) save(name, text string) {
	s.t.Helper()
	name = filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) saved(name string) string {
	s.t.Helper()
	if !filepath.IsAbs(name) {
		name = filepath.Join(s.dir, name)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

// source reads a file of the project.
func (s *stage) source(name string) string {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", name))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

// record puts a file of the project under the names that the page uses.
func (s *stage) record(name string, as ...string) {
	s.t.Helper()
	for _, other := range as {
		s.save(other, s.source(name))
	}
}

// shorten replaces something in a file of the stage.
func (s *stage) shorten(name, long, short string) {
	s.t.Helper()
	text := s.saved(name)
	if !strings.Contains(text, long) {
		s.t.Fatalf("%s does not say %q", name, long)
	}
	s.save(name, strings.ReplaceAll(text, long, short))
}

// place puts the finished run under the names that the page uses.
func (s *stage) place(names ...string) {
	s.t.Helper()
	for _, name := range names {
		if err := os.CopyFS(filepath.Join(s.dir, name), os.DirFS(s.finished)); err != nil {
			s.t.Fatal(err)
		}
	}
}

// kill leaves a run as one is left that was killed while its last trial ran.
func (s *stage) kill(name string) {
	s.t.Helper()
	trials := strings.SplitAfter(s.saved(name+"/trials.jsonl"), "\n")
	s.save(name+"/trials.jsonl", strings.Join(trials[:len(trials)-2], "")) // after the last newline there is nothing
	s.shorten(name+"/run.json", `"state": "complete"`, `"state": "running"`)
}

// all runs the blocks that are left.
func (s *stage) all() {
	s.t.Helper()
	for slices.ContainsFunc(s.blocks, block.runs) {
		s.next()
	}
}

// next runs the next block, and saves the files that the page shows before it. Where the page shows what is printed, the fixed
// parts are what both must have.
func (s *stage) next(fixed ...string) {
	s.t.Helper()
	for {
		if len(s.blocks) == 0 {
			s.t.Fatal("the page has no more blocks to run")
		}
		b := s.blocks[0]
		s.blocks = s.blocks[1:]
		if b.file != "" {
			s.save(b.file, s.substituted(b.text))
		}
		if !b.runs() {
			continue
		}
		s.run(b)
		if b.output != "" && len(fixed) == 0 {
			s.t.Errorf("%v: nothing is held against what the page shows below", b)
		}
		for _, part := range fixed {
			if !strings.Contains(b.output, part) {
				s.t.Errorf("%v: the page does not show %q below:\n%s", b, part, b.output)
			}
			if !strings.Contains(s.printed, part) {
				s.t.Errorf("%v: %q is not in what was printed:\n%s", b, part, s.printed)
			}
		}
		return
	}
}

func (s *stage) run(b block) {
	s.t.Helper()
	s.printed = ""
	if b.language == "sql" {
		if s.sql == nil {
			s.t.Fatalf("%v: nothing runs SQL here", b)
		}
		if s.rows = s.sql(b.text); s.rows == 0 {
			s.t.Errorf("%v: the query finds nothing", b)
		}
		return
	}
	for line := range strings.Lines(strings.ReplaceAll(b.text, "\\\n", "")) {
		line = s.substituted(strings.TrimSpace(line))
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "export "):
			s.env = append(s.env, strings.TrimPrefix(line, "export "))
		case strings.HasPrefix(line, "nearfar engine serve"):
			server := s.start(line)
			server.until(regexp.MustCompile(`serves on \S+`))
			s.lasting = append(s.lasting, server)
		case strings.HasPrefix(line, "nearfar serve"):
			server := s.start(line)
			s.opens(server)
			server.end()
		case strings.HasPrefix(line, "nearfar run --watch"):
			watched := s.start(line)
			s.opens(watched)
			if code := watched.ended(); code != 0 {
				s.t.Errorf("%v: %s: exit code %d\n%s", b, line, code, watched.said)
			}
		case strings.HasPrefix(line, "curl -sN"):
			events := s.start(line)
			s.following(events)
			if code := events.ended(); code != 0 {
				s.t.Errorf("%v: %s: exit code %d\n%s", b, line, code, events.said)
			}
		default:
			s.command(b, line)
		}
	}
}

// opens opens the page whose address the program prints.
func (s *stage) opens(p *process) {
	s.t.Helper()
	if code, body := ask(s.t, p.until(address)); code != http.StatusOK || !bytes.Contains(body, []byte("<html")) {
		s.t.Errorf("%s shows no page: %d\n%s", p.line, code, body)
	}
}

var (
	written  = regexp.MustCompile(` -o (\S+)`)
	printing = regexp.MustCompile(` (-f json|--json)\b`)
)

// command runs a command that ends by itself, and well. The file that -o names is there then, and what is to be JSON is JSON.
func (s *stage) command(b block, line string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Dir, cmd.Env = s.dir, s.env
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	s.printed += stdout.String() + stderr.String()
	if strings.HasPrefix(line, "nearfar gate") && strings.HasPrefix(stdout.String(), "Gate: FAILED") && cmd.ProcessState.ExitCode() == 3 {
		err = nil // on a busy machine the second run may be slower indeed
	}
	if err != nil {
		s.t.Errorf("%v: %s: %v\n%s%s", b, line, err, stdout.Bytes(), stderr.Bytes())
		return
	}
	text := stdout.String()
	if file := written.FindStringSubmatch(line); file != nil {
		text = s.saved(file[1])
	}
	if text == "" {
		s.t.Errorf("%v: %s: says nothing", b, line)
	}
	if printing.MatchString(line) && !json.Valid([]byte(text)) {
		s.t.Errorf("%v: %s: this is no JSON:\n%s", b, line, text)
	}
}

// close ends the servers, and sees that everything was run and every substitution was needed.
func (s *stage) close() {
	s.t.Helper()
	for _, p := range s.lasting {
		p.end()
	}
	for _, b := range s.blocks {
		if b.runs() {
			s.t.Errorf("%v was not run", b)
		}
	}
	for _, u := range s.substitutions {
		if !u.met {
			s.t.Errorf("the page does not show %q, which stands for %q", u.shown, u.here)
		}
	}
}
