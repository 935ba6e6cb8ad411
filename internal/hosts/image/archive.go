package image

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Annotations of the archive's index.json, by which programs name the image that they load.
const (
	annotationTag  = "org.opencontainers.image.ref.name" // the tag
	annotationName = "io.containerd.image.name"          // the full name
)

// WriteArchive writes the image as a tar archive with an OCI image layout. The archive also has Docker's manifest.json,
// for programs that know no index: it describes the first image for Linux, or the first image. tag is the name under
// which the image is loaded.
func (i *Image) WriteArchive(w io.Writer, tag name.Tag) error {
	blobs := map[v1.Hash][]byte{}
	manifest, err := i.collect(blobs)
	if err != nil {
		return err
	}
	top, err := i.layoutIndex(tag)
	if err != nil {
		return err
	}
	docker, err := i.dockerManifest(manifest, tag)
	if err != nil {
		return err
	}
	files := []file{
		{name: "oci-layout", mode: 0o644, content: []byte(`{"imageLayoutVersion":"1.0.0"}`)},
		{name: "index.json", mode: 0o644, content: top},
		{name: "manifest.json", mode: 0o644, content: docker},
		{name: "blobs/", mode: 0o755},
		{name: "blobs/sha256/", mode: 0o755},
	}
	var sorted []file
	for hash, content := range blobs {
		sorted = append(sorted, file{name: blobName(hash), mode: 0o644, content: content})
	}
	slices.SortFunc(sorted, func(a, b file) int { return strings.Compare(a.name, b.name) })
	return writeFiles(w, append(files, sorted...))
}

func blobName(h v1.Hash) string { return "blobs/" + h.Algorithm + "/" + h.Hex }

// collect adds everything that the image consists of to blobs, and returns the index.
func (i *Image) collect(blobs map[v1.Hash][]byte) (*v1.IndexManifest, error) {
	add := func(content []byte, err error) error {
		if err != nil {
			return err
		}
		hash, _, err := v1.SHA256(bytes.NewReader(content))
		blobs[hash] = content
		return err
	}
	if err := add(i.index.RawManifest()); err != nil {
		return nil, err
	}
	manifest, err := i.index.IndexManifest()
	if err != nil {
		return nil, err
	}
	for _, d := range manifest.Manifests {
		img, err := i.index.Image(d.Digest)
		if err != nil {
			return nil, err
		}
		if err := add(img.RawManifest()); err != nil {
			return nil, err
		}
		if err := add(img.RawConfigFile()); err != nil {
			return nil, err
		}
		layers, err := img.Layers()
		if err != nil {
			return nil, err
		}
		for _, l := range layers {
			r, err := l.Compressed()
			if err != nil {
				return nil, err
			}
			if err := add(io.ReadAll(r)); err != nil {
				return nil, err
			}
		}
	}
	return manifest, nil
}

// layoutIndex is the archive's index.json. It lists one thing: the index of all platforms, with the image's name.
func (i *Image) layoutIndex(tag name.Tag) ([]byte, error) {
	digest, err := i.index.Digest()
	if err != nil {
		return nil, err
	}
	size, err := i.index.Size()
	if err != nil {
		return nil, err
	}
	return json.Marshal(v1.IndexManifest{
		SchemaVersion: 2, MediaType: types.OCIImageIndex,
		Manifests: []v1.Descriptor{{
			MediaType: types.OCIImageIndex, Size: size, Digest: digest,
			Annotations: map[string]string{annotationTag: tag.TagStr(), annotationName: FullName(tag)},
		}},
	})
}

// dockerImage is an entry of Docker's manifest.json.
type dockerImage struct {
	Config   string
	RepoTags []string
	Layers   []string
}

func (i *Image) dockerManifest(index *v1.IndexManifest, tag name.Tag) ([]byte, error) {
	at := max(0, slices.IndexFunc(index.Manifests, func(d v1.Descriptor) bool { return d.Platform.OS == "linux" }))
	if at >= len(index.Manifests) {
		return nil, fmt.Errorf("the image is for no platform")
	}
	img, err := i.index.Image(index.Manifests[at].Digest)
	if err != nil {
		return nil, err
	}
	m, err := img.Manifest()
	if err != nil {
		return nil, err
	}
	d := dockerImage{Config: blobName(m.Config.Digest), RepoTags: []string{FullName(tag)}}
	for _, l := range m.Layers {
		d.Layers = append(d.Layers, blobName(l.Digest))
	}
	return json.Marshal([]dockerImage{d})
}
