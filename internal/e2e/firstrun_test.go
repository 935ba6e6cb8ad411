//go:build linux

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// block is a block of code of a page: what it is, the name of the file that it shows if it does, and its text.
var block = regexp.MustCompile("(?ms)^```(sh|yaml)( [a-z.-]+)?\n(.*?)^```")

// The page of the first run does what it says, command by command.
func TestFirstRunPage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "first-run.md"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := filepath.Dir(program) + string(os.PathListSeparator) + os.Getenv("PATH")
	commands := 0
	for _, match := range block.FindAllStringSubmatch(string(page), -1) {
		kind, name, text := match[1], strings.TrimSpace(match[2]), match[3]
		if kind == "yaml" {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
			commands++
			c := exec.Command("sh", "-c", line)
			c.Dir, c.Env = dir, append(os.Environ(), "PATH="+path)
			if out, err := c.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", line, err, out)
			}
		}
	}
	if commands < 5 {
		t.Errorf("the page shows %d commands", commands)
	}
	answer, err := os.ReadFile(filepath.Join(dir, "answer.json"))
	if err != nil || !strings.Contains(string(answer), `"layer": "router"`) {
		t.Errorf("the answer says nothing of the router (%v):\n%s", err, answer)
	}
}
