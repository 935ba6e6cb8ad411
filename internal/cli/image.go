package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/spf13/cobra"

	"nearfar/internal/base/clean"
	"nearfar/internal/hosts/image"
	"nearfar/internal/onhost/agent/binaries"
	"nearfar/internal/onhost/engine/process"
	"nearfar/internal/onhost/host"
)

// imageOptions are the flags of image.
type imageOptions struct {
	file, name, push string
	platforms        []string
	insecure         bool
	// nearfar asks for the image of nearfar, with the program of this machine.
	nearfar bool
}

func (a *app) imageCommand() *cobra.Command {
	var o imageOptions
	cmd := &cobra.Command{
		Use:   "image {-o FILE | --push NAME}",
		Short: "Write the container image of the agent, or of nearfar",
		Long: `Image writes the container image of nearfar-agent, for clusters that cannot take the agent otherwise.
The image holds the agent alone, for linux/amd64, linux/arm64 and windows/amd64. It needs no container runtime and
downloads nothing. The same nearfar writes the same bytes.

With --nearfar the image is that of nearfar itself, for the platform of this machine, which is Linux then. It has the
agent too, so a cluster needs only this one image: to run nearfar inside, and as agentImage. Its only measuring tool is
the native engine.

-o writes an archive, which 'ctr images import', 'docker load', 'podman load' and 'skopeo' read. Without -o, the archive
goes to standard output, if that is no terminal. --push sends the image to a registry, with the credentials that 'docker
login' or 'podman login' have stored. Both print the name for 'agentImage:' in the experiment file.

Exit codes: 0 written and pushed; 1 a failure; 2 wrong usage.`,
		Example: `  nearfar image -o nearfar-agent.tar
  sudo ctr --namespace k8s.io images import nearfar-agent.tar
  nearfar image --platform linux/arm64 -o arm64.tar
  nearfar image --push registry.example/perf/nearfar-agent:0.1.0
  nearfar image --push 10.0.0.5:5000/nearfar-agent:0.1.0 --insecure
  nearfar image --nearfar --push registry.example/perf/nearfar:0.1.0
  nearfar image | docker load`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.image(cmd, o) },
	}
	f := cmd.Flags()
	f.StringVarP(&o.file, "output", "o", "", "write an archive to this `FILE` instead of standard output")
	f.BoolVar(&o.nearfar, "nearfar", false, "the image of nearfar itself, with the agent in it")
	f.StringVar(&o.name, "name", "", "the `NAME` under which an archive is loaded: REGISTRY/REPOSITORY:TAG (default: "+
		"the name of --push, or localhost/nearfar-agent with nearfar's version)")
	f.StringVar(&o.push, "push", "", "push the image to a registry, as `NAME`: REGISTRY/REPOSITORY:TAG")
	f.StringSliceVar(&o.platforms, "platform", nil, "only this `PLATFORM`: "+strings.Join(imagePlatforms(), ", ")+
		"; may be repeated")
	f.BoolVar(&o.insecure, "insecure", false, "with --push: allow a registry without TLS")
	return cmd
}

// imagePlatforms are the platforms of the image.
func imagePlatforms() []string { return platformNames(binaries.Systems()) }

func platformNames(systems []host.System) (names []string) {
	for _, s := range systems {
		names = append(names, s.OS+"/"+s.Arch)
	}
	return names
}

// image makes the image, writes it and pushes it.
func (a *app) image(cmd *cobra.Command, o imageOptions) error {
	if o.file == "-" {
		o.file = ""
	}
	archive := o.push == "" || cmd.Flags().Changed("output")
	switch {
	case archive && o.file == "" && isTerminal(a.stdout):
		return usagef("an archive is not for a terminal: name a file with -o, a registry with --push, or use a pipe")
	case o.insecure && o.push == "":
		return usagef("--insecure allows a registry without TLS: give it with --push")
	case o.name != "" && !archive:
		return usagef("--name is the name in an archive: with --push, name a file with -o too")
	}
	var target name.Tag
	var err error
	if o.push != "" {
		if target, err = imageName("push", o.push, o.insecure); err != nil {
			return err
		}
	}
	tag := target
	if o.name != "" || o.push == "" {
		title := image.Agent
		if o.nearfar {
			title = image.Nearfar
		}
		text := cmp.Or(o.name, image.DefaultName(title, process.Version()))
		if tag, err = imageName("name", text, false); err != nil {
			return err
		}
	}
	img, err := makeImage(o)
	if err != nil {
		return err
	}
	if archive {
		if err := a.writeImage(img, tag, o.file); err != nil {
			return err
		}
	}
	if o.push == "" {
		return nil
	}
	if err := img.Push(cmd.Context(), target, process.Version(), o.insecure); err != nil {
		return err
	}
	digest, err := img.Digest()
	if err == nil {
		_, err = fmt.Fprintf(a.stdout, "%s@%s\n", image.FullName(target), digest)
	}
	return err
}

// imageName reads the name of a flag.
func imageName(flag, text string, insecure bool) (name.Tag, error) {
	tag, err := image.ParseName(text, insecure)
	if err != nil {
		const want = "want REGISTRY/REPOSITORY:TAG, such as registry.example/perf/nearfar-agent:0.1.0"
		return tag, usagef("--%s %s: %s: %w", flag, clean.Quote(text), want, err)
	}
	return tag, nil
}

// makeImage makes the image for the platforms that are named, or for all if none is.
func makeImage(o imageOptions) (*image.Image, error) {
	known, platforms := imagePlatforms(), o.platforms
	for _, p := range platforms {
		if !slices.Contains(known, p) {
			return nil, usagef("--platform %s: use one of %s", clean.Quote(p), strings.Join(known, ", "))
		}
	}
	options := image.Options{Version: process.Version(), Revision: process.Revision()}
	if o.nearfar {
		self, err := thisProgram(platforms)
		if err != nil {
			return nil, err
		}
		options.Programs = []image.Program{self}
		platforms = platformNames([]host.System{self.System})
	}
	for i, s := range binaries.Systems() {
		if len(platforms) > 0 && !slices.Contains(platforms, known[i]) {
			continue
		}
		agent, err := binaries.For(s)
		if err != nil {
			return nil, err
		}
		options.Agents = append(options.Agents, agent)
	}
	return image.Make(options)
}

// thisProgram is nearfar itself, if it can be in an image of these platforms.
func thisProgram(platforms []string) (image.Program, error) {
	here := host.System{OS: runtime.GOOS, Arch: runtime.GOARCH}
	name := platformNames([]host.System{here})[0]
	if here.OS != "linux" || slices.ContainsFunc(platforms, func(p string) bool { return p != name }) {
		return image.Program{}, usagef("--nearfar: this nearfar is the program for %s, and only on Linux it can be put "+
			"into an image, for its own platform; a release of nearfar has the image for all platforms", name)
	}
	path, err := os.Executable()
	if err != nil {
		return image.Program{}, err
	}
	content, err := os.ReadFile(path) // #nosec G304 -- this program
	return image.Program{System: here, Content: content}, err
}

// writeImage writes the archive to a file or to standard output, and says what it wrote.
func (a *app) writeImage(img *image.Image, tag name.Tag, file string) error {
	err := a.writeWhole(file, func(w io.Writer) error { return img.WriteArchive(w, tag) })
	if err != nil {
		return err
	}
	said := a.stdout
	if file == "" {
		said = a.stderr
	}
	_, noted := fmt.Fprintf(a.stderr, "nearfar: an image for %s, %.1f MB\n",
		strings.Join(platformNames(img.Platforms()), ", "), float64(img.Size())/1e6)
	_, err = fmt.Fprintln(said, image.FullName(tag))
	return errors.Join(noted, err)
}
