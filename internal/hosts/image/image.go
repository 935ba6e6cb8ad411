// Package image makes the container image of the agent for all systems on which the agent runs, and that of nearfar,
// which has the agent too. It writes an image into an archive or pushes it to a registry. It needs no container runtime
// and downloads nothing.
package image

import (
	"fmt"
	"slices"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"nearfar/internal/onhost/agent/binaries"
	"nearfar/internal/onhost/host"
)

// The images, by the program that they run, which is also the title of an image.
const (
	Agent   = "nearfar-agent"
	Nearfar = "nearfar"
)

// The agent in an image.
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
	// LabelTools lists the measuring tools in the image.
	LabelTools = "nearfar.tools"
)

// tools are the measuring tools in both images: the native engine, which is part of both programs, and no other.
const tools = "native"

// Options say what an image consists of.
type Options struct {
	// Agents are the programs, one for each platform.
	Agents []binaries.Agent
	// Programs are nearfar itself, for some of the platforms of Agents, all of them Linux. With any, the image is that of
	// nearfar: it is for their platforms, and has nearfar beside the agent.
	Programs []Program
	// Version is nearfar's version. Revision is its commit, or empty if the build does not know it.
	Version, Revision string
}

// Program is nearfar for one platform.
type Program struct {
	System  host.System
	Content []byte
}

// variant is what the image for one platform has.
type variant struct {
	agent binaries.Agent
	// nearfar is nil in the image of the agent.
	nearfar []byte
}

// variants are those of the image, in the order of its platforms.
func (o Options) variants() (all []variant, err error) {
	if len(o.Programs) == 0 {
		for _, a := range o.Agents {
			all = append(all, variant{agent: a})
		}
		return all, nil
	}
	for _, p := range o.Programs {
		at := slices.IndexFunc(o.Agents, func(a binaries.Agent) bool { return a.System == p.System })
		if at < 0 || p.System.OS != "linux" {
			return nil, fmt.Errorf("there is no image of nearfar for %s/%s", p.System.OS, p.System.Arch)
		}
		all = append(all, variant{o.Agents[at], p.Content})
	}
	return all, nil
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
	variants, err := o.variants()
	if err != nil {
		return nil, err
	}
	for _, v := range variants {
		a := v.agent
		img, size, err := platformImage(v, o)
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
func platformImage(v variant, o Options) (v1.Image, int64, error) {
	a, make := v.agent, linuxLayers
	if a.System.OS == "windows" {
		make = windowsLayers
	}
	layers, err := make(a.Content)
	if err == nil && v.nearfar != nil {
		layers, err = withNearfar(layers, v.nearfar)
	}
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
	config.Config = runConfig(v, o)
	img, err = mutate.ConfigFile(img, config)
	return img, size, err
}

// runConfig says how a container of the image is run, and describes its contents.
func runConfig(v variant, o Options) v1.Config {
	a := v.agent
	c := v1.Config{
		Labels: map[string]string{
			labelTitle: Agent, labelVersion: o.Version, labelLicense: "Apache-2.0", LabelAgent: a.Hash, LabelTools: tools,
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
	if v.nearfar != nil {
		c.Labels[labelTitle] = Nearfar
		c.Entrypoint = []string{"/" + programFolder + "/" + Nearfar}
		// The name of the user is part of the owner of what a run makes in a cluster; the image has no list of users.
		c.Env = []string{"PATH=/" + programFolder, "HOME=/tmp", "USER=" + Nearfar}
		c.WorkingDir = "/" + workFolder
	}
	return c
}
