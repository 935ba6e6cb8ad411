package agent

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"nearfar/internal/base/clean"
)

// The bounds of what an agent tells of its machine. They leave room for the largest machines.
const (
	maxCPUs      = 8192
	maxAddresses = 4096
	maxRelease   = 64
	// maxText is how many bytes of a text of a host are kept, also of an error.
	maxText = 1000
)

// bound refuses facts that no machine has, because they are kept with the run, and cuts texts that are too long.
func (f *Facts) bound() error {
	for _, list := range []struct {
		of      string
		n, most int
	}{
		{"numbers of CPUs", len(f.Allowed), maxCPUs}, {"CPUs", len(f.CPUs), maxCPUs},
		{"addresses", len(f.Addresses), maxAddresses}, {"lines of os-release", len(f.Release), maxRelease},
	} {
		if list.n > list.most {
			return fmt.Errorf("%w: its facts have %d %s, at most %d are possible", errProtocol, list.n, list.of, list.most)
		}
	}
	for _, text := range []*string{&f.System.OS, &f.System.Arch, &f.Hostname, &f.User, &f.Connection, &f.Kernel,
		&f.BootID, &f.ClockSource, &f.Model} {
		*text = printable(*text)
	}
	for i := range f.Addresses {
		f.Addresses[i].Name = printable(f.Addresses[i].Name)
	}
	release := map[string]string{}
	for key, value := range f.Release {
		release[printable(key)] = printable(value)
	}
	if len(release) > 0 {
		f.Release = release
	}
	f.Allowed = slices.Clip(f.Allowed)
	return nil
}

// printable is a text of a host as it is kept: cut, and without what cannot be printed.
func printable(s string) string {
	s = strings.ToValidUTF8(clean.Cut(s, maxText), "?")
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}
