//go:build linux

package kubetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"nearfar/internal/kits/moduleroot"
)

// errUnsupported says that the kernel lacks a feature. The message names it.
var errUnsupported = errors.New("this kernel cannot run a cluster")

// requireRights skips the test if this process may not make a cluster.
func requireRights(t testing.TB) {
	t.Helper()
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		t.Fatal(err)
	}
	for _, c := range []uint{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN} {
		if os.Getuid() != 0 || data[c/32].Effective&(1<<(c%32)) == 0 {
			t.Skip("a cluster needs root with CAP_SYS_ADMIN and CAP_NET_ADMIN")
		}
	}
}

// checkKernel finds out whether the kernel has what the components need and cannot name themselves when it is missing.
// Bridges and VXLAN are found missing when they are made.
func (c *Cluster) checkKernel() error {
	known, err := os.ReadFile("/proc/filesystems")
	if err != nil {
		return err
	}
	if !slices.Contains(strings.Fields(string(known)), "overlay") {
		return fmt.Errorf("%w: it has no file system overlay", errUnsupported)
	}
	ctx, cancel := context.WithTimeout(context.Background(), answer)
	defer cancel()
	if out, err := c.Command(ctx, "nft", "list", "ruleset").CombinedOutput(); err != nil {
		return fmt.Errorf("%w: it has no nftables: %w: %s", errUnsupported, err, out)
	}
	return nil
}

// components finds the programs of Kubernetes that scripts/kubernetes.sh built, and checks that the other programs of a
// cluster are installed.
func components() (string, error) {
	for _, name := range []string{store, containerd, "ctr", "runc", "containerd-shim-runc-v2", "nft", "nsenter"} {
		if _, err := exec.LookPath(name); err != nil {
			return "", fmt.Errorf("%w; scripts/install-tools.sh test installs it", err)
		}
	}
	folder, err := moduleroot.Built("kubernetes", "internal/kits/kubetest/components/go.mod",
		"internal/kits/kubetest/components/go.sum")
	if err != nil {
		return "", fmt.Errorf("the programs of Kubernetes are missing: %w; scripts/kubernetes.sh builds them", err)
	}
	return folder, nil
}
