package ci

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestWorkflows: actionlint, in the version of lint/go.mod, finds nothing in the examples, and knows every input that
// they give to the action. A wrong input is found, so that the check can fail.
func TestWorkflows(t *testing.T) {
	action, err := os.ReadFile(filepath.Join("..", "action.yml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"gate.yml", "gate-folders.yml", "gate-image.yml", "gate-pull-request.yml", "gate-sockperf.yml",
	} {
		example, err := os.ReadFile(filepath.Join("..", "docs", "examples", name))
		if err != nil {
			t.Fatal(err)
		}
		// As in a repository that holds the action itself: only then does actionlint read the action's inputs.
		text := strings.ReplaceAll(string(example), "OWNER/nearfar@v1", "./")
		if printed, err := actionlint(t, action, text); err != nil || printed != "" {
			t.Errorf("%s: %v\n%s", name, err, printed)
		}
		wrong := strings.Replace(text, "fail-if:", "fail-on:", 1)
		printed, err := actionlint(t, action, wrong)
		if wrong != text && (err == nil || !strings.Contains(printed, "fail-on")) {
			t.Errorf("%s: a wrong input is not found: %v\n%s", name, err, printed)
		}
	}
}

// actionlint checks a workflow in a repository with the action.
func actionlint(t *testing.T, action []byte, workflow string) (string, error) {
	t.Helper()
	repository := t.TempDir()
	file := filepath.Join(repository, ".github", "workflows", "gate.yml")
	for path, content := range map[string]string{
		file: workflow, filepath.Join(repository, "action.yml"): string(action),
		filepath.Join(repository, ".git", "HEAD"): "",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	lint := exec.Command("go", "-C", "lint", "tool", "actionlint", "-shellcheck=", "-pyflakes=", "-no-color", file)
	lint.Env = append(os.Environ(), "GOFLAGS=")
	printed, err := lint.CombinedOutput()
	return string(printed), err
}
