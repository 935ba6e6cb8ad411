package cli

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"nearfar/internal/onhost/agent/binaries"
)

// needAgents skips a test if nearfar was built without agents.
func needAgents(t *testing.T) {
	t.Helper()
	for _, s := range binaries.Systems() {
		if _, err := binaries.For(s); errors.Is(err, binaries.ErrMissing) {
			t.Skipf("%v", err)
		}
	}
}

// TestImage writes an archive to a file and to standard output: the same bytes, with the name that is printed.
func TestImage(t *testing.T) {
	needAgents(t)
	file := filepath.Join(t.TempDir(), "x.tar")
	var toFile, toPipe, said bytes.Buffer
	args := []string{"image", "--platform", "linux/arm64", "--name", "registry.example/x:1"}
	if code := Main(append(args, "-o", file), nil, &toFile, &said); code != exitDone {
		t.Fatalf("exit code %d: %s", code, &said)
	}
	if toFile.String() != "registry.example/x:1\n" || !strings.Contains(said.String(), "an image for linux/arm64, ") {
		t.Errorf("it printed %q and said %q", &toFile, &said)
	}
	said.Reset()
	if code := Main(args, nil, &toPipe, &said); code != exitDone {
		t.Fatalf("exit code %d: %s", code, &said)
	}
	if !strings.HasSuffix(said.String(), "registry.example/x:1\n") {
		t.Errorf("with the archive on standard output, it said %q", &said)
	}
	written, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(written, toPipe.Bytes()) {
		t.Error("the file and standard output differ")
	}
	files := 0
	for r := tar.NewReader(bytes.NewReader(written)); ; files++ {
		if _, err := r.Next(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if want := 5 + 4; files != want { // index, manifest, configuration, layer
		t.Errorf("%d files in the archive, want %d", files, want)
	}
}

// TestImageOfNearfar: the image of nearfar has this program and its agent, for the platform of this machine.
func TestImageOfNearfar(t *testing.T) {
	needAgents(t)
	if runtime.GOOS != "linux" {
		t.Skip("nearfar has an image on Linux")
	}
	file := filepath.Join(t.TempDir(), "x.tar")
	var stdout, said bytes.Buffer
	if code := Main([]string{"image", "--nearfar", "-o", file}, nil, &stdout, &said); code != exitDone {
		t.Fatalf("exit code %d: %s", code, &said)
	}
	if !strings.HasPrefix(stdout.String(), "localhost/nearfar:") ||
		!strings.Contains(said.String(), "an image for linux/"+runtime.GOARCH+", ") {
		t.Errorf("it printed %q and said %q", &stdout, &said)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	archive, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = archive.Close() }()
	layers, found := 0, false
	for r := tar.NewReader(archive); ; {
		if _, err := r.Next(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		unpacked, err := gzip.NewReader(r)
		if err != nil {
			continue // it is no layer
		}
		layers++
		inside := tar.NewReader(unpacked)
		for h, err := inside.Next(); err == nil; h, err = inside.Next() {
			if h.Name == "bin/nearfar" {
				content, err := io.ReadAll(inside)
				found = err == nil && bytes.Equal(content, program)
			}
		}
	}
	if layers != 2 || !found {
		t.Errorf("%d layers, with this program: %v", layers, found)
	}
}

// TestImageCannotBeWritten: nothing incomplete is left in a folder that does not exist, or on a disk that is full. The
// image has one platform, because compressing each takes seconds.
func TestImageCannotBeWritten(t *testing.T) {
	needAgents(t)
	dir := t.TempDir()
	var out, said bytes.Buffer
	missing := filepath.Join(dir, "none", "x.tar")
	args := []string{"image", "--platform", "linux/amd64", "-o", missing}
	if code := Main(args, nil, &out, &said); code != exitFailed || !strings.Contains(said.String(), missing) {
		t.Errorf("a folder that does not exist: exit code %d, %s", code, &said)
	}
	if runtime.GOOS != "linux" {
		t.Skip("makes a small disk in a mount namespace of Linux")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	script := `mount -t tmpfs -o size=1m nearfar-test "$1" || exit 77
"$0" image --platform linux/amd64 -o "$1/x.tar"
echo "exit code $?"
ls -A "$1"`
	cmd := exec.Command("unshare", "--map-root-user", "--mount", "sh", "-c", script, nearfarLink(t, self), dir)
	printed, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if errors.Is(err, exec.ErrNotFound) || errors.As(err, &exit) {
		t.Skipf("no mount namespace: %v, %s", err, printed)
	}
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Split(strings.TrimSpace(string(printed)), "\n"); len(lines) != 2 ||
		!strings.Contains(lines[0], "no space left on device") || lines[1] != "exit code 1" {
		t.Errorf("on a full disk: %s", printed)
	}
	if out.Len() > 0 {
		t.Errorf("it printed %q", &out)
	}
}

// nearfarLink is a path by which the test binary is nearfar (testscript.Main looks at the program's name).
func nearfarLink(t *testing.T, self string) string {
	t.Helper()
	link := filepath.Join(t.TempDir(), "nearfar")
	if err := os.Symlink(self, link); err != nil {
		t.Fatal(err)
	}
	return link
}
