package kube

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	_ "embed" // the script
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"nearfar/internal/base/clean"
	"nearfar/internal/onhost/host"
)

// A Program is an executable file to copy into a pod.
type Program struct {
	// SHA256 is the hash of the file, as 64 hexadecimal digits.
	SHA256 string
	// Size is the length of the file in bytes.
	Size int64
	// Gzip is the file, compressed with gzip.
	Gzip []byte
}

// Agents returns the agent for a system. It may be called from several goroutines.
type Agents func(host.System) (Program, error)

//go:embed install.sh
var installScript string

const (
	// installAttempts is how often the copy is tried: an exec stream can end in the middle of it.
	installAttempts = 3
	// installLimit bounds one attempt. One that took so long is not repeated.
	installLimit = 2 * time.Minute
	// maxLine bounds a line of the script, in bytes.
	maxLine = 8 << 10
)

// errInstall is wrapped by errors that another attempt cannot avoid.
var errInstall = errors.New("the agent does not work there")

// install copies the agent into a container with a shell, and checks it by its hash.
func (c *Cluster) install(ctx context.Context, at place, agents Agents) error {
	var err error
	for range installAttempts {
		limited, cancel := context.WithTimeoutCause(ctx, cmp.Or(c.limits.install, installLimit), errCopyLimit)
		err = c.installOnce(limited, at, agents)
		cancel()
		if err == nil || errors.Is(err, errInstall) || errors.Is(err, errSilent) || errors.Is(err, errCopyLimit) ||
			ctx.Err() != nil {
			return err
		}
	}
	return err
}

// errCopyLimit is the cause of a copy that took too long.
var errCopyLimit = errors.New("the copy took too long: an image that has the agent (agentImage) needs none")

func (c *Cluster) installOnce(ctx context.Context, at place, agents Agents) error {
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	s := c.open(at, []string{"sh", "-c", installScript})
	defer func() { _ = s.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = s.Close() })
	defer stop()
	silent := time.AfterFunc(cmp.Or(c.limits.dial, dialLimit), func() { giveUp(errSilent) })
	defer silent.Stop()
	err := converse(s, agents, func() { silent.Stop() })
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// converse is nearfar's part of the script. begun is called when the script answers.
func converse(s io.ReadWriter, agents Agents, begun func()) error {
	lines := bufio.NewReaderSize(s, maxLine)
	words, err := nextLine(lines)
	if err != nil {
		return err
	}
	begun()
	if words[0] != "system" || len(words) != 4 {
		return unexpected(words)
	}
	p, err := agents(host.System{OS: strings.ToLower(words[1]), Arch: goArch(words[2])})
	if err != nil {
		return fmt.Errorf("%w: %w", errInstall, err)
	}
	var content io.Reader = bytes.NewReader(p.Gzip)
	length := int64(len(p.Gzip))
	if words[3] != "gzip" {
		if content, err = gzip.NewReader(content); err != nil {
			return fmt.Errorf("%w: %w", errInstall, err)
		}
		content, length = io.LimitReader(content, p.Size), p.Size
	}
	if _, err := fmt.Fprintf(s, "%s %d\n", p.SHA256, length); err != nil {
		return err
	}
	if words, err = nextLine(lines); err != nil {
		return err
	}
	if words[0] != "send" {
		return unexpected(words)
	}
	if _, err := io.Copy(s, content); err != nil {
		return err
	}
	if words, err = nextLine(lines); err != nil {
		return err
	}
	if words[0] != "stored" {
		return unexpected(words)
	}
	return nil
}

// nextLine reads the next line of the script, as its words. Other lines are ignored: a shell can print warnings.
func nextLine(r *bufio.Reader) ([]string, error) {
	for read := 0; read < 1<<20; {
		line, err := r.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
		read += len(line)
		if rest, ok := strings.CutPrefix(strings.TrimSpace(string(line)), "nearfar: "); ok && rest != "" {
			return strings.Fields(rest), nil
		}
	}
	return nil, fmt.Errorf("%w: its shell prints without end", errInstall)
}

// unexpected is the error for a line that ends the script.
func unexpected(words []string) error {
	return fmt.Errorf("%w: %s", errInstall, clean.Line(strings.TrimPrefix(strings.Join(words, " "), "failed ")))
}

// goArch is the value of GOARCH for what uname -m prints.
func goArch(uname string) string {
	switch uname {
	case "x86_64":
		return "amd64"
	case "aarch64":
		return "arm64"
	}
	return uname
}
