package steps

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"nearfar/internal/base/bounded"
	"nearfar/internal/base/clean"
	"nearfar/internal/declare/bisection"
)

const (
	// maxGit bounds the output of git, in bytes: a commit takes less than 200.
	maxGit = 64 << 20
	// fullHash is the least length of a commit's hash: that of SHA-1, in hexadecimal digits.
	fullHash = 40
)

// Commits lists the commits from a good one to a bad one of the git repository that a folder is in: the good one, and
// all that follow it along the first parents of the bad one, so that a merge is one step.
func Commits(ctx context.Context, folder, good, bad string) ([]bisection.Step, error) {
	first, err := commit(ctx, folder, good)
	if err != nil {
		return nil, err
	}
	last, err := commit(ctx, folder, bad)
	if err != nil {
		return nil, err
	}
	out, err := git(ctx, folder, "log", "--first-parent", "--reverse", "--format=%H%x09%P%x09%s", first+".."+last, "--")
	if err != nil {
		return nil, err
	}
	steps := []bisection.Step{{Name: first, About: good}}
	before := first
	for line := range strings.Lines(string(out)) {
		hash, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		parents, subject, _ := strings.Cut(rest, "\t")
		if parent, _, _ := strings.Cut(parents, " "); parent != before {
			return nil, fmt.Errorf("%s is not on the way of first parents from %s: its commits branch off before",
				clean.Line(good), clean.Line(bad))
		}
		steps = append(steps, bisection.Step{Name: hash, About: clean.Line(subject)})
		before = hash
	}
	if len(steps) < 2 {
		return nil, fmt.Errorf("no commit follows %s on the way to %s", clean.Line(good), clean.Line(bad))
	}
	return steps, nil
}

// commit is the hash of a commit that a person names.
func commit(ctx context.Context, folder, name string) (string, error) {
	out, err := git(ctx, folder, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
	hash := strings.TrimSpace(string(out))
	if err != nil || len(hash) < fullHash {
		if errors.Is(err, exec.ErrNotFound) || ctx.Err() != nil {
			return "", err
		}
		return "", fmt.Errorf("%s is no commit of %s", clean.Line(name), clean.Line(folder))
	}
	return hash, nil
}

// git runs git in a folder, and returns what it printed.
func git(ctx context.Context, folder string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", folder}, args...)...) // #nosec G204 -- git alone
	stdout, stderr := bounded.New(maxGit), bounded.New(lastPrinted)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	err := cmd.Run()
	switch said := clean.Line(string(bytes.TrimSpace(stderr.Bytes()))); {
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil && said != "":
		return nil, fmt.Errorf("git: %w: %s", err, said)
	case err != nil:
		return nil, fmt.Errorf("git: %w", err)
	case stdout.Cut() != "":
		return nil, fmt.Errorf("git printed more than %d bytes", maxGit)
	}
	return stdout.Bytes(), nil
}
