//go:build !linux

package lab

import (
	"context"
	"fmt"
	"io"
	"runtime"

	"nearfar/internal/declare/check"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/onhost/host"
)

// Lab is an open lab. This system does not support labs: Open always fails, so that there is none to call a method of.
type Lab struct{ methods }

// methods are what other packages call of a lab on Linux.
type methods interface {
	Build(ctx context.Context, arm string, spec experiment.Lab) (client, server host.Host, err error)
	Machines(arm string) host.Machines
	WatchWire(arm string) (end func() (client, server *check.Wire))
	Observe(ctx context.Context, arm string) ([]ElementFacts, error)
	Facts() Facts
	Close() error
}

func unsupported() error {
	return fmt.Errorf("%w: a lab is made of Linux namespaces, and this is %s; run nearfar on Linux",
		ErrUnsupported, runtime.GOOS)
}

// Open fails: labs need Linux.
func Open(context.Context, Options) (*Lab, error) { return nil, unsupported() }

// Doctor fails and says why.
func Doctor(context.Context) (Facts, error) { return Facts{}, unsupported() }

// RunInit fails.
func RunInit() error { return unsupported() }

// RunWire fails.
func RunWire(io.Reader, io.Writer) error { return unsupported() }
