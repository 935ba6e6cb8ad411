//go:build linux

package boottest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"nearfar/internal/kits/moduleroot"
)

// firstExperiment is an experiment that a new user might run first, with trials that take no time.
const firstExperiment = `
nearfar: v1
name: first
baseline: near
arms:
  near: {lab: {path: [bridge]}}
  far: {lab: {path: [bridge, router, bridge]}}
workloads:
  - {name: rr, tool: native, mode: rr, duration: 100ms, warmup: 20ms}
schedule: {blocks: 1, seed: 1}
`

// The real packages and the real archive, on a Debian that has nothing: installed, used, removed, and nothing is left.
// Made twice, they are the same bytes.
func TestPackages(t *testing.T) {
	if os.Getuid() != 0 || testing.Short() {
		t.Skip("only root can install packages; it builds the program")
	}
	programs := builtPrograms(t, "9.8.7")
	one, two := filepath.Join(t.TempDir(), "v9.8.7"), filepath.Join(t.TempDir(), "again")
	runScript(t, "scripts/boot-root.sh", "bare")
	runScript(t, "scripts/release.sh", "9.8.7", programs, one)
	runScript(t, "scripts/release.sh", "9.8.7", programs, two)
	files, again := contents(t, one), contents(t, two)
	for name := range files {
		if files[name] != again[name] {
			t.Errorf("%s differs when it is made again", name)
		}
	}
	if len(files) != len(again) {
		t.Errorf("%d files, and made again %d", len(files), len(again))
	}
	program, err := os.ReadFile(filepath.Join(programs, "nearfar-linux-amd64"))
	if err != nil {
		t.Fatal(err)
	}
	checkAPK(t, []byte(files["nearfar-9.8.7-linux-amd64.apk"]), program)
	materials := files["nearfar-9.8.7-linux-amd64.cdx.json"]
	for _, want := range []string{`"bomFormat": "CycloneDX"`, "pkg:golang/github.com/spf13/cobra@", "v9.8.7"} {
		if !strings.Contains(materials, want) {
			t.Errorf("the bill of materials has no %s:\n%.2000s", want, materials)
		}
	}

	system := NewBare(t)
	for name, text := range files {
		system.Write("/srv/release/"+name, text, 0o644)
	}
	system.Write("/srv/experiment.yaml", firstExperiment, 0o644)
	types := func(command string) string {
		t.Helper()
		out, err := system.Type("/srv", command, nil, 5*time.Minute)
		if err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
		return out
	}
	before := listed(types("find / -xdev"))
	begun := time.Now()
	uses := func(how string) {
		t.Helper()
		if said := types("nearfar version"); !strings.HasPrefix(said, "nearfar 9.8.7 linux/amd64 ") {
			t.Errorf("nearfar version: %s", said)
		}
		if said := types("nearfar run --force experiment.yaml"); !strings.Contains(said, "rr, rtt") {
			t.Errorf("the answer has no round trips:\n%s", said)
		}
		t.Logf("%s: from nothing to an answer in %.1f s", how, time.Since(begun).Seconds())
		types("rm -r runs")
	}
	left := func(how string) {
		t.Helper()
		for _, name := range listed(types("find / -xdev")) {
			if _, there := slices.BinarySearch(before, name); !there {
				t.Errorf("%s leaves %s", how, name)
			}
		}
	}

	types("apt-get install -y ./release/nearfar-9.8.7-linux-amd64.deb")
	uses("the deb")
	types("test -s /usr/share/man/man1/nearfar-run.1.gz && test -s /usr/share/doc/nearfar/copyright && " +
		"bash -n /usr/share/bash-completion/completions/nearfar")
	types("apt-get purge -y nearfar")
	left("the deb")

	begun = time.Now()
	// There is no curl and no wget: the files are in a folder.
	types("sh release/install.sh --from release --prefix /usr/local")
	uses("install.sh")
	types("rm /usr/local/bin/nearfar")
	left("install.sh")
}

// builtPrograms has the real program of linux/amd64. Stand-ins for the others are agents: smaller programs of Go.
func builtPrograms(t *testing.T, version string) string {
	t.Helper()
	programs, root := t.TempDir(), moduleRoot(t)
	build := func(flags, name, folder string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false",
			"-ldflags", "-s -w "+flags, "-o", filepath.Join(programs, name), folder)
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", folder, err, out)
		}
	}
	build("-X nearfar/internal/onhost/engine/process.stamped="+version, "nearfar-linux-amd64", "./cmd/nearfar")
	build("", "agent", "./cmd/nearfar-agent")
	agent := filepath.Join(programs, "agent")
	for _, name := range []string{
		"nearfar-linux-arm64", "nearfar-darwin-amd64", "nearfar-darwin-arm64", "nearfar-windows-amd64.exe",
		"nearfar-agent-linux-amd64", "nearfar-agent-linux-arm64", "nearfar-agent-windows-amd64.exe",
	} {
		if err := os.Link(agent, filepath.Join(programs, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(agent); err != nil {
		t.Fatal(err)
	}
	return programs
}

func moduleRoot(t *testing.T) string {
	t.Helper()
	root, err := moduleroot.Find()
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// runScript runs a script of the project.
func runScript(t *testing.T, argv ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(moduleRoot(t), argv[0]), argv[1:]...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%q: %v\n%s", argv, err, out)
	}
}

// contents are the files of a folder by their names.
func contents(t *testing.T, folder string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[entry.Name()] = string(text)
	}
	return files
}

// listed are the lines of a list of files, sorted, without what package managers and the test keep for themselves.
func listed(text string) []string {
	lines := slices.Sorted(strings.Lines(text))
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	return slices.DeleteFunc(lines, func(line string) bool {
		of := func(folder string) bool { return strings.HasPrefix(line, folder) }
		return of("/var/lib/dpkg/") || of("/var/lib/apt/") || of("/var/log/") ||
			of("/var/cache/") || line == "/root/.typed"
	})
}

// checkAPK checks that a package for Alpine has the program: three compressed tar archives in a row.
func checkAPK(t *testing.T, content, program []byte) {
	t.Helper()
	unpacked, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	archive := tar.NewReader(unpacked)
	for {
		header, err := archive.Next()
		if err != nil {
			t.Fatalf("no usr/bin/nearfar in the apk: %v", err)
		}
		if header.Name == "usr/bin/nearfar" {
			got, err := io.ReadAll(archive)
			if err != nil || !bytes.Equal(got, program) || header.Mode != 0o755 {
				t.Errorf("the apk has another program: %d bytes, mode %o, %v", len(got), header.Mode, err)
			}
			return
		}
	}
}
