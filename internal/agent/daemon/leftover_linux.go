package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// An agent's folder stays if the machine was switched off, or the agent could not be started. It is nobody's then: the
// next agent of the same user in the same place removes it.

const (
	// preparing is how long a folder may be prepared by whoever connects, before its agent is started.
	preparing = 15 * time.Minute
	// mostLeftovers is how many folders one agent looks at.
	mostLeftovers = 200
)

// leftoverName is the name of an agent's folder, as internal/host/ssh/bootstrap.sh makes it.
var leftoverName = regexp.MustCompile(`^nearfar-[0-9a-f]{16}$`)

// removeLeftovers removes the folders of agents beside the given one that belong to this user and to no running agent.
func removeLeftovers(folder string) {
	base := filepath.Dir(folder)
	dir, err := os.Open(base)
	if err != nil {
		return
	}
	defer func() { _ = dir.Close() }()
	for looked := 0; looked < mostLeftovers; {
		entries, err := dir.ReadDir(mostLeftovers)
		if err != nil || len(entries) == 0 {
			return
		}
		for _, e := range entries {
			if path := filepath.Join(base, e.Name()); leftoverName.MatchString(e.Name()) && path != folder {
				looked++
				if isLeftover(path) {
					_ = removeUnowned(path, nil)
				}
			}
		}
	}
}

// isLeftover says whether a folder is an agent's and in use by none: by this user alone, and from before this machine
// was started, or older than any preparation takes.
func isLeftover(folder string) bool {
	info, err := os.Lstat(folder)
	if err != nil || !info.IsDir() || info.Mode().Perm()&0o077 != 0 || ownedByUser(info) != nil {
		return false
	}
	if _, err := os.Lstat(filepath.Join(folder, lockName)); err == nil {
		return true // removeUnowned looks whether somebody has it
	}
	return info.ModTime().Before(booted()) || time.Since(info.ModTime()) > preparing
}

// booted is when this machine was started.
func booted() time.Time {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) != nil {
		return time.Time{}
	}
	return time.Now().Add(-time.Duration(now.Nano()))
}

// removeUnowned removes an agent's folder with all that the agent put, unless an agent uses it.
func removeUnowned(folder string, remove []string) error {
	lock, err := os.OpenFile(filepath.Join(folder, lockName), os.O_RDWR|unix.O_NOFOLLOW, 0)
	if err == nil {
		defer func() { _ = lock.Close() }()
		if unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
			return fmt.Errorf("an agent uses the folder %s", folder)
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, name := range ownNames() {
		remove = append(remove, filepath.Join(folder, name))
	}
	// An agent of root under another user's folder.
	if root := filepath.Join(folder, "root"); !strings.HasSuffix(folder, "/root") {
		if info, err := os.Lstat(root); err == nil && info.IsDir() && ownedByUser(info) == nil {
			_ = removeUnowned(root, nil)
		}
	}
	return clear(folder, remove)
}

// ownNames are the files that the script makes in the folder before the agent starts.
func ownNames() []string { return []string{"nearfar-agent", "new", "probe"} }
