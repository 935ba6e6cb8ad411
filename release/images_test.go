//go:build linux

package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// The images are OCI layouts that a library for registries accepts. That of nearfar has the programs of the release,
// for both architectures of Linux, and each image says its measuring tools, version and commit.
func TestImages(t *testing.T) {
	r := newRelease(t, "1.2.3")
	r.mustMake(t)
	for file, want := range map[string]struct {
		name      string
		platforms []string
	}{
		"nearfar-1.2.3-image.tar": {"localhost/nearfar:1.2.3", []string{"linux/amd64", "linux/arm64"}},
		"nearfar-agent-1.2.3-image.tar": {
			"localhost/nearfar-agent:1.2.3", []string{"linux/amd64", "linux/arm64", "windows/amd64"},
		},
	} {
		images := readImages(t, filepath.Join(r.out, file), want.name)
		var platforms []string
		for platform, img := range images {
			platforms = append(platforms, platform)
			config, err := img.ConfigFile()
			if err != nil {
				t.Fatal(err)
			}
			labels := config.Config.Labels
			if labels["nearfar.tools"] != "native" || labels["org.opencontainers.image.version"] != "1.2.3" ||
				labels["org.opencontainers.image.revision"] != testCommit {
				t.Errorf("%s for %s has the labels %v", file, platform, labels)
			}
			contents := filesOf(t, img)
			system := strings.ReplaceAll(platform, "/", "-")
			if name := "Files/nearfar-agent.exe"; system == "windows-amd64" {
				if contents[name] != "the agent of windows-amd64.exe" {
					t.Errorf("%s for %s has the agent %q", file, platform, contents[name])
				}
				continue
			}
			nearfar, both := contents["bin/nearfar"]
			if contents["nearfar-agent"] != "the agent of "+system || both != (file == "nearfar-1.2.3-image.tar") ||
				both && nearfar != standIn("1.2.3")+"# for "+system+"\n" {
				t.Errorf("%s for %s has %q", file, platform, contents)
			}
		}
		if slices.Sort(platforms); !slices.Equal(platforms, want.platforms) {
			t.Errorf("%s is for %q", file, platforms)
		}
	}
}

// readImages reads the images of an archive, by their platforms.
func readImages(t *testing.T, file, name string) map[string]v1.Image {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for archive := tar.NewReader(bytes.NewReader(content)); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(header.Name, "/") {
			continue
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		save(t, filepath.Join(folder, header.Name), text, 0o644)
	}
	top, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		t.Fatal(err)
	}
	listed, err := top.IndexManifest()
	if err != nil || len(listed.Manifests) != 1 ||
		listed.Manifests[0].Annotations["io.containerd.image.name"] != name {
		t.Fatalf("%s lists %+v, %v", file, listed, err)
	}
	index, err := top.ImageIndex(listed.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Errorf("%s: %v", file, err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	images := map[string]v1.Image{}
	for _, d := range manifest.Manifests {
		img, err := index.Image(d.Digest)
		if err != nil {
			t.Fatal(err)
		}
		images[d.Platform.OS+"/"+d.Platform.Architecture] = img
	}
	return images
}

// filesOf are the files of all layers of an image.
func filesOf(t *testing.T, img v1.Image) map[string]string {
	t.Helper()
	layers, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, l := range layers {
		unpacked, err := l.Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		for archive := tar.NewReader(unpacked); ; {
			header, err := archive.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(archive)
			if err != nil {
				t.Fatal(err)
			}
			files[header.Name] = string(text)
		}
	}
	return files
}

// The chart of a release is that of the sources, with the release's version and page in it.
func TestChartOfRelease(t *testing.T) {
	r := newRelease(t, "1.2.3")
	r.mustMake(t)
	content, err := os.ReadFile(filepath.Join(r.out, "nearfar-1.2.3-chart.tgz"))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	readTar(t, content, func(name string, mode os.FileMode, at time.Time, file io.Reader) {
		text, err := io.ReadAll(file)
		if err != nil || mode != 0o644 || !at.Equal(testTime) {
			t.Errorf("%s: mode %v, of %v, %v", name, mode, at, err)
		}
		got[name] = string(text)
	})
	for name, text := range tree(t, "chart") {
		if strings.HasSuffix(name, "/") {
			continue
		}
		if name == "Chart.yaml" {
			text = regexp.MustCompile(`(?m)^(version|appVersion): .*$`).ReplaceAllString(text, "$1: 1.2.3")
			text = regexp.MustCompile(`(?m)^home: .*$`).ReplaceAllString(text, "home: https://host.test/owner/nearfar")
		}
		if got["nearfar/"+name] != text {
			t.Errorf("%s is %q, want %q", name, got["nearfar/"+name], text)
		}
		delete(got, "nearfar/"+name)
	}
	if len(got) > 0 {
		t.Errorf("it also has %q", got)
	}
}
