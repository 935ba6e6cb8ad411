package lab

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// privateDirs hold files of the lab alone, in memory. They end with the lab.
func privateDirs() []string { return []string{"/tmp", "/var/tmp", "/run", "/dev/shm"} }

// tempDir is where tools write temporary files.
const tempDir = "/tmp"

// inPrivateDir says whether a cleaned absolute path lies below a private directory.
func inPrivateDir(path string) bool {
	return slices.ContainsFunc(privateDirs(), func(dir string) bool { return strings.HasPrefix(path, dir+"/") })
}

// privateMounts separates the lab's mounts from the machine's, and mounts the lab's own directories. It reports whether
// a new /proc could be mounted: a container that hides parts of its own /proc does not allow that.
func privateMounts() (freshProc bool, err error) {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return false, fmt.Errorf("making mounts private: %w", err)
	}
	err = unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	if err != nil && !errors.Is(err, unix.EPERM) {
		return false, fmt.Errorf("mounting /proc: %w", err)
	}
	freshProc = err == nil
	kept, err := openPrograms()
	if err != nil {
		return false, err
	}
	defer func() {
		for _, fd := range kept {
			_ = unix.Close(fd)
		}
	}()
	for _, dir := range privateDirs() {
		if real, err := filepath.EvalSymlinks(dir); err != nil || real != dir {
			continue // it does not exist, or is a link
		}
		mode := "mode=1777"
		if dir == "/run" {
			mode = "mode=0755"
		}
		if err := unix.Mount("nearfar-lab", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, mode); err != nil {
			return false, fmt.Errorf("mounting a private %s: %w", dir, err)
		}
	}
	for dir, fd := range kept {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return false, err
		}
		if err := unix.Mount(fmt.Sprintf("/proc/self/fd/%d", fd), dir, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return false, fmt.Errorf("keeping %s, which is on PATH: %w", dir, err)
		}
	}
	return freshProc, nil
}

// openPrograms opens the directories on PATH that a private directory would hide.
func openPrograms() (map[string]int, error) {
	kept := map[string]int{}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		dir = filepath.Clean(dir)
		if !filepath.IsAbs(dir) || !inPrivateDir(dir) {
			continue
		}
		if _, twice := kept[dir]; twice {
			continue
		}
		fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.EACCES) {
			continue
		}
		if err != nil {
			return kept, fmt.Errorf("opening %s, which is on PATH: %w", dir, err)
		}
		kept[dir] = fd
	}
	return kept, nil
}
