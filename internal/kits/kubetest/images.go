//go:build linux

package kubetest

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// The images that every node of a cluster has.
const (
	// Busybox is an image with a shell, under the name of nearfar's default image: this machine's busybox.
	Busybox = "docker.io/library/busybox:1.37"
	// Tools is Busybox with sockperf, netperf, iperf3 and ping of this machine.
	Tools = "docker.io/kubetest/tools:1"
	// Empty is an image without any file.
	Empty = "docker.io/kubetest/empty:1"
	// pauseImage is the image of the process that holds the namespaces of a pod.
	pauseImage = "docker.io/kubetest/pause:1"
)

// measuringTools are the programs of Tools besides those of Busybox.
func measuringTools() []string { return []string{"sockperf", "netperf", "netserver", "iperf3", "ping"} }

// LoadImage loads the images of an archive (docker-archive or OCI) on the named nodes; on all, if none is named.
func (c *Cluster) LoadImage(archive string, nodes ...string) {
	c.t.Helper()
	b, err := os.ReadFile(archive)
	if err != nil {
		c.t.Fatal(err)
	}
	c.mu.Lock()
	c.images++
	name := fmt.Sprintf("loaded-%d.tar", c.images)
	c.mu.Unlock()
	if err := os.WriteFile(filepath.Join(c.Folder, "images", name), b, 0o644); err != nil {
		c.t.Fatal(err)
	}
	err = c.eachNode(func(n *Node) error {
		if len(nodes) > 0 && !slices.Contains(nodes, n.Name) {
			return nil
		}
		return n.load(name)
	})
	if err != nil {
		c.t.Fatal(err)
	}
}

// A layer is the files of an image, as a tar archive.
type layer struct {
	archive bytes.Buffer
	tar     *tar.Writer
	added   []string
}

func newLayer() *layer {
	l := &layer{}
	l.tar = tar.NewWriter(&l.archive)
	return l
}

// folder adds a folder, and those above it.
func (l *layer) folder(path string, mode int64) error {
	if path == "." || path == "/" || slices.Contains(l.added, path) {
		return nil
	}
	if err := l.folder(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	l.added = append(l.added, path)
	return l.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: entry(path) + "/", Mode: mode})
}

// entry is the name of a path in an archive.
func entry(path string) string { return strings.TrimPrefix(path, "/") }

// file adds a file.
func (l *layer) file(path string, content []byte, mode int64) error {
	if slices.Contains(l.added, path) {
		return nil
	}
	if err := l.folder(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	l.added = append(l.added, path)
	err := l.tar.WriteHeader(&tar.Header{
		Typeflag: tar.TypeReg, Name: entry(path), Mode: mode, Size: int64(len(content)),
	})
	if err == nil {
		_, err = l.tar.Write(content)
	}
	return err
}

// link adds a link to another path.
func (l *layer) link(path, target string) error {
	if slices.Contains(l.added, path) {
		return nil
	}
	if err := l.folder(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	l.added = append(l.added, path)
	return l.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: entry(path), Linkname: target, Mode: 0o777})
}

// program adds a program of this machine, in a folder of the image, with its libraries at their own paths.
func (l *layer) program(name, folder string) error {
	path, err := exec.LookPath(name)
	if err != nil {
		return fmt.Errorf("%w; scripts/install-tools.sh test installs it", err)
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return err
	}
	libraries, err := librariesOf(path)
	if err != nil {
		return err
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := l.file(filepath.Join(folder, name), content, 0o755); err != nil {
		return err
	}
	for _, library := range libraries {
		content, err := os.ReadFile(library)
		if err != nil {
			return err
		}
		if err := l.file(library, content, 0o755); err != nil {
			return err
		}
	}
	return nil
}

// librariesOf lists the libraries of a program, with the loader; none for a static program.
func librariesOf(program string) ([]string, error) {
	// ldd fails for a static program.
	out, err := exec.CommandContext(context.Background(), "ldd", program).Output()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		return nil, err
	}
	// "libm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x...)" and "/lib64/ld-linux-x86-64.so.2 (0x...)".
	var paths []string
	for _, found := range regexp.MustCompile(`(/\S+) \(0x`).FindAllSubmatch(out, -1) {
		paths = append(paths, string(found[1]))
	}
	return paths, nil
}

// shell adds Debian's busybox, with a link for each of its programs.
func (l *layer) shell() error {
	if err := l.program("busybox", "/bin"); err != nil {
		return err
	}
	out, err := exec.CommandContext(context.Background(), "busybox", "--list").Output()
	if err != nil {
		return fmt.Errorf("busybox --list: %w", err)
	}
	for name := range strings.FieldsSeq(string(out)) {
		if name == "busybox" {
			continue
		}
		if err := l.link("/bin/"+name, "busybox"); err != nil {
			return err
		}
	}
	if err := l.folder("/tmp", 0o1777); err != nil {
		return err
	}
	if err := l.folder("/root", 0o700); err != nil {
		return err
	}
	if err := l.file("/etc/passwd", []byte("root:x:0:0:root:/root:/bin/sh\n"), 0o644); err != nil {
		return err
	}
	return l.file("/etc/group", []byte("root:x:0:\n"), 0o644)
}

// image is an image of one layer.
type image struct {
	name    string
	command []string
	layer   *layer
}

// writeTestImages writes the images of tests as one archive, in the format of `docker save`.
func writeTestImages(path string) error {
	shell, tools, empty := newLayer(), newLayer(), newLayer()
	if err := shell.shell(); err != nil {
		return err
	}
	for _, name := range measuringTools() {
		if err := tools.program(name, "/usr/bin"); err != nil {
			return err
		}
	}
	if err := tools.shell(); err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	err = writeImages(f, []image{
		{pauseImage, []string{"/bin/busybox", "sleep", "infinity"}, shell},
		{Busybox, []string{"/bin/sh"}, shell},
		{Tools, []string{"/bin/sh"}, tools},
		{Empty, []string{"/nothing"}, empty},
	})
	return errors.Join(err, f.Close())
}

// writeImages writes an archive with images.
func writeImages(w io.Writer, images []image) error {
	type entryOf struct {
		Config   string
		RepoTags []string
		Layers   []string
	}
	var manifest []entryOf
	out := tar.NewWriter(w)
	written := map[string]bool{}
	write := func(name string, content []byte) error {
		if written[name] {
			return nil
		}
		written[name] = true
		err := out.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(content))})
		if err == nil {
			_, err = out.Write(content)
		}
		return err
	}
	for _, i := range images {
		if err := i.layer.tar.Close(); err != nil {
			return err
		}
		sum := sha256.Sum256(i.layer.archive.Bytes())
		file := fmt.Sprintf("%x.tar", sum)
		if err := write(file, i.layer.archive.Bytes()); err != nil {
			return err
		}
		config, err := json.Marshal(object{
			"architecture": runtime.GOARCH, "os": runtime.GOOS,
			// Programs of Tools come before those of busybox.
			"config": object{"Env": []string{"PATH=/usr/bin:/bin"}, "Cmd": i.command},
			"rootfs": object{"type": "layers", "diff_ids": []string{fmt.Sprintf("sha256:%x", sum)}},
		})
		if err != nil {
			return err
		}
		configFile := fmt.Sprintf("%x.json", sha256.Sum256(config))
		if err := write(configFile, config); err != nil {
			return err
		}
		manifest = append(manifest, entryOf{configFile, []string{i.name}, []string{file}})
	}
	b, err := json.Marshal(manifest)
	if err != nil {
		return err
	}
	if err := write("manifest.json", b); err != nil {
		return err
	}
	return out.Close()
}
