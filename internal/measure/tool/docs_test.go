package tool

import (
	"cmp"
	"fmt"
	"os"
	"slices"
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

// installTable lists in Markdown how each tool is installed on each kind of host.
func installTable() string {
	var b strings.Builder
	b.WriteString("| tool | on | |\n|---|---|---|\n")
	for _, p := range programs() {
		// nearfar's own, and no program
		if slices.Contains([]string{nativeName, httpName, CommandName}, p.declared.Name) || isOnlyRead(p.declared.Name) {
			continue
		}
		group := map[string][]string{}
		var order []string
		add := func(host, how string) {
			if len(group[how]) == 0 {
				order = append(order, how)
			}
			group[how] = append(group[how], host)
		}
		if slices.Contains(p.install.on, linux) {
			for _, d := range distributions() {
				how := p.install.how(linux, "ID="+d.ids[0])
				add(d.name, strings.Replace(how, " for "+d.name+" is known", " is known", 1))
			}
			add("other Linux", p.install.how(linux, ""))
		} else {
			add("Linux", p.install.how(linux, ""))
		}
		add("Windows", p.install.how(windows, ""))
		for _, how := range order {
			text := how
			if strings.HasPrefix(how, "sudo ") {
				command, note, noted := strings.Cut(how, " (")
				if text = "`" + command + "`"; noted {
					text += " (" + note
				}
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", p.declared.Name, strings.Join(group[how], ", "), text)
		}
	}
	return b.String()
}

// The tables of docs/tools.md are made from the declarations of the tools; UPDATE_GOLDEN=1 writes them again. Every
// tool has a section there.
func TestTablesOfTools(t *testing.T) {
	const path = "../../../docs/tools.md"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := string(page)
	for name, table := range map[string]string{"tools": toolsTable(), "install": installTable()} {
		begin, end := "<!-- "+name+" -->\n", "<!-- /"+name+" -->"
		before, rest, found := strings.Cut(want, begin)
		_, after, ended := strings.Cut(rest, end)
		if !found || !ended {
			t.Fatalf("%s has no place for the table: %s", path, begin)
		}
		want = before + begin + table + end + after
	}
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

// The declarations match the tools: each tool that measures something is in the registry, and the other way round.
// Exactly the tools that can be a background say so.
func TestDeclaredIsWhatRuns(t *testing.T) {
	r := All("secret")
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
		if declared.Prints == "" || declared.Versions == "" || runs != (declared.Runs != "") || runs != (declared.Systems != "") {
			t.Errorf("%s: the documentation lacks something: %+v", declared.Name, declared)
		}
	}
}
