package execution

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDocumentedExample: docs/library.md shows the function that Example runs.
func TestDocumentedExample(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "library.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(page), "```go\n")
	shown, _, closed := strings.Cut(after, "```")
	source, err := os.ReadFile("example_linux_test.go")
	if err != nil {
		t.Fatal(err)
	}
	if !closed || !strings.Contains(string(source), shown) {
		t.Errorf("docs/library.md shows another function than the example:\n%s", shown)
	}
}
