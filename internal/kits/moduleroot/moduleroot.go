// Package moduleroot finds the project's own folder, what its scripts have built for tests, and programs that judge.
package moduleroot

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Find finds the folder with go.mod, upwards from the working directory, which is a test's own folder. Paths in a
// binary that was built with -trimpath do not say where its sources are.
func Find() (string, error) {
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

// Built finds the folder that a script has made in the cache of the tests. The folder is named after what it is and the
// SHA-256 of the files that say which versions are in it; their paths are relative to the project's folder.
func Built(name string, files ...string) (string, error) {
	root, err := Find()
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
	sum := sha256.New()
	for _, file := range files {
		b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
		if err != nil {
			return "", err
		}
		sum.Write(b)
	}
	folder := filepath.Join(cache, "nearfar-test", fmt.Sprintf("%s-%x", name, sum.Sum(nil)[:8]))
	_, err = os.Stat(folder)
	return folder, err
}

// Judge is the path of a program that judges what a release has, in the version that release/judges/go.mod pins. Go
// builds it: the first time takes minutes.
func Judge(t testing.TB, name string) string {
	t.Helper()
	root, err := Find()
	if err != nil {
		t.Fatal(err)
	}
	find := exec.CommandContext(t.Context(), "go", "-C", filepath.Join(root, "release", "judges"), "tool", "-n", name)
	find.Env = append(os.Environ(), "GOFLAGS=", "CGO_ENABLED=0")
	var said strings.Builder
	find.Stderr = &said
	out, err := find.Output()
	if err != nil {
		t.Fatalf("go tool -n %s: %v\n%s", name, err, said.String())
	}
	return strings.TrimSpace(string(out))
}
