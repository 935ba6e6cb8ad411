//go:build linux

package tree

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// noProgram are the flags of mounts that hold no programs.
const noProgram = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC

// mount makes the machine's file system read-only for the control plane, except for the cluster's folder.
func (p *ControlPlane) mount() error {
	if err := mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := mount("proc", "/proc", "proc", noProgram, ""); err != nil {
		return err
	}
	if err := mount(p.Folder, p.Folder, "", unix.MS_BIND, ""); err != nil {
		return err
	}
	if err := mount("", "/", "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""); err != nil {
		return err
	}
	folder, err := os.Open(p.Folder)
	if err != nil {
		return err
	}
	defer func() { _ = folder.Close() }()
	for _, dir := range []string{"/run", "/var/tmp"} {
		if err := mount("kubetest", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755"); err != nil {
			return err
		}
		if !strings.HasPrefix(p.Folder, dir+"/") {
			continue
		}
		// TMPDIR is below it: the cluster's folder is shown again.
		if err := os.MkdirAll(p.Folder, 0o755); err != nil {
			return err
		}
		if err := mount(fmt.Sprint("/proc/self/fd/", folder.Fd()), p.Folder, "", unix.MS_BIND, ""); err != nil {
			return err
		}
	}
	// Half of the memory at most, which is the default. Nothing of it reaches a disk.
	return mount("kubetest", p.State, "tmpfs", 0, "mode=755")
}

// mount mounts, and says what could not be mounted where.
func mount(source, target, kind string, flags uintptr, options string) error {
	if err := unix.Mount(source, target, kind, flags, options); err != nil {
		return fmt.Errorf("mounting %s %s on %s: %w", kind, source, target, err)
	}
	return nil
}

// showReadOnly shows a folder of the machine at another path.
func showReadOnly(source, target string) error {
	if err := os.MkdirAll(target, 0o755); err != nil {
		return err
	}
	if err := mount(source, target, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return err
	}
	return mount("", target, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, "")
}

// enter gives the node its own file system: the programs and libraries of the machine, read-only, and everything else
// its own.
func (n *Node) enter() error {
	if err := unix.Sethostname([]byte(n.Name)); err != nil {
		return os.NewSyscallError("sethostname", err)
	}
	if err := mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := os.MkdirAll(n.Root, 0o755); err != nil {
		return err
	}
	if err := mount(n.Root, n.Root, "", unix.MS_BIND, ""); err != nil {
		return err
	}
	in := func(path string) string { return filepath.Join(n.Root, path) }
	for _, dir := range []string{"/dev", "/proc", "/sys", "/run", "/old", "/etc", "/root", "/var/lib", "/var/log"} {
		if err := os.MkdirAll(in(dir), 0o755); err != nil {
			return err
		}
	}
	if err := os.Mkdir(in("/tmp"), 0o777); err != nil {
		return err
	}
	if err := os.Chmod(in("/tmp"), 0o777|os.ModeSticky); err != nil {
		return err
	}
	if err := n.system(); err != nil {
		return err
	}
	if err := mount(n.Logs, in("/var/log"), "", unix.MS_BIND, ""); err != nil {
		return err
	}
	for path, source := range n.Folders {
		if err := showReadOnly(source, in(path)); err != nil {
			return err
		}
	}
	for path, content := range n.Files {
		if err := os.MkdirAll(filepath.Dir(in(path)), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(in(path), []byte(content), 0o600); err != nil {
			return err
		}
	}
	if err := kernelMounts(n.Root); err != nil {
		return err
	}
	if err := os.Chdir(n.Root); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "old"); err != nil {
		return os.NewSyscallError("pivot_root", err)
	}
	if err := unix.Unmount("/old", unix.MNT_DETACH); err != nil {
		return os.NewSyscallError("umount", err)
	}
	// The kubelet gives containers mounts that are made later.
	if err := mount("", "/", "", unix.MS_REC|unix.MS_SHARED, ""); err != nil {
		return err
	}
	return shieldSettings()
}

// system shows the machine's programs and libraries, and copies what they need of /etc.
func (n *Node) system() error {
	if err := showReadOnly("/usr", filepath.Join(n.Root, "usr")); err != nil {
		return err
	}
	for _, name := range []string{"bin", "sbin", "lib", "lib32", "lib64"} {
		there := filepath.Join(n.Root, name)
		target, err := os.Readlink("/" + name)
		switch {
		case errors.Is(err, unix.EINVAL): // a folder, on systems that keep /bin apart from /usr/bin
			err = showReadOnly("/"+name, there)
		case errors.Is(err, os.ErrNotExist):
			continue
		case err == nil:
			err = os.Symlink(target, there)
		}
		if err != nil {
			return err
		}
	}
	for _, name := range []string{"passwd", "group", "nsswitch.conf", "ld.so.cache", "ssl", "alternatives"} {
		source, target := filepath.Join("/etc", name), filepath.Join(n.Root, "etc", name)
		info, err := os.Stat(source)
		switch {
		case errors.Is(err, os.ErrNotExist):
			continue
		case err != nil:
			return err
		case info.IsDir():
			err = showReadOnly(source, target)
		default:
			var b []byte
			if b, err = os.ReadFile(source); err == nil {
				err = os.WriteFile(target, b, 0o644)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// kernelMounts mounts the file systems of the kernel for the node's namespaces. Control groups keep the paths that they
// have on the machine.
func kernelMounts(root string) error {
	in := func(path string) string { return filepath.Join(root, path) }
	if err := mount("/dev", in("/dev"), "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return err
	}
	if err := mount("kubetest", in("/run"), "tmpfs", 0, "mode=755"); err != nil {
		return err
	}
	if err := mount("proc", in("/proc"), "proc", noProgram, ""); err != nil {
		return err
	}
	if err := mount("sysfs", in("/sys"), "sysfs", noProgram, ""); err != nil {
		return err
	}
	if isUnified(groupRoot) {
		return mount(groupRoot, in(groupRoot), "", unix.MS_BIND|unix.MS_REC, "")
	}
	if err := mount("kubetest", in(groupRoot), "tmpfs", noProgram, "mode=755"); err != nil {
		return err
	}
	entries, err := os.ReadDir(groupRoot)
	if err != nil {
		return err
	}
	for _, e := range entries {
		here, there := filepath.Join(groupRoot, e.Name()), filepath.Join(in(groupRoot), e.Name())
		if !e.IsDir() {
			target, err := os.Readlink(here)
			if err == nil {
				err = os.Symlink(target, there)
			}
			if err != nil {
				return err
			}
			continue
		}
		if err := os.Mkdir(there, 0o755); err != nil {
			return err
		}
		if err := mount(here, there, "", unix.MS_BIND, ""); err != nil {
			return err
		}
	}
	return nil
}

// shieldSettings keeps the kubelet from changing settings of the whole machine: it sees files that have the values that
// it wants.
func shieldSettings() error {
	const shields = "/run/kubetest-settings"
	if err := os.Mkdir(shields, 0o755); err != nil {
		return err
	}
	for path, value := range map[string]int{
		"vm/overcommit_memory": 1, "vm/panic_on_oom": 0, "kernel/panic": 10, "kernel/panic_on_oops": 1,
		"kernel/keys/root_maxkeys": 1000000, "kernel/keys/root_maxbytes": 25000000,
	} {
		setting := filepath.Join("/proc/sys", path)
		if _, err := os.Stat(setting); err != nil {
			continue // the kernel does not have it, and the kubelet cannot change it
		}
		file := filepath.Join(shields, strings.ReplaceAll(path, "/", "-"))
		if err := os.WriteFile(file, []byte(strconv.Itoa(value)+"\n"), 0o644); err != nil {
			return err
		}
		if err := mount(file, setting, "", unix.MS_BIND, ""); err != nil {
			return err
		}
	}
	return nil
}
