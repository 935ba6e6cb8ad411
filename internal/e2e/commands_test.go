//go:build linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// block is a fenced block of a page.
type block struct {
	page string // from the project's root
	line int
	// language is the word behind the fence, file the one behind that: as what the block is saved, "```yaml first.yaml".
	language, file string
	text           string
	// output is the block of text right below it, which is what the commands print.
	output string
}

func (b block) String() string { return fmt.Sprintf("%s:%d", b.page, b.line) }

// runs says whether the block is there to be run.
func (b block) runs() bool { return b.language == "sh" || b.language == "sql" }

// languages are those that a block may have. What can be run is sh or sql and nothing else, so that it is found.
const languages = "sh sql yaml json text csv"

// misplaced finds a command line where none belongs: in a block that nobody runs.
var misplaced = regexp.MustCompile(`(?m)^(\w*\$ |nearfar )`)

// documentedPages are the pages whose blocks are run, from the project's root.
func documentedPages(t *testing.T) []string {
	t.Helper()
	root := filepath.Join("..", "..")
	pages := []string{"README.md", "CONTRIBUTING.md"}
	for _, pattern := range []string{"docs/*.md", "labs/*/README.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("no pages are %s (%v)", pattern, err)
		}
		for _, page := range found {
			pages = append(pages, filepath.ToSlash(strings.TrimPrefix(page, root+string(os.PathSeparator))))
		}
	}
	return pages
}

// blocksOf reads a page's blocks. A fence that is not closed, or that does not say what it holds, fails the test.
func blocksOf(t *testing.T, page string) []block {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", page))
	if err != nil {
		t.Fatal(err)
	}
	var blocks []block
	inside, between := false, "" // between is what stands between the last block and here
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		info, fence := strings.CutPrefix(strings.TrimLeft(line, " "), "```")
		switch {
		case fence && !inside:
			inside = true
			language, file, _ := strings.Cut(strings.TrimSpace(info), " ")
			blocks = append(blocks, block{page: page, line: n, language: language, file: file})
			if !slices.Contains(strings.Fields(languages), language) {
				t.Errorf("%s:%d: the fence says %q, and not one of: %s", page, n, language, languages)
			}
		case fence:
			inside = false
			if i := len(blocks) - 1; i > 0 && blocks[i].language == "text" && blocks[i-1].language == "sh" && strings.TrimSpace(between) == "" {
				blocks[i-1].output = blocks[i].text
			}
			between = ""
		case inside:
			blocks[len(blocks)-1].text += line
		default:
			between += line
		}
	}
	if inside {
		t.Errorf("%s: the last fence is not closed", page)
	}
	return blocks
}

// exception is a block that TestDocumentedCommands leaves out: the one of the page that begins so.
type exception struct {
	page, begins string
	// test runs it instead: a file and a function; empty where it cannot be run in a test.
	test string
	why  string
}

func exceptions() []exception {
	published := "internal/cli/published_test.go TestPublished"
	return []exception{
		{"README.md", "make demo ", "", "make demo measures for three minutes, and make test would run this test"},
		{"docs/first-run.md", "make build\n", "", "TestMain has built the program, and make build would write into the sources"},
		{"docs/gate.md", "nearfar gate ", "internal/cli/gate_test.go TestDocumentedSides", "each line has an exit code of its own"},
		{"labs/placement-group/README.md", "nearfar import ", published, "what it prints is compared to the letter"},
		{"labs/proximity/README.md", "nearfar import ", published, "what it prints is compared to the letter"},
		{"labs/zones/README.md", "nearfar import ", published, "what it prints is compared to the letter"},
	}
}

// toRun takes out of a page's blocks those that are exceptions, and notes the ones that it met.
func toRun(blocks []block, exceptions []exception, met []bool) []block {
	return slices.DeleteFunc(slices.Clone(blocks), func(b block) bool {
		for i, e := range exceptions {
			if b.runs() && b.page == e.page && strings.HasPrefix(b.text, e.begins) {
				met[i] = true
				return true
			}
		}
		return false
	})
}

// Every block of every page says what it holds; what can be run is run by TestDocumentedCommands, or is a known exception.
func TestDocumentedBlocks(t *testing.T) {
	all, stages := exceptions(), stages()
	met := make([]bool, len(all))
	for _, page := range documentedPages(t) {
		blocks := blocksOf(t, page)
		for _, b := range blocks {
			if !b.runs() && misplaced.MatchString(b.text) {
				t.Errorf("%v: a block of %s shows a command: what is to be run belongs into a block of sh, what it prints into one of text", b, b.language)
			}
		}
		run := toRun(blocks, all, met)
		first := slices.IndexFunc(run, block.runs)
		if _, ok := stages[page]; !ok && first >= 0 {
			t.Errorf("%v: nothing runs it: make a stage for the page, or an exception", run[first])
		} else if ok && first < 0 {
			t.Errorf("%s has a stage and nothing to run", page)
		}
		delete(stages, page)
	}
	for page := range stages {
		t.Errorf("there is a stage for %s, and no such page", page)
	}
	for i, e := range all {
		if !met[i] {
			t.Errorf("%s has no block that begins with %q", e.page, e.begins)
		}
		if e.test == "" {
			continue
		}
		file, function, _ := strings.Cut(e.test, " ")
		if text, err := os.ReadFile(filepath.Join("..", "..", file)); err != nil || !strings.Contains(string(text), "func "+function+"(") {
			t.Errorf("%s is to be run by %s, which is not there (%v)", e.page, e.test, err)
		}
	}
}

// What the pages tell the reader to type does what they say, command by command.
func TestDocumentedCommands(t *testing.T) {
	stages, all := stages(), exceptions()
	finished := finishedRun(t)
	for _, page := range documentedPages(t) {
		play, ok := stages[page]
		if !ok {
			continue // nothing to run, or TestDocumentedBlocks fails
		}
		t.Run(page, func(t *testing.T) {
			s := newStage(t, finished, toRun(blocksOf(t, page), all, make([]bool, len(all))))
			play(s)
			s.close()
		})
	}
}
