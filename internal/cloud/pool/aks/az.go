// Package aks makes and deletes node pools of Azure Kubernetes Service with the user's own az. nearfar passes no
// credentials: az uses the login that it has. What az prints is untrusted: it is bounded, and parsed strictly.
package aks

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"time"

	"nearfar/internal/cloud/cloudtool"
)

const (
	// maxOutput bounds what az may print, in bytes.
	maxOutput = 8 << 20
	// readLimit and changeLimit bound one call of az. Changes are asked for with --no-wait.
	readLimit   = 2 * time.Minute
	changeLimit = 5 * time.Minute
)

// Az runs az with arguments and returns its standard output.
type Az func(ctx context.Context, args ...string) ([]byte, error)

// Installed is the az of this machine.
func Installed() (Az, error) {
	if _, err := exec.LookPath("az"); err != nil {
		return nil, fmt.Errorf("%w: install the Azure CLI and log in with `az login`", err)
	}
	return func(ctx context.Context, args ...string) ([]byte, error) {
		argv := slices.Concat([]string{"az"}, args, []string{"--only-show-errors", "--output", "json"})
		out, err := cloudtool.Run(ctx, maxOutput, argv...)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", cloudtool.Name(argv...), err)
		}
		return out, nil
	}, nil
}

// read runs a command that changes nothing.
func (az Az) read(ctx context.Context, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	return az(ctx, args...)
}

// change runs a command that asks for a change. It is not ended by ctx: nobody would know whether the request was made.
func (az Az) change(ctx context.Context, args ...string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), changeLimit)
	defer cancel()
	_, err := az(ctx, args...)
	return err
}

var errNoPool = errors.New("the cluster has no such node pool")
