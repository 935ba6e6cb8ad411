package audit

import (
	"context"

	"nearfar/internal/cloud/cloudtool"
)

// maxOutput bounds what a program may print, in bytes: about 100,000 resources.
const maxOutput = 64 << 20

// Installed runs a program of this machine.
func Installed(ctx context.Context, program string, args ...string) ([]byte, error) {
	return cloudtool.Run(ctx, maxOutput, append([]string{program}, args...)...)
}
