// Package pythontest runs Python programs that read nearfar's files, for tests: they share no code with nearfar.
package pythontest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"nearfar/internal/kits/moduleroot"
)

// Run runs a program with arguments in the environment from scripts/test-python.sh, and gives its standard output. The
// test fails if the environment is missing or the program fails.
func Run(t *testing.T, program string, args ...string) []byte {
	t.Helper()
	python, err := interpreter()
	if err != nil {
		t.Fatalf("%v\nscripts/install-tools.sh test installs it", err)
	}
	cmd := exec.CommandContext(t.Context(), python, append([]string{"-I", program}, args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", program, err, stderr.Bytes())
	}
	return stdout.Bytes()
}

// interpreter finds the environment with the versions in scripts/test-python.txt, which scripts/test-python.sh makes.
func interpreter() (string, error) {
	environment, err := moduleroot.Built("python", "scripts/test-python.txt")
	if err == nil {
		_, err = os.Stat(filepath.Join(environment, "complete"))
	}
	if err != nil {
		return "", fmt.Errorf("the Python environment of the tests is missing: %w", err)
	}
	return filepath.Join(environment, "bin", "python"), nil
}
