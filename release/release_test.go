//go:build linux

package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"
)

const (
	testPlace  = "https://host.test/owner/nearfar/releases"
	testCommit = "0123456789abcdef0123456789abcdef01234567"
)

var testTime = time.Date(2026, 11, 27, 12, 0, 1, 0, time.UTC)

// newRelease is a release of stand-ins, which say that they are the version, and of this project's own texts.
func newRelease(t *testing.T, version string) *release {
	t.Helper()
	folder := t.TempDir()
	r := &release{
		version: version, place: testPlace, commit: testCommit, time: testTime,
		programs: filepath.Join(folder, "programs"), texts: filepath.Join(folder, "texts"), source: "..",
		out: filepath.Join(folder, "out", "v"+version),
	}
	for _, system := range targets() {
		save(t, filepath.Join(r.programs, system.program("nearfar-"+system.String())),
			[]byte(standIn(version)+"# for "+system.String()+"\n"), 0o755)
	}
	for _, agent := range []string{"linux-amd64", "linux-arm64", "windows-amd64.exe"} {
		save(t, filepath.Join(r.programs, "nearfar-agent-"+agent), []byte("the agent of "+agent), 0o755)
	}
	for _, text := range []string{
		"completions/_nearfar", "completions/nearfar.bash", "completions/nearfar.fish", "completions/nearfar.ps1",
		"man/nearfar.1", "man/nearfar-run.1",
	} {
		save(t, filepath.Join(r.texts, text), []byte("this is "+text+"\n"), 0o644)
	}
	return r
}

func (r *release) mustMake(t *testing.T) {
	t.Helper()
	if err := r.make(io.Discard); err != nil {
		t.Fatal(err)
	}
}

// The same programs, texts and commit give the same bytes, whenever they are packed, where, and by whom.
func TestReleaseIsReproducible(t *testing.T) {
	first, again := newRelease(t, "1.2.3"), newRelease(t, "1.2.3")
	first.mustMake(t)
	now := time.Now().Add(-time.Hour)
	for _, file := range []string{"nearfar-linux-amd64", "nearfar-agent-linux-arm64"} {
		if err := os.Chtimes(filepath.Join(again.programs, file), now, now); err != nil {
			t.Fatal(err)
		}
	}
	before := syscall.Umask(0o077)
	err := again.make(io.Discard)
	syscall.Umask(before)
	if err != nil {
		t.Fatal(err)
	}
	one, two := tree(t, first.out), tree(t, again.out)
	if !maps.Equal(one, two) {
		t.Errorf("the second differs: %q and %q", slices.Collect(maps.Keys(one)), slices.Collect(maps.Keys(two)))
	}
	want := []string{
		"./", "SHA256SUMS", "install.sh", "nearfar-1.2.3-chart.tgz", "nearfar-1.2.3-darwin-amd64.tar.gz",
		"nearfar-1.2.3-darwin-arm64.tar.gz",
		"nearfar-1.2.3-image.tar", "nearfar-1.2.3-linux-amd64.tar.gz", "nearfar-1.2.3-linux-arm64.tar.gz",
		"nearfar-1.2.3-windows-amd64.zip", "nearfar-agent-1.2.3-image.tar", "nearfar-agent-1.2.3-linux-amd64",
		"nearfar-agent-1.2.3-linux-arm64", "nearfar-agent-1.2.3-windows-amd64.exe", "nearfar.json", "nearfar.rb",
		"nearfar.yaml", "provenance.intoto.json", "release-notes.md",
	}
	if names := slices.Sorted(maps.Keys(one)); !slices.Equal(names, want) {
		t.Errorf("the release has %q", names)
	}
	for name := range one {
		a, err := os.Stat(filepath.Join(first.out, name))
		b, errAgain := os.Stat(filepath.Join(again.out, name))
		if err != nil || errAgain != nil || a.Mode() != b.Mode() || a.Mode().Perm()&0o044 != 0o044 {
			t.Errorf("%s has the modes %v and %v (%v, %v)", name, a, b, err, errAgain)
		}
	}
	if left, err := os.ReadDir(filepath.Dir(first.out)); err != nil || len(left) != 1 {
		t.Errorf("beside the release there is %v, %v", left, err)
	}
}

// An archive has one folder with the program and its texts, sorted, of no owner, all of the time of the commit.
func TestArchives(t *testing.T) {
	r := newRelease(t, "1.2.3")
	r.mustMake(t)
	for _, system := range targets() {
		content, err := os.ReadFile(r.archiveFile(system))
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		check := func(name string, mode os.FileMode, at time.Time, content io.Reader) {
			names = append(names, name)
			text, err := io.ReadAll(content)
			wantMode, wantText := os.FileMode(0o644), ""
			if base := filepath.Base(name); base == system.program("nearfar") {
				wantMode, wantText = 0o755, standIn("1.2.3")+"# for "+system.String()+"\n"
			}
			if err != nil || mode != wantMode || !at.Equal(testTime) || wantText != "" && string(text) != wantText {
				t.Errorf("%s: mode %v, of %v, %v", name, mode, at, err)
			}
		}
		if system.os == "windows" {
			readZip(t, content, check)
		} else {
			readTar(t, content, check)
		}
		folder := "nearfar-1.2.3-" + system.String() + "/"
		var want []string
		for _, name := range []string{
			"CHANGELOG.md", "LICENSE", "README.md", "completions/_nearfar", "completions/nearfar.bash",
			"completions/nearfar.fish", "completions/nearfar.ps1", "man/nearfar-run.1", "man/nearfar.1",
			system.program("nearfar"),
		} {
			want = append(want, folder+name)
		}
		if !slices.Equal(names, want) {
			t.Errorf("%s has %q", r.archive(system), names)
		}
	}
}

func readTar(t *testing.T, content []byte, each func(string, os.FileMode, time.Time, io.Reader)) {
	t.Helper()
	unpacked, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	if unpacked.Name != "" || !unpacked.ModTime.IsZero() {
		t.Errorf("the compression has the name %q and the time %v", unpacked.Name, unpacked.ModTime)
	}
	archive := tar.NewReader(unpacked)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Uid != 0 || header.Gid != 0 || header.Uname+header.Gname != "" {
			t.Errorf("%s has an owner: %v", header.Name, header)
		}
		each(header.Name, os.FileMode(header.Mode), header.ModTime, archive)
	}
}

func readZip(t *testing.T, content []byte, each func(string, os.FileMode, time.Time, io.Reader)) {
	t.Helper()
	archive, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range archive.File {
		opened, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		each(f.Name, f.Mode(), f.Modified, opened)
	}
}

// SHA256SUMS and the manifests have the sums of the files that are published, and addresses below the one place.
func TestManifests(t *testing.T) {
	r := newRelease(t, "1.2.3")
	r.mustMake(t)
	files := tree(t, r.out)
	sums := map[string]string{}
	for line := range strings.Lines(files["SHA256SUMS"]) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		sums[name] = sum
		if sumOf([]byte(files[name]), name) != line {
			t.Errorf("SHA256SUMS has another sum of %s", name)
		}
	}
	if len(sums) != len(files)-3 { // without itself, the statement and the folder
		t.Errorf("SHA256SUMS has %d files of %d", len(sums), len(files))
	}
	published := func(system target) (address, sum string) {
		return testPlace + "/download/v1.2.3/" + r.archive(system), sums[r.archive(system)]
	}

	pairs := regexp.MustCompile(`url "(\S+)"\s+sha256 "(\S+)"`).FindAllStringSubmatch(files["nearfar.rb"], -1)
	if len(pairs) != 4 {
		t.Errorf("the formula has %d archives", len(pairs))
	}
	for i, system := range []target{{"darwin", "arm64"}, {"darwin", "amd64"}, {"linux", "arm64"}, {"linux", "amd64"}} {
		if address, sum := published(system); i < len(pairs) && (pairs[i][1] != address || pairs[i][2] != sum) {
			t.Errorf("the formula has %q for %v", pairs[i], system)
		}
	}

	var plugin struct {
		Spec struct {
			Version, Homepage string
			ShortDescription  string `yaml:"shortDescription"`
			Platforms         []struct {
				Selector struct {
					MatchLabels struct{ OS, Arch string } `yaml:"matchLabels"`
				}
				URI, Sha256, Bin string
				Files            []struct{ From, To string }
			}
		}
	}
	if err := yaml.Unmarshal([]byte(files["nearfar.yaml"]), &plugin); err != nil {
		t.Fatal(err)
	}
	if plugin.Spec.Version != "v1.2.3" || plugin.Spec.Homepage != "https://host.test/owner/nearfar" ||
		plugin.Spec.ShortDescription == "" || len(plugin.Spec.ShortDescription) > 50 ||
		len(plugin.Spec.Platforms) != len(targets()) {
		t.Errorf("the manifest of krew says %+v", plugin.Spec)
	}
	for _, p := range plugin.Spec.Platforms {
		system := target{p.Selector.MatchLabels.OS, p.Selector.MatchLabels.Arch}
		address, sum := published(system)
		if p.URI != address || p.Sha256 != sum || p.Bin != system.program("nearfar") ||
			p.Files[0].From != "nearfar-1.2.3-"+system.String()+"/"+p.Bin {
			t.Errorf("the manifest of krew has %+v", p)
		}
	}

	var scoop struct {
		Version, Bin, License, Homepage, Description string
		Architecture                                 map[string]struct {
			URL    string
			Hash   string
			Folder string `json:"extract_dir"`
		}
	}
	strict := json.NewDecoder(strings.NewReader(files["nearfar.json"]))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&scoop); err != nil {
		t.Fatal(err)
	}
	address, sum := published(target{"windows", "amd64"})
	build := scoop.Architecture["64bit"]
	if scoop.Version != "1.2.3" || build.URL != address || build.Hash != sum || scoop.Bin != "nearfar.exe" ||
		build.Folder != "nearfar-1.2.3-windows-amd64" {
		t.Errorf("the manifest of scoop says %+v", scoop)
	}
}

// install.sh of a release knows its place: served there, it installs the release.
func TestReleaseInstalls(t *testing.T) {
	r := newRelease(t, "1.2.3")
	site := newSite(t, "0.0.1", standIn("0.0.1"))
	r.place = site.URL + "/nearfar/releases"
	r.mustMake(t)
	for name, content := range tree(t, r.out) {
		site.files["/nearfar/releases/latest/download/"+name] = []byte(content)
		site.files["/nearfar/releases/download/v1.2.3/"+name] = []byte(content)
	}

	s, home := shells(t)[0], t.TempDir()
	for _, args := range [][]string{nil, {"--version", "1.2.3"}} {
		cmd := s.command(t, home, args...)
		cmd.Args[1] = filepath.Join(r.out, "install.sh")
		said, problems, code := outcome(t, cmd)
		want := standIn("1.2.3") + "# for linux-" + runtime.GOARCH + "\n"
		if now := tree(t, home); code != 0 || problems != "" || now[".local/bin/nearfar"] != want {
			t.Errorf("exit code %d, the home has %q\n%s%s", code, now, said, problems)
		}
	}
}

// The statement names each file, the commit, and nothing else. What differs from it is found.
func TestCheck(t *testing.T) {
	r := newRelease(t, "1.2.3")
	r.mustMake(t)
	check := func(args ...string) (string, error) {
		var said strings.Builder
		err := run(append([]string{"check", "-folder", r.out}, args...), &said)
		return said.String(), err
	}
	said, err := check()
	if err != nil || !strings.Contains(said, "commit "+testCommit) || !strings.Contains(said, "no signature was") {
		t.Errorf("%v: %s", err, said)
	}
	refuses := func(want string) {
		t.Helper()
		if said, err := check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v\n%s", want, err, said)
		}
	}
	at := func(name string) string { return filepath.Join(r.out, name) }
	sums, err := os.ReadFile(at("SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	save(t, at("SHA256SUMS"), append(sums, "more\n"...), 0o644)
	refuses("SHA256SUMS has the SHA-256 ")
	save(t, at("SHA256SUMS"), sums, 0o644)
	save(t, at("other.tar.gz"), nil, 0o644)
	refuses("says nothing of other.tar.gz")
	if err := os.Rename(at("nearfar.rb"), at("other.tar.gz")); err != nil {
		t.Fatal(err)
	}
	refuses("nearfar.rb: no such file")
}

// A signed statement is checked with its public key, and fails with another one.
func TestSignature(t *testing.T) {
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	nist, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for name, keys := range map[string][2]crypto.Signer{"Ed25519": {edwards, nist}, "ECDSA": {nist, edwards}} {
		t.Run(name, func(t *testing.T) {
			r := newRelease(t, "1.2.3")
			private, public := keyFiles(t, keys[0])
			_, another := keyFiles(t, keys[1])
			r.key = private
			r.mustMake(t)
			var said strings.Builder
			if err := run([]string{"check", "-folder", r.out, "-key", public}, &said); err != nil ||
				strings.Contains(said.String(), "no signature") {
				t.Errorf("%v: %s", err, said.String())
			}
			if err := run([]string{"check", "-folder", r.out, "-key", another}, io.Discard); err == nil {
				t.Error("another key is accepted")
			}
			file := filepath.Join(r.out, statementFile)
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			save(t, file, bytes.Replace(text, []byte(testCommit), []byte(strings.Repeat("f", 40)), 1), 0o644)
			err = run([]string{"check", "-folder", r.out, "-key", public}, io.Discard)
			if err == nil || !strings.Contains(err.Error(), "is not what was signed") {
				t.Errorf("a statement that was changed after it was signed: %v", err)
			}
		})
	}
}

// keyFiles writes a key and its public key, as openssl does.
func keyFiles(t *testing.T, key crypto.Signer) (private, public string) {
	t.Helper()
	folder := t.TempDir()
	for name, der := range map[string]func() ([]byte, error){
		"PRIVATE KEY": func() ([]byte, error) { return x509.MarshalPKCS8PrivateKey(key) },
		"PUBLIC KEY":  func() ([]byte, error) { return x509.MarshalPKIXPublicKey(key.Public()) },
	} {
		content, err := der()
		if err != nil {
			t.Fatal(err)
		}
		save(t, filepath.Join(folder, name), pem.EncodeToMemory(&pem.Block{Type: name, Bytes: content}), 0o600)
	}
	return filepath.Join(folder, "PRIVATE KEY"), filepath.Join(folder, "PUBLIC KEY")
}

// What cannot become a release is refused, and nothing is left.
func TestReleaseRefuses(t *testing.T) {
	for want, breaks := range map[string]func(r *release){
		"is no version":                func(r *release) { r.version = "v1" },
		"is no address":                func(r *release) { r.place = `https://host.test/"; system "x` },
		"is no commit":                 func(r *release) { r.commit = "main" },
		"and not that it is nearfar 2": func(r *release) { r.version = "2.0.0" },
		"no such file":                 func(r *release) { r.texts = filepath.Join(r.texts, "none") },
		"a release is never replaced":  func(r *release) { save(t, filepath.Join(r.out, "x"), nil, 0o644) },
		"no PEM file":                  func(r *release) { r.key = filepath.Join(r.texts, "man", "nearfar.1") },
	} {
		t.Run(want, func(t *testing.T) {
			r := newRelease(t, "1.2.3")
			breaks(r)
			above := filepath.Dir(r.out)
			if err := os.MkdirAll(above, 0o755); err != nil {
				t.Fatal(err)
			}
			before := tree(t, above)
			if err := r.make(io.Discard); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v", err)
			}
			if after := tree(t, above); !maps.Equal(before, after) {
				t.Errorf("there was %q, and is %q", before, after)
			}
		})
	}
}

// Notes are the version's part of the change log, or what is unreleased.
func TestNotes(t *testing.T) {
	const log = "# Changelog\n\n## Unreleased\n\n- new\n\n## 1.2.3 (2026-11-27)\n\n### Added\n\n- this\n\n" +
		"## 1.2.2\n\n- old\n"
	for version, want := range map[string]string{
		"1.2.3": "# nearfar 1.2.3\n\n### Added\n\n- this\n", "1.2.2": "# nearfar 1.2.2\n\n- old\n",
		"1.3.0": "# nearfar 1.3.0\n\n- new\n",
	} {
		if notes, err := notesOf(log, version); err != nil || notes != want {
			t.Errorf("%s: %q, %v", version, notes, err)
		}
	}
	if notes, err := notesOf("# Changelog\n\n## 1.0.0\n\n- old\n", "1.2.3"); err == nil {
		t.Errorf("a version of which nothing is said has the notes %q", notes)
	}
}

// A bill of materials says which program made it, and nothing of the machine that this program is for.
func TestBillWithoutTool(t *testing.T) {
	const bill = `{"metadata":{"tools":[{"name":"maker","hashes":[{"alg":"MD5","content":"0a"}]}]},"components":["<a>"]}`
	const want = `{
  "components": [
    "<a>"
  ],
  "metadata": {
    "tools": [
      {
        "name": "maker"
      }
    ]
  }
}
`
	if got, err := withoutTool([]byte(bill)); err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
	for _, wrong := range []string{"", "[]", "{}", `{"metadata":{"tools":[]}}`} {
		if got, err := withoutTool([]byte(wrong)); err == nil {
			t.Errorf("%q becomes %q", wrong, got)
		}
	}
}
