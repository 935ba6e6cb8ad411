// Package hostprogram checks the programs that are copied to hosts and embedded in nearfar: their size, and what they
// import. Tests in the program's own folder call it.
package hostprogram

import (
	"bytes"
	"compress/gzip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The most bytes that a program may have, and compressed as nearfar contains it.
const (
	maxSize       = 12 << 20
	maxCompressed = 5 << 20
)

// Size builds the program of the test's folder for each target, such as linux/amd64, and checks its size.
func Size(t *testing.T, targets ...string) {
	t.Helper()
	if testing.Short() {
		t.Skipf("it builds programs for %d systems", len(targets))
	}
	for _, target := range targets {
		system, arch, _ := strings.Cut(target, "/")
		file := filepath.Join(t.TempDir(), "program")
		cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false",
			"-ldflags", "-s -w -buildid=", "-o", file, ".")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+arch)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", target, err, out)
		}
		program, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var compressed bytes.Buffer
		z, err := gzip.NewWriterLevel(&compressed, gzip.BestCompression)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := z.Write(program); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d bytes, compressed %d", target, len(program), compressed.Len())
		if len(program) > maxSize || compressed.Len() > maxCompressed {
			t.Errorf("%s: %d bytes, compressed %d; at most %d and %d are wanted", target, len(program),
				compressed.Len(), maxSize, maxCompressed)
		}
	}
}

// Imports checks that the program of the test's folder imports on a system only the standard library, the allowed
// packages, and packages below the prefixes, which end with a slash.
func Imports(t *testing.T, system string, allowed, below []string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.FieldsSeq(string(out)) {
		first, _, _ := strings.Cut(name, "/")
		if !strings.Contains(first, ".") && first != "nearfar" || slices.Contains(allowed, name) {
			continue // the standard library, or wanted
		}
		if !slices.ContainsFunc(below, func(prefix string) bool { return strings.HasPrefix(name+"/", prefix) }) {
			t.Errorf("%s: the program imports %s", system, name)
		}
	}
}
