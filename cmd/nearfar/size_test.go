package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// maxSize is the largest size of the program for linux/amd64 without the agents and fronts that it contains. A feature
// that needs more raises it in an ADR of its own, which states its bytes: docs/adr/0169-states-that-are-emptied.md did
// last. See docs/adr/0136-weight-of-the-program.md.
const maxSize = 58_930_000

// TestSize builds the program as scripts/dist.sh does. The agents are in it only if they were made before.
func TestSize(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the program")
	}
	file := filepath.Join(t.TempDir(), "nearfar")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false",
		"-ldflags", "-s -w -buildid=", "-o", file, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	size := sizeOf(t, file)
	agents, err := filepath.Glob("../../internal/onhost/agent/binaries/dist/*.gz")
	if err != nil {
		t.Fatal(err)
	}
	for _, agent := range agents {
		size -= sizeOf(t, agent)
	}
	t.Logf("%d bytes without %d agents", size, len(agents))
	if size > maxSize {
		t.Errorf("the program has %d bytes without agents; at most %d are wanted", size, maxSize)
	}
}

func sizeOf(t *testing.T, file string) int64 {
	t.Helper()
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// TestDependencies: what was removed for its weight stays out, and what would weigh as much: clients of Kubernetes that
// watch, templates of HTML, and drivers of databases on servers.
func TestDependencies(t *testing.T) {
	forbidden := []string{"html/template", "testing", "k8s.io/client-go/tools/cache"}
	below := []string{"k8s.io/client-go/informers", "github.com/jackc/"}
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	names := strings.Fields(string(out))
	if !slices.Contains(names, "nearfar/internal/cli") {
		t.Fatalf("the list of packages is not the program's: %d names", len(names))
	}
	for _, name := range names {
		if slices.Contains(forbidden, name) ||
			slices.ContainsFunc(below, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
			t.Errorf("the program imports %s, which stays out for its weight", name)
		}
	}
}
