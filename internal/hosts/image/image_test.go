package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"nearfar/internal/onhost/agent/binaries"
	"nearfar/internal/onhost/host"
)

// madeUp is an agent with made-up content.
func madeUp(s host.System) binaries.Agent {
	content := []byte(strings.Repeat("the agent for "+s.OS+"/"+s.Arch+"\n", 1000))
	sum := sha256.Sum256(content)
	return binaries.Agent{System: s, Content: content, Hash: hex.EncodeToString(sum[:])}
}

func options() Options {
	o := Options{Version: "0.1.0+abc", Revision: "0123456789abcdef"}
	for _, s := range binaries.Systems() {
		o.Agents = append(o.Agents, madeUp(s))
	}
	return o
}

func archive(t *testing.T, o Options) []byte {
	t.Helper()
	i, err := Make(o)
	if err != nil {
		t.Fatal(err)
	}
	tag, err := ParseName(DefaultName(Agent, o.Version), false)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := i.WriteArchive(&b, tag); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// entry is a file of an archive that was read.
type entry struct {
	header  *tar.Header
	content []byte
}

// readFiles reads a tar archive.
func readFiles(t *testing.T, r io.Reader) (names []string, files map[string]entry) {
	t.Helper()
	files = map[string]entry{}
	for archive := tar.NewReader(r); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return names, files
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		if _, twice := files[h.Name]; twice {
			t.Errorf("%s is there twice", h.Name)
		}
		if !h.ModTime.Equal(created()) || h.Uid != 0 || h.Gid != 0 {
			t.Errorf("%s has time %v, owner %d:%d", h.Name, h.ModTime, h.Uid, h.Gid)
		}
		names, files[h.Name] = append(names, h.Name), entry{h, content}
	}
}

// unpack writes the files of an archive to a folder.
func unpack(t *testing.T, archive []byte) string {
	t.Helper()
	dir := t.TempDir()
	names, files := readFiles(t, bytes.NewReader(archive))
	for _, name := range names {
		path := filepath.Join(dir, name)
		var err error
		if strings.HasSuffix(name, "/") {
			err = os.Mkdir(path, 0o755)
		} else {
			err = os.WriteFile(path, files[name].content, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// checkPlatforms reads the images of an index back, and compares them with the options.
func checkPlatforms(t *testing.T, index v1.ImageIndex, o Options) {
	t.Helper()
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
	m, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Manifests) != len(o.Agents) {
		t.Fatalf("the index has %d images, want %d", len(m.Manifests), len(o.Agents))
	}
	for at, d := range m.Manifests {
		a := o.Agents[at]
		p := d.Platform
		if p.OS != a.System.OS || p.Architecture != a.System.Arch || p.OSVersion != "" ||
			d.ArtifactType != "" {
			t.Errorf("image %d is for %+v, want %v: %+v", at, p, a.System, d)
		}
		img, err := index.Image(d.Digest)
		if err != nil {
			t.Fatal(err)
		}
		checkImage(t, img, a, o)
	}
}

func checkImage(t *testing.T, img v1.Image, a binaries.Agent, o Options) {
	t.Helper()
	c, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if c.OS != a.System.OS || c.Architecture != a.System.Arch || !c.Created.Equal(created()) {
		t.Errorf("the configuration is for %s/%s of %v", c.OS, c.Architecture, c.Created)
	}
	labels := c.Config.Labels
	if labels[LabelTools] != "native" || labels[LabelAgent] != a.Hash || labels[labelVersion] != o.Version ||
		labels[labelRevision] != o.Revision {
		t.Errorf("the labels are %v", labels)
	}
	m, err := img.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	if m.MediaType != types.OCIManifestSchema1 || m.Config.MediaType != types.OCIConfigJSON {
		t.Errorf("media types %s, %s", m.MediaType, m.Config.MediaType)
	}
	layers, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}
	if len(c.History) != len(layers) {
		t.Errorf("%d entries of history for %d layers", len(c.History), len(layers))
	}
	var contents [][]string
	files := map[string]entry{}
	for at, l := range layers {
		if m.Layers[at].MediaType != types.OCILayer {
			t.Errorf("layer %d is %s", at, m.Layers[at].MediaType)
		}
		r, err := l.Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		names, in := readFiles(t, r)
		contents = append(contents, names)
		maps.Copy(files, in)
	}
	program := "nearfar-agent"
	if a.System.OS == "windows" {
		program = "Files/nearfar-agent.exe"
		checkWindows(t, c.Config, contents, files)
	} else {
		checkLinux(t, c.Config, contents, files)
	}
	if sum := sha256.Sum256(files[program].content); hex.EncodeToString(sum[:]) != a.Hash {
		t.Errorf("the agent in the image for %v has another hash", a.System)
	}
}

func checkLinux(t *testing.T, c v1.Config, contents [][]string, files map[string]entry) {
	t.Helper()
	if len(contents) != 1 || !slices.Equal(contents[0], []string{"nearfar-agent", "tmp/"}) {
		t.Errorf("the layers hold %q", contents)
	}
	if files["nearfar-agent"].header.Mode != 0o755 || files["tmp/"].header.Mode != 0o1777 {
		t.Error("the modes of the files differ")
	}
	if !slices.Equal(c.Entrypoint, []string{"/nearfar-agent"}) || c.User != "65532" || len(c.Cmd) != 0 {
		t.Errorf("it runs %q %q as %q", c.Entrypoint, c.Cmd, c.User)
	}
}

func checkWindows(t *testing.T, c v1.Config, contents [][]string, files map[string]entry) {
	t.Helper()
	const config = "Files/Windows/System32/config/"
	want := [][]string{
		{"Files/", "Files/Windows/", "Files/Windows/System32/", config,
			config + "DEFAULT", config + "SAM", config + "SECURITY", config + "SOFTWARE", config + "SYSTEM"},
		{"Files/", "Hives/", "Files/nearfar-agent.exe"},
	}
	if !slices.EqualFunc(contents, want, slices.Equal[[]string]) {
		t.Errorf("the layers hold %q", contents)
	}
	for name, f := range files {
		want := "32"
		if strings.HasSuffix(name, "/") {
			want = "16"
		}
		if f.header.PAXRecords["MSWINDOWS.fileattr"] != want || f.header.PAXRecords["MSWINDOWS.rawsd"] == "" {
			t.Errorf("%s has the records %v", name, f.header.PAXRecords)
		}
	}
	for _, name := range want[0][4:] {
		checkHive(t, files[name].content)
	}
	if !slices.Equal(c.Entrypoint, []string{"nearfar-agent.exe"}) || c.User != "" {
		t.Errorf("it runs %q as %q", c.Entrypoint, c.User)
	}
}

// TestArchive reads an archive back as an OCI layout.
func TestArchive(t *testing.T) {
	o := options()
	written := archive(t, o)
	dir := unpack(t, written)
	top, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	m, err := top.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Manifests) != 1 || m.Manifests[0].MediaType != types.OCIImageIndex {
		t.Fatalf("index.json lists %+v", m.Manifests)
	}
	names := m.Manifests[0].Annotations
	if names[annotationName] != "localhost/nearfar-agent:0.1.0-abc" || names[annotationTag] != "0.1.0-abc" {
		t.Errorf("it is named %v", names)
	}
	index, err := top.ImageIndex(m.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	checkPlatforms(t, index, o)
	entries, err := os.ReadDir(filepath.Join(dir, "blobs", "sha256"))
	if err != nil {
		t.Fatal(err)
	}
	// The index; a manifest and a configuration for each platform; one layer for Linux, and two for Windows.
	if want := 1 + 3*2 + 1 + 1 + 2; len(entries) != want {
		t.Errorf("%d blobs, want %d", len(entries), want)
	}
}

// TestDockerManifest: manifest.json describes an image for Linux whose parts are all in the archive.
func TestDockerManifest(t *testing.T) {
	for _, only := range []string{"", "linux/arm64", "windows/amd64"} {
		o := options()
		if only != "" {
			o.Agents = slices.DeleteFunc(o.Agents, func(a binaries.Agent) bool {
				return a.System.OS+"/"+a.System.Arch != only
			})
		}
		_, files := readFiles(t, bytes.NewReader(archive(t, o)))
		var listed []dockerImage
		if err := json.Unmarshal(files["manifest.json"].content, &listed); err != nil {
			t.Fatal(err)
		}
		if len(listed) != 1 || !slices.Equal(listed[0].RepoTags, []string{"localhost/nearfar-agent:0.1.0-abc"}) {
			t.Fatalf("manifest.json lists %+v", listed)
		}
		var config v1.ConfigFile
		if err := json.Unmarshal(files[listed[0].Config].content, &config); err != nil {
			t.Fatal(err)
		}
		want := only
		if want == "" {
			want = "linux/amd64"
		}
		got, layers := config.OS+"/"+config.Architecture, len(listed[0].Layers)
		if got != want || layers != len(config.RootFS.DiffIDs) {
			t.Errorf("manifest.json describes %s with %d layers, want %s", got, layers, want)
		}
		for at, name := range listed[0].Layers {
			z, err := gzip.NewReader(bytes.NewReader(files[name].content))
			if err != nil {
				t.Fatal(err)
			}
			hash, _, err := v1.SHA256(z)
			if err != nil || hash != config.RootFS.DiffIDs[at] {
				t.Errorf("layer %d of %s is %v, %v", at, want, hash, err)
			}
		}
	}
}

// TestSameBytes: the same options give the same archive, whatever the environment of the library is.
func TestSameBytes(t *testing.T) {
	first := archive(t, options())
	t.Setenv("GGCR_EXPERIMENT_ESTARGZ", "1")
	if !bytes.Equal(first, archive(t, options())) {
		t.Error("the archive differs the second time")
	}
}

// TestEmbedded makes the image of the real agents.
func TestEmbedded(t *testing.T) {
	o := Options{Version: "0.1.0", Revision: "r"}
	for _, s := range binaries.Systems() {
		a, err := binaries.For(s)
		if errors.Is(err, binaries.ErrMissing) {
			t.Skipf("%v", err)
		}
		if err != nil {
			t.Fatal(err)
		}
		o.Agents = append(o.Agents, a)
	}
	i, err := Make(o)
	if err != nil {
		t.Fatal(err)
	}
	checkPlatforms(t, i.index, o)
	t.Logf("all layers: %.1f MB", float64(i.Size())/1e6)
}

// limited is a writer whose disk is full after some bytes.
type limited struct{ left int }

var errFull = errors.New("no space left")

func (l *limited) Write(p []byte) (int, error) {
	if len(p) > l.left {
		return 0, errFull
	}
	l.left -= len(p)
	return len(p), nil
}

// TestWriteError: wherever the archive is cut off, writing it fails.
func TestWriteError(t *testing.T) {
	whole := archive(t, options())
	i, err := Make(options())
	if err != nil {
		t.Fatal(err)
	}
	tag, err := ParseName(DefaultName(Agent, options().Version), false)
	if err != nil {
		t.Fatal(err)
	}
	for left := 0; left < len(whole); left += 1 + len(whole)/100 {
		if err := i.WriteArchive(&limited{left}, tag); !errors.Is(err, errFull) {
			t.Errorf("after %d bytes of %d: %v", left, len(whole), err)
		}
	}
	if err := i.WriteArchive(&limited{len(whole)}, tag); err != nil {
		t.Error(err)
	}
}

// TestParseName: a name is complete, or refused with a reason.
func TestParseName(t *testing.T) {
	for text, full := range map[string]string{
		"registry.example/perf/nearfar-agent:0.1.0": "registry.example/perf/nearfar-agent:0.1.0",
		"10.0.0.5:5000/nearfar-agent:1":             "10.0.0.5:5000/nearfar-agent:1",
		"docker.io/me/nearfar-agent:1":              "docker.io/me/nearfar-agent:1",
		"localhost/nearfar-agent:1":                 "localhost/nearfar-agent:1",
	} {
		tag, err := ParseName(text, false)
		if err != nil || FullName(tag) != full {
			t.Errorf("%s: %q, %v", text, FullName(tag), err)
		}
	}
	for text, want := range map[string]string{
		"":                               "",
		"nearfar-agent:1":                "registry",
		"me/nearfar-agent:1":             "registry",
		"registry.example/nearfar-agent": "tag",
		"registry.example/Nearfar:1":     "Nearfar",
		"registry.example/x:1@sha256:00": "leave out",
		"registry.example/x:1 2":         "1 2",
		"https://registry.example/x:1":   "leave out",
	} {
		if _, err := ParseName(text, false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want something about %q", text, err, want)
		}
	}
}

// TestNearfar: the image of nearfar has nearfar and the agent, for the platforms of the programs, and runs nearfar. Its
// layer with the agent is the one of the agent's image, so that a registry keeps it once.
func TestNearfar(t *testing.T) {
	o := options()
	agents, err := Make(o)
	if err != nil {
		t.Fatal(err)
	}
	arm, nearfar := host.System{OS: "linux", Arch: "arm64"}, []byte("nearfar for arm64")
	o.Programs = []Program{{arm, nearfar}}
	both, err := Make(o)
	if err != nil {
		t.Fatal(err)
	}
	if got := both.Platforms(); !slices.Equal(got, []host.System{arm}) {
		t.Fatalf("it is for %v", got)
	}
	if err := validate.Index(both.index); err != nil {
		t.Error(err)
	}
	of := func(i *Image) v1.Image {
		t.Helper()
		m, err := i.index.IndexManifest()
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(m.Manifests, func(d v1.Descriptor) bool { return d.Platform.Architecture == "arm64" })
		img, err := i.index.Image(m.Manifests[at].Digest)
		if err != nil {
			t.Fatal(err)
		}
		return img
	}
	img := of(both)
	c, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(c.Config.Entrypoint, []string{"/bin/nearfar"}) || c.Config.User != "65532" ||
		c.Config.WorkingDir != "/work" || c.Config.Labels[labelTitle] != "nearfar" ||
		c.Config.Labels[LabelTools] != "native" || c.Config.Labels[LabelAgent] != madeUp(arm).Hash {
		t.Errorf("the configuration is %+v", c.Config)
	}
	layers, err := img.Layers()
	if err != nil || len(layers) != 2 {
		t.Fatalf("%d layers, %v", len(layers), err)
	}
	shared, err := of(agents).Layers()
	if err != nil {
		t.Fatal(err)
	}
	one, errOne := layers[0].Digest()
	other, errOther := shared[0].Digest()
	if errOne != nil || errOther != nil || one != other {
		t.Errorf("the agent's layer is %v, and in its own image %v (%v, %v)", one, other, errOne, errOther)
	}
	r, err := layers[1].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	names, files := readFiles(t, r)
	if !slices.Equal(names, []string{"bin/", "bin/nearfar", "work/"}) ||
		!bytes.Equal(files["bin/nearfar"].content, nearfar) || files["bin/nearfar"].header.Mode != 0o755 ||
		files["work/"].header.Mode != 0o1777 {
		t.Errorf("its other layer has %q", names)
	}
	for _, wrong := range []host.System{{OS: "windows", Arch: "amd64"}, {OS: "linux", Arch: "riscv64"}} {
		o.Programs = []Program{{wrong, nearfar}}
		if _, err := Make(o); err == nil || !strings.Contains(err.Error(), wrong.Arch) {
			t.Errorf("an image of nearfar for %v: %v", wrong, err)
		}
	}
}
