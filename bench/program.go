package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
)

// The paths at which the programs of the benchmark are put on the lab's hosts. The lab itself runs nearfar as
// host.Self.
const (
	nearfarPath = "/tmp/nearfar"
	// helperPath is this program, which runs other programs under watch and is the clock alone.
	helperPath = "/tmp/bench"
)

// buildNearfar builds the program that is measured below dir, and returns its absolute path.
func buildNearfar(ctx context.Context, dir string) (string, error) {
	program, err := filepath.Abs(filepath.Join(dir, "nearfar"))
	if err != nil {
		return "", err
	}
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", program, "nearfar/cmd/nearfar")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building nearfar: %w: %s", err, out)
	}
	return program, nil
}
