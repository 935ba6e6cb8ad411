// Package binaries holds the agents for other machines and the fronts of applications, compressed. `make agents` makes
// them before nearfar is built. A nearfar that was built without them says so when it needs one.
package binaries

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"nearfar/internal/onhost/host"
)

//go:embed all:dist
var dist embed.FS

// ErrMissing is wrapped by For's error if this program was built without the agent.
var ErrMissing = errors.New("this nearfar was built without agents for other machines: build it with 'make build' " +
	"('make demo' and 'make program' build none)")

// maxSize bounds an agent, in bytes.
const maxSize = 32 << 20

// Agent is a program for another machine.
type Agent struct {
	System host.System
	// Content is the program, Hash its SHA-256 in hexadecimal.
	Content []byte
	Hash    string
	// Packed is the program, compressed with gzip.
	Packed []byte
}

// Systems are the systems for which this program has agents, if they were made.
func Systems() []host.System {
	return []host.System{{OS: "linux", Arch: "amd64"}, {OS: "linux", Arch: "arm64"}, {OS: "windows", Arch: "amd64"}}
}

// LinuxMissing is the error of For if this program has no agent for any Linux; nil if it has one. It is for what is
// checked before a host's architecture is known.
func LinuxMissing() error { return linuxMissing(dist) }

// linuxMissing unpacks no agent: that takes a fifth of a second, and a run on this machine needs none.
func linuxMissing(files fs.FS) error {
	for _, s := range Systems() {
		if _, err := fs.Stat(files, name(s)); s.OS == "linux" && err == nil {
			return nil
		}
	}
	return fmt.Errorf("the agent for linux: %w", ErrMissing)
}

// For is the agent for a system.
func For(s host.System) (Agent, error) { return from(dist, s) }

func from(files fs.FS, s host.System) (Agent, error) {
	if !slices.Contains(Systems(), s) {
		return Agent{}, fmt.Errorf("the agent for %s/%s: there is none: agents exist for linux/amd64, linux/arm64 and "+
			"windows/amd64", s.OS, s.Arch)
	}
	return unpack(files, name(s), s, "agent")
}

// FrontSystems are the systems for which this program has fronts of applications, if they were made.
func FrontSystems() []host.System {
	return []host.System{{OS: "linux", Arch: "amd64"}, {OS: "linux", Arch: "arm64"}}
}

// Front is the front of applications for a system.
func Front(s host.System) (Agent, error) {
	if !slices.Contains(FrontSystems(), s) {
		return Agent{}, fmt.Errorf("the front for %s/%s: there is none: fronts exist for linux/amd64 and linux/arm64", s.OS,
			s.Arch)
	}
	return unpack(dist, frontName(s), s, "front")
}

// unpack reads the program in a file.
func unpack(files fs.FS, file string, s host.System, what string) (Agent, error) {
	fail := func(err error) (Agent, error) {
		return Agent{}, fmt.Errorf("the %s for %s/%s: %w", what, s.OS, s.Arch, err)
	}
	packed, err := fs.ReadFile(files, file)
	if errors.Is(err, fs.ErrNotExist) {
		return fail(ErrMissing)
	}
	if err != nil {
		return fail(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return fail(err)
	}
	var b bytes.Buffer
	n, err := io.Copy(&b, io.LimitReader(z, maxSize+1))
	if err == nil && n > maxSize {
		err = fmt.Errorf("it has more than %d bytes", maxSize)
	}
	if err != nil {
		return fail(err)
	}
	sum := sha256.Sum256(b.Bytes())
	return Agent{System: s, Content: b.Bytes(), Hash: hex.EncodeToString(sum[:]), Packed: packed}, nil
}

// name is the file of a system's agent.
func name(s host.System) string { return fmt.Sprintf("dist/nearfar-agent-%s-%s.gz", s.OS, s.Arch) }

// frontName is the file of a system's front.
func frontName(s host.System) string { return fmt.Sprintf("dist/nearfar-front-%s-%s.gz", s.OS, s.Arch) }
