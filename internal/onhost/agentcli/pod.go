package agentcli

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"nearfar/internal/onhost/agent/daemon"
)

// installCommand is the verb that copies this program into a folder: from an image of its own into a volume, or from
// where it was just stored to its place.
func installCommand() *cobra.Command {
	var sum string
	cmd := &cobra.Command{
		Use:    "install FOLDER",
		Short:  "Copy this program into a folder",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE:   func(_ *cobra.Command, args []string) error { return install(args[0], sum) },
	}
	cmd.Flags().StringVar(&sum, "sha256", "", "copy it only if it has this `hash`")
	return cmd
}

// podCommand is the verb of the first process of a container.
func podCommand() *cobra.Command {
	var folder string
	cmd := &cobra.Command{
		Use:   "pod",
		Short: "Run as the first process of a container in which nearfar measures",
		Long: `Waits for SIGTERM, and reaps the processes that others leave behind. It starts no agent: nearfar does
that, by running this program with --stdio in the same container.`,
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if folder != "" {
				if err := install(folder, ""); err != nil {
					return err
				}
			}
			return daemon.Hold(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&folder, "install", "", "first copy this program into the `folder`")
	return cmd
}

// install copies this program into a folder, whole or not at all.
func install(folder, sum string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	in, err := os.Open(self)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	name := "nearfar-agent"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	out, err := os.CreateTemp(folder, "nearfar-new-")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(out.Name()) }() // it is gone if all went well
	hash := sha256.New()
	_, err = io.Copy(io.MultiWriter(out, hash), in)
	if closeErr := out.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	if got := hex.EncodeToString(hash.Sum(nil)); sum != "" && got != sum {
		return fmt.Errorf("the program arrived damaged: its hash is %s", got)
	}
	// Anybody in the container may run it: the tools of an image can have another user.
	if err := os.Chmod(out.Name(), 0o755); err != nil {
		return err
	}
	return os.Rename(out.Name(), filepath.Join(folder, name))
}
