//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// scripts/home.sh renames the module in a copy of the sources: every package and test is found under the new name, none
// under the old one, packages compile, and the linter's rules are about the new name.
func TestHome(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles")
	}
	t.Parallel()
	copied := t.TempDir()
	in := func(folder string, argv ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
		cmd.Dir = folder
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v\n%s", argv, err, out)
		}
		return string(out)
	}
	in("..", "sh", "-c", `git ls-files --cached --others --exclude-standard -z | tar -c --null -T - | tar -x -C "$1"`,
		"sh", copied)
	for _, module := range []string{"example.org/some.one/nearfar", "example.com/nearfar/v2"} {
		in(copied, "scripts/home.sh", module)
		if left := in(copied, "find", ".", "-name", "*.before"); left != "" {
			t.Errorf("home.sh left %s", left)
		}
		for name := range strings.FieldsSeq(in(copied, "go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}} `+
			`{{join .TestImports " "}} {{join .XTestImports " "}}`,
			"./cmd/...", "./internal/base/...", "./internal/cli", "./release/...")) {
			if strings.HasPrefix(name, "nearfar/") {
				t.Errorf("a package is still %s", name)
			}
		}
		if listed := in(copied, "go", "list", "./cmd/..."); !strings.Contains(listed, module+"/cmd/nearfar\n") {
			t.Errorf("the module has %s", listed)
		}
		rules, err := os.ReadFile(filepath.Join(copied, ".golangci.yml"))
		if err != nil {
			t.Fatal(err)
		}
		of := func(text string) bool { return strings.Contains(string(rules), text) }
		if !of("{pkg: "+module+"/, ") || of("pkg: nearfar/") || of(" nearfar/internal") {
			t.Error("the linter's rules are about another module")
		}
	}
	in(copied, "go", "vet", "./internal/base/bounded", "./internal/base/prose")
}
