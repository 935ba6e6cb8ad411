package image

import (
	"fmt"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
)

// ParseName reads the name of an image: a registry, a repository and a tag. All three must be given, so that an image
// is never sent to a registry that the user did not name. With insecure, the registry may answer without encryption.
func ParseName(text string, insecure bool) (name.Tag, error) {
	if at := strings.Index(text, "@"); at >= 0 {
		return name.Tag{}, fmt.Errorf("the digest follows from the content: leave out %q", text[at:])
	}
	if strings.Contains(text, "://") {
		return name.Tag{}, fmt.Errorf("it is an address: leave out %q", text[:strings.Index(text, "://")+3])
	}
	options := []name.Option{name.StrictValidation}
	if insecure {
		options = append(options, name.Insecure)
	}
	return name.NewTag(text, options...)
}

// DefaultName is the name under which an archive's image is loaded if the user gives none. By convention, images that
// were loaded and are in no registry belong to the registry localhost. A "+" is not allowed in tags. title is Agent or
// Nearfar.
func DefaultName(title, version string) string {
	return "localhost/" + title + ":" + strings.ReplaceAll(version, "+", "-")
}

// FullName is the name of an image as container runtimes write it.
func FullName(tag name.Tag) string {
	if rest, ok := strings.CutPrefix(tag.Name(), name.DefaultRegistry+"/"); ok {
		return "docker.io/" + rest
	}
	return tag.Name()
}
