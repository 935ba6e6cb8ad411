package cli

import (
	"bytes"
	"path"
	"strings"
	"testing"

	experimentfile "nearfar/internal/declare/experiment/file"
	"nearfar/internal/measure/tool"
)

// Every template is a valid experiment with the template's name, names the verbs to use next, and is in the help.
func TestTemplates(t *testing.T) {
	files, err := templates.ReadDir("templates")
	if err != nil || len(files) != len(templateList()) {
		t.Errorf("%d files, %d templates (%v)", len(files), len(templateList()), err)
	}
	var help bytes.Buffer
	if code := Main([]string{"init", "--help"}, strings.NewReader(""), &help, &help); code != exitDone {
		t.Fatalf("exit code %d\n%s", code, help.String())
	}
	for _, template := range templateList() {
		text, err := templateText(template.name)
		if err != nil {
			t.Error(err)
			continue
		}
		e, err := experimentfile.Parse(path.Join("templates", template.name+".yaml"), text, tool.Declared())
		if err != nil {
			t.Error(err)
			continue
		}
		if e.Name != template.name {
			t.Errorf("%s: the experiment is called %s", template.name, e.Name)
		}
		if !strings.HasPrefix(string(text), "# ") || !strings.Contains(string(text), "nearfar run FILE") ||
			!strings.Contains(string(text), "nearfar validate FILE") {
			t.Errorf("%s does not name the verbs to use next", template.name)
		}
		if !strings.Contains(help.String(), template.about) {
			t.Errorf("%s is not in the help", template.name)
		}
		d, err := declare(e, tool.All(""))
		if err != nil || d.Seconds < 10 || d.Seconds > 300 {
			t.Errorf("%s takes %v s (%v), want some minutes at most", template.name, d.Seconds, err)
		}
	}
}

// The alternatives that a template has in comments are valid too: the file can be read without their "# ".
func TestTemplateChoices(t *testing.T) {
	for _, template := range templateList() {
		text, err := templateText(template.name)
		if err != nil {
			t.Fatal(err)
		}
		choices := 0
		var lines []string
		for line := range strings.Lines(string(text)) {
			uncommented, isChoice := strings.CutPrefix(line, "  # ")
			if isChoice && (strings.HasPrefix(uncommented, "- {") || strings.Contains(uncommented, ": {lab:") ||
				strings.Contains(uncommented, ": {client:") || strings.Contains(uncommented, ": {ssh:")) {
				choices++
				line = "  " + uncommented
			}
			lines = append(lines, line)
		}
		e, err := experimentfile.Parse(template.name, []byte(strings.Join(lines, "")), tool.Declared())
		if err != nil {
			t.Error(err)
			continue
		}
		if choices == 0 {
			t.Errorf("%s offers no choice", template.name)
		}
		if _, err := declare(e, tool.All("")); err != nil {
			t.Errorf("%s: %v", template.name, err)
		}
	}
}
