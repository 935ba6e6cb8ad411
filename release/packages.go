package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// makePackages makes a deb, an rpm and an apk for each architecture of Linux, with nfpm. They install files and nothing
// else: no service, no script, no user.
func (r *release) makePackages() error {
	if r.nfpm == "" {
		return nil
	}
	work, err := os.MkdirTemp("", "nearfar-packages-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	for _, t := range targets() {
		if t.os != "linux" {
			continue
		}
		for _, kind := range []string{"apk", "deb", "rpm"} {
			name := r.named(t.String()) + "." + kind
			if err := r.makePackage(filepath.Join(work, name), t, kind, filepath.Join(r.out, name)); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return nil
}

// makePackage makes one package; work becomes a folder with what nfpm needs.
func (r *release) makePackage(work string, t target, kind, out string) error {
	contents, err := r.packageContents(work, t, kind)
	if err != nil {
		return err
	}
	config, err := asJSON(r.packageOf(t, kind, contents))
	if err != nil {
		return err
	}
	file := filepath.Join(work, "nfpm.json") // JSON is YAML
	if err := os.WriteFile(file, config, 0o600); err != nil {
		return err
	}
	cmd := exec.CommandContext(context.Background(), r.nfpm, "package", "--config", file, "--packager", kind,
		"--target", out)
	cmd.Env = append(os.Environ(), fmt.Sprintf("SOURCE_DATE_EPOCH=%d", r.time.Unix()))
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, said)
	}
	return os.Chmod(out, 0o644)
}

// A packageConfig is the configuration of nfpm: https://nfpm.goreleaser.com/docs/configuration.
type packageConfig struct {
	Name        string    `json:"name"`
	Arch        string    `json:"arch"`
	Platform    string    `json:"platform"`
	Version     string    `json:"version"`
	Section     string    `json:"section"`
	Priority    string    `json:"priority"`
	Maintainer  string    `json:"maintainer"`
	Description string    `json:"description"`
	Home        string    `json:"homepage"`
	License     string    `json:"license"`
	Time        time.Time `json:"mtime"`
	// Suggests are the programs that nearfar can run. None of them is needed.
	Suggests []string          `json:"suggests"`
	Contents []packageContent  `json:"contents"`
	RPM      map[string]string `json:"rpm"`
}

type packageContent struct {
	Source      string      `json:"src,omitempty"`
	Destination string      `json:"dst"`
	Type        string      `json:"type,omitempty"`
	Info        contentInfo `json:"file_info"`
}

type contentInfo struct {
	Mode  uint32    `json:"mode"`
	Time  time.Time `json:"mtime"`
	Owner string    `json:"owner"`
	Group string    `json:"group"`
}

func (r *release) packageOf(t target, kind string, contents []packageContent) packageConfig {
	ssh := "openssh-client"
	if kind == "rpm" {
		ssh = "openssh-clients"
	}
	return packageConfig{
		Name: "nearfar", Arch: t.arch, Platform: t.os, Version: r.version, Section: "net", Priority: "optional",
		Maintainer: "the maintainers of nearfar", Description: about + "\n" + description, Home: r.home(),
		License: "Apache-2.0", Time: r.time,
		Suggests: []string{"iperf3", "netperf", ssh, "qperf", "sockperf"}, Contents: contents,
		// Else it is the name of this machine.
		RPM: map[string]string{"buildhost": "nearfar", "group": "Applications/Internet"},
	}
}

// packageContents lists what a package installs. Manual pages are compressed, as Debian's policy wants them.
func (r *release) packageContents(work string, t target, kind string) ([]packageContent, error) {
	info := func(mode uint32) contentInfo { return contentInfo{mode, r.time, "root", "root"} }
	var contents []packageContent
	folder := func(name string) {
		contents = append(contents, packageContent{Destination: name, Type: "dir", Info: info(0o755)})
	}
	file := func(source, destination string) {
		contents = append(contents, packageContent{Source: source, Destination: destination, Info: info(0o644)})
	}
	contents = append(contents, packageContent{
		Source:      filepath.Join(r.programs, "nearfar-"+t.String()),
		Destination: "/usr/bin/nearfar", Info: info(0o755),
	})
	// Folders of the package's own are named, so that they go with it.
	const docs, licenses = "/usr/share/doc/nearfar", "/usr/share/licenses/nearfar"
	folder(docs)
	file(filepath.Join(r.source, "README.md"), docs+"/README.md")
	if kind == "deb" {
		file(filepath.Join(r.source, "LICENSE"), docs+"/copyright")
	} else {
		folder(licenses)
		file(filepath.Join(r.source, "LICENSE"), licenses+"/LICENSE")
	}
	zsh := "/usr/share/zsh/site-functions"
	if kind == "deb" {
		zsh = "/usr/share/zsh/vendor-completions"
	}
	completions := filepath.Join(r.texts, "completions")
	file(filepath.Join(completions, "nearfar.bash"), "/usr/share/bash-completion/completions/nearfar")
	file(filepath.Join(completions, "_nearfar"), zsh+"/_nearfar")
	file(filepath.Join(completions, "nearfar.fish"), "/usr/share/fish/vendor_completions.d/nearfar.fish")
	pages, err := filepath.Glob(filepath.Join(r.texts, "man", "*.1"))
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(work, 0o700); err != nil {
		return nil, err
	}
	for _, page := range pages {
		compressed := filepath.Join(work, filepath.Base(page)+".gz")
		if err := compress(page, compressed); err != nil {
			return nil, err
		}
		file(compressed, "/usr/share/man/man1/"+filepath.Base(compressed))
	}
	return contents, nil
}

// compress compresses a file, without its name and time.
func compress(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	_, err = w.Write(content)
	if err := errors.Join(err, w.Close()); err != nil {
		return err
	}
	return os.WriteFile(to, packed.Bytes(), 0o600)
}

// makeMaterials makes a bill of materials for each program, as CycloneDX: the modules of Go that are in it.
func (r *release) makeMaterials() error {
	if r.cyclonedx == "" {
		return nil
	}
	for _, t := range targets() {
		program := filepath.Join(r.programs, t.program("nearfar-"+t.String()))
		name := r.named(t.String()) + ".cdx.json"
		// A serial number and a time would differ each time.
		said, err := exec.CommandContext(context.Background(), r.cyclonedx, "bin", "-json", "-std", "-noserial",
			"-notimestamp", "-version", "v"+r.version, program).Output()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		said, err = withoutTool(said)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := r.write(name, said, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// withoutTool is a bill of materials without the sums of the program that made it: they differ from machine to machine.
func withoutTool(text []byte) ([]byte, error) {
	var bill map[string]any
	if err := json.Unmarshal(text, &bill); err != nil {
		return nil, err
	}
	metadata, _ := bill["metadata"].(map[string]any)
	tools, _ := metadata["tools"].([]any)
	for _, tool := range tools {
		if tool, ok := tool.(map[string]any); ok {
			delete(tool, "hashes")
		}
	}
	if len(tools) == 0 {
		return nil, errors.New("it does not say which program made it")
	}
	return asJSON(bill)
}
