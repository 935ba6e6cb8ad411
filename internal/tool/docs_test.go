package tool

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"testing"

	diff "github.com/google/go-cmp/cmp"
)

// toolsTable lists in Markdown how nearfar runs each tool, and what the tool prints.
func toolsTable() string {
	var b strings.Builder
	b.WriteString("| tool | run by nearfar as | modes | prints | systems | versions |\n|---|---|---|---|---|---|\n")
	declared := Declared()
	for _, t := range declared {
		var modes []string
		for _, mode := range declared.Modes(t.Name) {
			modes = append(modes, mode+" over "+strings.Join(declared.Protocols(t.Name, mode), ", "))
		}
		if len(t.Does) == 0 {
			modes = []string{""}
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", t.Name, cmp.Or(t.Runs, "not run"),
			strings.Join(modes, "; "), t.Prints,
			t.Systems, t.Versions)
	}
	return b.String()
}

// The table of docs/tools.md is made from what the tools declare; UPDATE_GOLDEN=1 writes it anew. Every tool has a
// section there.
func TestTableOfTools(t *testing.T) {
	const path, begin, end = "../../docs/tools.md", "<!-- tools -->\n", "<!-- /tools -->"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(page), begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no place for the table: %s", path, begin)
	}
	want := before + begin + toolsTable() + end + after
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if d := diff.Diff(string(page), want); d != "" {
		t.Errorf("%s differs from what the tools declare; UPDATE_GOLDEN=1 writes it (-page +declared):\n%s", path, d)
	}
	for _, name := range Formats() {
		if name != nativeName && !strings.Contains(want, "\n## "+name+"\n") {
			t.Errorf("%s has no section on %s", path, name)
		}
	}
}

// What is declared is what runs: each tool that measures something is in the registry, and the other way round. Exactly
// the tools that can be a background say so.
func TestDeclaredIsWhatRuns(t *testing.T) {
	r := New(append([]Tool{NewNative("secret")}, Foreign()...)...)
	if d := diff.Diff(Declared().Names(), r.Names()); d != "" {
		t.Errorf("(-declared +run):\n%s", d)
	}
	for _, declared := range Declared() {
		one, runs := r.Lookup(declared.Name)
		_, companion := one.(Companion)
		beside := false
		for _, c := range declared.Does {
			beside = beside || c.Beside
		}
		if runs && beside != companion {
			t.Errorf("%s: declared as a background is %v, and it can be one is %v", declared.Name, beside, companion)
		}
		if declared.Prints == "" || declared.Versions == "" || runs != (declared.Runs != "" && declared.Systems != "") {
			t.Errorf("%s: the documentation lacks something: %+v", declared.Name, declared)
		}
	}
}
