package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
)

// about says in one line what nearfar is, as package managers show it.
const about = "Measures what a placement, feature or hop of a network costs"

// description says it in a paragraph, in lines that a terminal shows whole.
const description = `nearfar sets up competing network configurations next to each other, and
measures them in turns. It says which differ, by how much, how sure that
is, and which layer of the path causes the difference.`

// makeManifests makes the manifests for Homebrew, krew and scoop. They have the sums of the archives.
func (r *release) makeManifests() error {
	scoop, err := r.scoop()
	if err != nil {
		return err
	}
	if err := r.write("nearfar.json", scoop, 0o644); err != nil {
		return err
	}
	for name, text := range map[string]string{"nearfar.rb": formula, "nearfar.yaml": krew} {
		manifest, err := r.filled(text)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := r.write(name, manifest, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// formula is the formula for Homebrew: https://docs.brew.sh/Formula-Cookbook.
const formula = `class Nearfar < Formula
  desc "{{.About}}"
  homepage "{{.Home}}"
  version "{{.Version}}"
  license "Apache-2.0"

  on_macos do
    on_arm do
      url "{{address "darwin" "arm64"}}"
      sha256 "{{sum "darwin" "arm64"}}"
    end
    on_intel do
      url "{{address "darwin" "amd64"}}"
      sha256 "{{sum "darwin" "amd64"}}"
    end
  end

  on_linux do
    on_arm do
      url "{{address "linux" "arm64"}}"
      sha256 "{{sum "linux" "arm64"}}"
    end
    on_intel do
      url "{{address "linux" "amd64"}}"
      sha256 "{{sum "linux" "amd64"}}"
    end
  end

  def install
    bin.install "nearfar"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/nearfar.bash" => "nearfar"
    zsh_completion.install "completions/_nearfar"
    fish_completion.install "completions/nearfar.fish"
  end

  test do
    assert_match "nearfar #{version} ", shell_output("#{bin}/nearfar version")
  end
end
`

// krew is the manifest of the plugin of kubectl: https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest.
const krew = `apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: nearfar
spec:
  version: v{{.Version}}
  homepage: {{.Home}}
  shortDescription: Measure what the network between pods costs
  description: |
    {{indented .Description}}
    "kubectl nearfar kube" measures between two pods of the cluster.
  platforms:
{{- range .Targets}}
  - selector:
      matchLabels:
        os: {{.OS}}
        arch: {{.Arch}}
    uri: {{address .OS .Arch}}
    sha256: {{sum .OS .Arch}}
    files:
    - from: {{.Folder}}/{{.Program}}
      to: .
    - from: {{.Folder}}/LICENSE
      to: .
    bin: {{.Program}}
{{- end}}
`

// A filledTarget is a target as manifests name it.
type filledTarget struct{ OS, Arch, Folder, Program string }

// filled is a manifest with what the release is. address and sum are those of the archive of a system and architecture.
func (r *release) filled(text string) ([]byte, error) {
	t, err := template.New("manifest").Funcs(template.FuncMap{
		"address":  func(os, arch string) string { return r.address(r.archive(target{os, arch})) },
		"indented": func(text string) string { return strings.ReplaceAll(text, "\n", "\n    ") },
		"sum":      func(os, arch string) (string, error) { return sumOfFile(r.archiveFile(target{os, arch})) },
	}).Parse(text)
	if err != nil {
		return nil, err
	}
	var all []filledTarget
	for _, t := range targets() {
		all = append(all, filledTarget{t.os, t.arch, r.named(t.String()), t.program("nearfar")})
	}
	var out bytes.Buffer
	err = t.Execute(&out, struct {
		About, Description, Home, Version string
		Targets                           []filledTarget
	}{about, description, r.home(), r.version, all})
	return out.Bytes(), err
}

// archiveFile is where the archive of a system is.
func (r *release) archiveFile(t target) string { return filepath.Join(r.out, r.archive(t)) }

// scoop is the manifest for scoop on Windows: https://github.com/ScoopInstaller/Scoop/wiki/App-Manifests.
func (r *release) scoop() ([]byte, error) {
	windows := target{"windows", "amd64"}
	sum, err := sumOfFile(r.archiveFile(windows))
	if err != nil {
		return nil, err
	}
	type build struct {
		URL    string `json:"url"`
		Hash   string `json:"hash"`
		Folder string `json:"extract_dir"`
	}
	return asJSON(struct {
		Version      string           `json:"version"`
		Description  string           `json:"description"`
		Home         string           `json:"homepage"`
		License      string           `json:"license"`
		Architecture map[string]build `json:"architecture"`
		Program      string           `json:"bin"`
	}{
		r.version, about, r.home(), "Apache-2.0",
		map[string]build{"64bit": {r.address(r.archive(windows)), sum, r.named(windows.String())}},
		windows.program("nearfar"),
	})
}

// asJSON writes a value as JSON for people to read.
func asJSON(value any) ([]byte, error) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(value)
	return text.Bytes(), err
}

// sumOfFile is the SHA-256 of a file.
func sumOfFile(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // it was only read
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	return hex.EncodeToString(sum.Sum(nil)), err
}

// files lists the files of the release by name.
func (r *release) files() ([]string, error) {
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	slices.Sort(names)
	return names, nil
}

// makeSums makes SHA256SUMS, with all files of the release that are there by then.
func (r *release) makeSums() error {
	names, err := r.files()
	if err != nil {
		return err
	}
	var lines strings.Builder
	for _, name := range names {
		sum, err := sumOfFile(filepath.Join(r.out, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&lines, "%s  %s\n", sum, name)
	}
	return r.write("SHA256SUMS", []byte(lines.String()), 0o644)
}
