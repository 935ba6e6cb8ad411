// Package pythontest runs Python programs that read nearfar's files, for tests: they share no code with nearfar.
package pythontest

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
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

// interpreter finds the environment with the versions in scripts/test-python.txt. Its name is the same as in
// scripts/test-python.sh.
func interpreter() (string, error) {
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	versions, err := os.ReadFile(filepath.Join(root, "scripts", "test-python.txt"))
	if err != nil {
		return "", err
	}
	cache := os.Getenv("XDG_CACHE_HOME")
	if cache == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		cache = filepath.Join(home, ".cache")
	}
	sum := sha256.Sum256(versions)
	environment := filepath.Join(cache, "nearfar-test", fmt.Sprintf("python-%x", sum[:8]))
	if _, err := os.Stat(filepath.Join(environment, "complete")); err != nil {
		return "", fmt.Errorf("the Python environment of the tests is missing: %w", err)
	}
	return filepath.Join(environment, "bin", "python"), nil
}

// moduleRoot finds the folder with go.mod, upwards from the test's own folder. Paths in a binary built with -trimpath
// do not say where its sources are.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		if _, missing := os.Stat(filepath.Join(dir, "go.mod")); missing == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("no go.mod in any folder above the test's own")
		}
		dir = filepath.Dir(dir)
	}
	return "", err
}
