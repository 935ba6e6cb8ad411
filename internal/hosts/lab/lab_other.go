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

// Lab is an open lab. This system does not support labs.
type Lab struct{}

func unsupported() error {
	return fmt.Errorf("%w: a lab is made of Linux namespaces, and this is %s; run nearfar on Linux",
		ErrUnsupported, runtime.GOOS)
}

// Open fails: labs need Linux.
func Open(context.Context, Options) (*Lab, error) { return nil, unsupported() }

// Doctor fails and says why.
func Doctor(context.Context) (Facts, error) { return Facts{}, unsupported() }

// Build fails.
func (l *Lab) Build(context.Context, string, experiment.Lab) (client, server host.Host, err error) {
	return nil, nil, unsupported()
}

// CPUs fails.
func (l *Lab) CPUs(experiment.Placement) (client, server []int, err error) {
	return nil, nil, unsupported()
}

// Watch sees nothing.
func (l *Lab) Watch(arm string, client, server []int) (end func() host.Contention) {
	return func() host.Contention { return host.Contention{} }
}

// WatchWire sees nothing.
func (l *Lab) WatchWire(string) (end func() (client, server *check.Wire)) {
	return func() (client, server *check.Wire) { return nil, nil }
}

// Machines sees nothing.
func (l *Lab) Machines(string) host.Machines { return machines{} }

// machines is a machine that has no labs.
type machines struct{}

// CPUs fails.
func (machines) CPUs(experiment.Placement) (client, server []int, err error) {
	return nil, nil, unsupported()
}

// Watch sees nothing.
func (machines) Watch(context.Context, []int, []int) (begun func(), end func() host.Observation) {
	return func() {}, func() host.Observation { return host.Observation{} }
}

// Ahead is not possible.
func (machines) Ahead(host.Machines) bool { return false }

// Lost says that there is none.
func (machines) Lost() error { return unsupported() }

// Observe fails.
func (l *Lab) Observe(context.Context, string) ([]ElementFacts, error) { return nil, unsupported() }

// Lost says that there is none.
func (l *Lab) Lost() error { return unsupported() }

// Facts are empty.
func (l *Lab) Facts() Facts { return Facts{} }

// Close does nothing.
func (l *Lab) Close() error { return nil }

// RunInit fails.
func RunInit() error { return unsupported() }

// RunWire fails.
func RunWire(io.Reader, io.Writer) error { return unsupported() }
