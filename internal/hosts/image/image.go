// Package image makes the container image of the agent for all systems on which the agent runs. It writes the image
// into an archive or pushes it to a registry. It needs no container runtime and downloads nothing.
package image

import (
	"fmt"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"nearfar/internal/onhost/agent/binaries"
	"nearfar/internal/onhost/host"
)

// The program in the image.
const (
	linuxProgram   = "nearfar-agent"
	windowsProgram = "nearfar-agent.exe"
)

// user is the numeric user of Linux images. Common distributions do not use this number; by convention it is called
// nonroot.
const user = "65532"

// Labels of the image's configuration.
const (
	labelTitle    = "org.opencontainers.image.title"
	labelVersion  = "org.opencontainers.image.version"
	labelRevision = "org.opencontainers.image.revision"
	labelLicense  = "org.opencontainers.image.licenses"
	// LabelAgent is the label with the SHA-256 of the agent in the image, in hexadecimal.
	LabelAgent = "nearfar.agent.sha256"
)

// Options say what an image consists of.
type Options struct {
	// Agents are the programs, one for each platform.
	Agents []binaries.Agent
	// Version is nearfar's version. Revision is its commit, or empty if the build does not know it.
	Version, Revision string
}

// Image is an image index with one image for each platform. The same options give the same bytes.
type Image struct {
	index     v1.ImageIndex
	platforms []host.System
	size      int64
}

// Make makes an image.
func Make(o Options) (*Image, error) {
	i := &Image{index: mutate.IndexMediaType(empty.Index, types.OCIImageIndex)}
	for _, a := range o.Agents {
		img, size, err := platformImage(a, o)
		if err != nil {
			return nil, fmt.Errorf("the image for %s/%s: %w", a.System.OS, a.System.Arch, err)
		}
		i.index = mutate.AppendManifests(i.index, mutate.IndexAddendum{Add: plainImage{img}, Descriptor: v1.Descriptor{
			Platform: &v1.Platform{OS: a.System.OS, Architecture: a.System.Arch},
		}})
		i.platforms = append(i.platforms, a.System)
		i.size += size
	}
	return i, nil
}

// plainImage is an image, not an artifact. Without it, the library gives its entry in the index an artifactType, which
// images from other programs do not have.
type plainImage struct{ v1.Image }

// ArtifactType is empty.
func (plainImage) ArtifactType() (string, error) { return "", nil }

// Platforms are the systems that the image runs on.
func (i *Image) Platforms() []host.System { return i.platforms }

// Size is the size of all layers as they are stored and pushed, in bytes.
func (i *Image) Size() int64 { return i.size }

// Digest is the digest of the index: sha256 and a hash in hexadecimal.
func (i *Image) Digest() (string, error) {
	d, err := i.index.Digest()
	return d.String(), err
}

// created is the time of everything in the image. A fixed time keeps the bytes the same.
func created() time.Time { return time.Unix(0, 0).UTC() }

// platformImage is the image for one platform and the size of its layers in bytes.
func platformImage(a binaries.Agent, o Options) (v1.Image, int64, error) {
	make := linuxLayers
	if a.System.OS == "windows" {
		make = windowsLayers
	}
	layers, err := make(a.Content)
	if err != nil {
		return nil, 0, err
	}
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	var size int64
	for _, l := range layers {
		size += int64(len(l.compressed))
		img, err = mutate.Append(img, mutate.Addendum{
			Layer:   l,
			History: v1.History{Created: v1.Time{Time: created()}, CreatedBy: "nearfar image", Comment: l.about},
		})
		if err != nil {
			return nil, 0, err
		}
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, 0, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = a.System.OS, a.System.Arch
	config.Created = v1.Time{Time: created()}
	config.Config = runConfig(a, o)
	img, err = mutate.ConfigFile(img, config)
	return img, size, err
}

// runConfig says how a container of the image is run, and describes its contents.
func runConfig(a binaries.Agent, o Options) v1.Config {
	c := v1.Config{
		Labels: map[string]string{
			labelTitle: "nearfar-agent", labelVersion: o.Version, labelLicense: "Apache-2.0", LabelAgent: a.Hash,
		},
	}
	if o.Revision != "" {
		c.Labels[labelRevision] = o.Revision
	}
	if a.System.OS == "windows" {
		// The program has no folder in its name: a HostProcess container always starts in the root of its files, but
		// the path of that root depends on the version of containerd. The user is set in the pod, because an image
		// cannot choose a user of the host.
		c.Entrypoint = []string{windowsProgram}
		c.Env = []string{`PATH=C:\Windows\system32;C:\Windows`}
		return c
	}
	c.Entrypoint = []string{"/" + linuxProgram}
	c.User = user
	return c
}
