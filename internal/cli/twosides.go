package cli

import (
	"context"
	"errors"
	"slices"
	"sync"

	"nearfar/internal/conclude/contrast"
)

// contrast reads two sides, each of one or several runs, and matches their arms and workloads. The caller calls done
// when the contrast is no longer needed.
func (a *app) contrast(
	ctx context.Context, base []string, baseName string, other []string, otherName string,
) (c *contrast.Contrast, done func(), err error) {
	b, n, err := a.readSides(ctx, base, baseName, other, otherName)
	if err != nil {
		return nil, nil, err
	}
	if c, err = contrast.Match(b, n); err != nil {
		return nil, nil, sidesError(err)
	}
	scatter, done := scatterFrom(ctx, c)
	if scatter != nil {
		c.UseScatter(scatter)
	}
	return c, done, nil
}

// readSides reads both sides. Standard input can be named only once.
func (a *app) readSides(
	ctx context.Context, base []string, baseName string, other []string, otherName string,
) (*contrast.Side, *contrast.Side, error) {
	sources := slices.Concat(base, other)
	if first := slices.Index(sources, "-"); first >= 0 && slices.Contains(sources[first+1:], "-") {
		return nil, nil, usagef("only one side can be standard input")
	}
	// In parallel, because reading long runs takes time.
	read := func(wait *sync.WaitGroup, sources []string, name string) ([]*contrast.Side, []error) {
		sides, failures := make([]*contrast.Side, len(sources)), make([]error, len(sources))
		for i, source := range sources {
			wait.Go(func() { sides[i], failures[i] = a.readSide(ctx, source, name) })
		}
		return sides, failures
	}
	var wait sync.WaitGroup
	bases, baseErrors := read(&wait, base, baseName)
	others, otherErrors := read(&wait, other, otherName)
	wait.Wait()
	if err := errors.Join(append(baseErrors, otherErrors...)...); err != nil {
		return nil, nil, err
	}
	b, baseErr := contrast.Merge(baseName, bases)
	n, otherErr := contrast.Merge(otherName, others)
	return b, n, sidesError(errors.Join(baseErr, otherErr))
}

// sidesError makes an error of package contrast a usage error, unless it says that nothing is comparable.
func sidesError(err error) error {
	if err == nil || errors.Is(err, contrast.ErrNothing) {
		return err
	}
	return &usageError{err}
}
