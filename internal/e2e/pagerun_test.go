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

// A pageRun runs the blocks of a documentation page in a directory, one after the other.
type pageRun struct {
	t   *testing.T
	dir string
	// finished is a complete run directory. place copies it.
	finished string
	env      []string
	// blocks are those that have not run yet.
	blocks        []block
	substitutions []substitution
	// sql runs a query and returns the number of rows found; rows is that number for the last query.
	sql  func(query string) int
	rows int
	// printed is what the commands of the last block printed.
	printed string
	// lasting are the servers that later commands use; following is called while a command follows events.
	lasting   []*process
	following func(events *process)
}

// A substitution replaces a text that a page shows. met says that the page shows it.
type substitution struct {
	shown, here string
	met         bool
}

func newPageRun(t *testing.T, finished string, blocks []block) *pageRun {
	dir := workspace(t)
	return &pageRun{t: t, dir: dir, finished: finished, blocks: blocks, env: append(os.Environ(),
		"PATH="+filepath.Dir(program)+string(os.PathListSeparator)+os.Getenv("PATH"),
		"HOME="+dir, "XDG_CACHE_HOME="+filepath.Join(dir, "cache"), "LC_ALL=C")}
}

// instead replaces something that the page shows, such as an address, a path, or a duration that is too long for a
// test. The test fails if the page does not show it. Replacements are made in the order of the calls.
func (r *pageRun) instead(shown, here string) {
	r.substitutions = append(r.substitutions, substitution{shown: shown, here: here})
}

func (r *pageRun) substituted(text string) string {
	for i := range r.substitutions {
		u := &r.substitutions[i]
		u.met = u.met || strings.Contains(text, u.shown)
		text = strings.ReplaceAll(text, u.shown, u.here)
	}
	return text
}

// save writes a file into the directory, saved reads one.
func (r *pageRun) save(name, text string) {
	r.t.Helper()
	name = filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

func (r *pageRun) saved(name string) string {
	r.t.Helper()
	if !filepath.IsAbs(name) {
		name = filepath.Join(r.dir, name)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		r.t.Fatal(err)
	}
	return string(text)
}

// source reads a file of the project.
func (r *pageRun) source(name string) string {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", name))
	if err != nil {
		r.t.Fatal(err)
	}
	return string(text)
}

// record copies a file of the project to the names that the page uses.
func (r *pageRun) record(name string, as ...string) {
	r.t.Helper()
	for _, other := range as {
		r.save(other, r.source(name))
	}
}

// shorten replaces text in a file of the directory.
func (r *pageRun) shorten(name, long, short string) {
	r.t.Helper()
	text := r.saved(name)
	if !strings.Contains(text, long) {
		r.t.Fatalf("%s does not say %q", name, long)
	}
	r.save(name, strings.ReplaceAll(text, long, short))
}

// place copies the finished run to the names that the page uses.
func (r *pageRun) place(names ...string) {
	r.t.Helper()
	for _, name := range names {
		if err := os.CopyFS(filepath.Join(r.dir, name), os.DirFS(r.finished)); err != nil {
			r.t.Fatal(err)
		}
	}
}

// kill makes a run look as if nearfar was killed during its last trial.
func (r *pageRun) kill(name string) {
	r.t.Helper()
	trials := strings.SplitAfter(r.saved(name+"/trials.jsonl"), "\n")
	r.save(name+"/trials.jsonl", strings.Join(trials[:len(trials)-2], "")) // after the last newline there is nothing
	r.shorten(name+"/run.json", `"state": "complete"`, `"state": "running"`)
}

// all runs the remaining blocks.
func (r *pageRun) all() {
	r.t.Helper()
	for slices.ContainsFunc(r.blocks, block.runs) {
		r.next()
	}
}

// next runs the next block, and saves the files that the page shows before it. If the page shows the output, both it
// and the real output must contain the fixed parts.
func (r *pageRun) next(fixed ...string) {
	r.t.Helper()
	for {
		if len(r.blocks) == 0 {
			r.t.Fatal("the page has no more blocks to run")
		}
		b := r.blocks[0]
		r.blocks = r.blocks[1:]
		if b.file != "" {
			r.save(b.file, r.substituted(b.text))
		}
		if !b.runs() {
			continue
		}
		r.run(b)
		if b.output != "" && len(fixed) == 0 {
			r.t.Errorf("%v: nothing is compared with the output that the page shows", b)
		}
		for _, part := range fixed {
			if !strings.Contains(b.output, part) {
				r.t.Errorf("%v: the page does not show %q below:\n%s", b, part, b.output)
			}
			if !strings.Contains(r.printed, part) {
				r.t.Errorf("%v: %q is not in what was printed:\n%s", b, part, r.printed)
			}
		}
		return
	}
}

func (r *pageRun) run(b block) {
	r.t.Helper()
	r.printed = ""
	if b.language == "sql" {
		if r.sql == nil {
			r.t.Fatalf("%v: nothing runs SQL here", b)
		}
		if r.rows = r.sql(b.text); r.rows == 0 {
			r.t.Errorf("%v: the query finds nothing", b)
		}
		return
	}
	for line := range strings.Lines(strings.ReplaceAll(b.text, "\\\n", "")) {
		line = r.substituted(strings.TrimSpace(line))
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "export "):
			r.env = append(r.env, strings.TrimPrefix(line, "export "))
		case strings.HasPrefix(line, "nearfar engine serve"):
			server := r.start(line)
			server.until(regexp.MustCompile(`serves on \S+`))
			r.lasting = append(r.lasting, server)
		case strings.HasPrefix(line, "nearfar serve"):
			server := r.start(line)
			r.opens(server)
			server.end()
		case strings.HasPrefix(line, "nearfar run --watch"):
			watched := r.start(line)
			r.opens(watched)
			if code := watched.ended(); code != 0 {
				r.t.Errorf("%v: %s: exit code %d\n%s", b, line, code, watched.said)
			}
		case strings.HasPrefix(line, "curl -sN"):
			events := r.start(line)
			r.following(events)
			if code := events.ended(); code != 0 {
				r.t.Errorf("%v: %s: exit code %d\n%s", b, line, code, events.said)
			}
		default:
			r.command(b, line)
		}
	}
}

// opens opens the page whose address the program prints.
func (r *pageRun) opens(p *process) {
	r.t.Helper()
	if code, body := ask(r.t, p.until(address)); code != http.StatusOK || !bytes.Contains(body, []byte("<html")) {
		r.t.Errorf("%s shows no page: %d\n%s", p.line, code, body)
	}
}

var (
	written  = regexp.MustCompile(` -o (\S+)`)
	printing = regexp.MustCompile(` (-f json|--json)\b`)
)

// command runs a command that must end by itself, without an error. It must write the file that -o names, and valid
// JSON if JSON was asked for.
func (r *pageRun) command(b block, line string) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Dir, cmd.Env = r.dir, r.env
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	r.printed += stdout.String() + stderr.String()
	failedGate := strings.HasPrefix(line, "nearfar gate") && strings.HasPrefix(stdout.String(), "Gate: FAILED")
	if failedGate && cmd.ProcessState.ExitCode() == 3 {
		err = nil // on a busy machine the second run may really be slower
	}
	if err != nil {
		r.t.Errorf("%v: %s: %v\n%s%s", b, line, err, stdout.Bytes(), stderr.Bytes())
		return
	}
	text := stdout.String()
	if file := written.FindStringSubmatch(line); file != nil {
		text = r.saved(file[1])
	}
	if text == "" {
		r.t.Errorf("%v: %s: prints nothing", b, line)
	}
	if printing.MatchString(line) && !json.Valid([]byte(text)) {
		r.t.Errorf("%v: %s: invalid JSON:\n%s", b, line, text)
	}
}

// close ends the servers, and checks that every block has run and every substitution was needed.
func (r *pageRun) close() {
	r.t.Helper()
	for _, p := range r.lasting {
		p.end()
	}
	for _, b := range r.blocks {
		if b.runs() {
			r.t.Errorf("%v was not run", b)
		}
	}
	for _, u := range r.substitutions {
		if !u.met {
			r.t.Errorf("the page does not show %q, which is replaced by %q", u.shown, u.here)
		}
	}
}
