package main

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

const (
	maxSize       = 12 << 20
	maxCompressed = 5 << 20
)

// TestSize builds the front for every system on which it runs. It is copied to hosts, and embedded in nearfar.
func TestSize(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds programs for two systems")
	}
	for _, arch := range []string{"amd64", "arm64"} {
		file := filepath.Join(t.TempDir(), "nearfar-front")
		cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false",
			"-ldflags", "-s -w -buildid=", "-o", file, ".")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", arch, err, out)
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
		t.Logf("%s: %d bytes, compressed %d", arch, len(program), compressed.Len())
		if len(program) > maxSize || compressed.Len() > maxCompressed {
			t.Errorf("%s: %d bytes, compressed %d; at most %d and %d are wanted", arch, len(program),
				compressed.Len(), maxSize, maxCompressed)
		}
	}
}

// TestDependencies: the front has a client of PostgreSQL, and of nearfar only what counts and what is exchanged.
func TestDependencies(t *testing.T) {
	allowed := []string{
		"nearfar/cmd/nearfar-front", "nearfar/internal/onhost/front", "nearfar/internal/onhost/front/pages",
	}
	below := []string{
		"nearfar/internal/base/", "nearfar/internal/declare/", "nearfar/internal/onhost/engine/",
		"github.com/HdrHistogram/", "github.com/jackc/", "github.com/safchain/", "github.com/vishvananda/",
		"golang.org/x/sys/", "golang.org/x/text/", "gonum.org/v1/gonum/",
	}
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
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
			t.Errorf("the front imports %s", name)
		}
	}
}
