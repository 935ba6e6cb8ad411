package database

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// folders are where distributions put initdb and postgres, which are not on PATH: Debian, the project's own packages
// for RHEL, Alpine, and SUSE.
func folders() []string {
	return []string{"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/libexec/postgresql*",
		"/usr/lib/postgresql*/bin"}
}

// find gives the folder with the programs of the newest PostgreSQL; the one on PATH comes first.
func find() (string, error) {
	has := func(folder string) bool {
		for _, program := range []string{"initdb", "postgres"} {
			info, err := os.Stat(filepath.Join(folder, program))
			if err != nil || info.IsDir() || info.Mode()&0o111 == 0 {
				return false
			}
		}
		return true
	}
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil && has(filepath.Dir(path)) {
			return filepath.Dir(path), nil
		}
	}
	var found []string
	for _, pattern := range folders() {
		some, err := filepath.Glob(pattern)
		if err != nil {
			return "", err
		}
		found = append(found, some...)
	}
	found = slices.DeleteFunc(found, func(folder string) bool { return !has(folder) })
	if len(found) == 0 {
		return "", errors.New(Missing)
	}
	return slices.MaxFunc(found, func(a, b string) int { return release(a) - release(b) }), nil
}

// release is the first number in a path: the main version of what is there.
func release(path string) int {
	digits := strings.FieldsFunc(path, func(r rune) bool { return r < '0' || r > '9' })
	if len(digits) == 0 {
		return 0
	}
	n, err := strconv.Atoi(digits[0])
	if err != nil {
		return 0
	}
	return n
}

// Version is the version of the PostgreSQL of this host.
func Version(ctx context.Context) (string, error) {
	folder, err := find()
	if err != nil {
		return "", err
	}
	out, err := exec.CommandContext(ctx, filepath.Join(folder, "postgres"), "--version").Output()
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(out)), nil
}
