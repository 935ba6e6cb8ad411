package daemon

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"golang.org/x/sys/unix"
)

// staleAfter is how long nothing may have changed in a folder without a lock until it counts as left behind: longer
// than the time within which ssh must send the next part of the program that is being copied.
const staleAfter = 10 * time.Minute

// aboutToLock is the longest time assumed between the making of a lock's file and its locking.
const aboutToLock = time.Minute

// maxSwept bounds how many entries of a folder are looked at.
const maxSwept = 10_000

// removeLeftovers removes the folders of agents that have ended without removing them: the machine was switched off,
// the program was never copied whole, or it did not start. It looks at the folders in base that have the name of an
// agent's folder and belong to this user alone, but not at own. A folder whose agent lives has a lock.
func removeLeftovers(base, own string, now time.Time) {
	folder, err := os.Open(base)
	if err != nil {
		return
	}
	names, _ := folder.Readdirnames(maxSwept) // what there is suffices
	_ = folder.Close()                        // it was only read
	for _, name := range names {
		path := filepath.Join(base, name)
		if name != own && regexp.MustCompile(`^nearfar-(agent-)?[0-9a-f]{16}$`).MatchString(name) && isLeftover(path, now) {
			for _, part := range []string{"probe", "new", "nearfar-agent"} { // of the script that copies the agent
				_ = os.Remove(filepath.Join(path, part))
			}
			_ = os.Remove(filepath.Join(path, "root")) // of sudo; it stays if root left something in it
			_ = clear(path, nil)                       // what cannot be removed stays
		}
	}
}

// isLeftover says whether no agent uses a folder, and none will.
func isLeftover(path string, now time.Time) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() || info.Mode().Perm()&0o077 != 0 || ownedByUser(info) != nil {
		return false
	}
	lock, err := os.OpenFile(filepath.Join(path, lockName), os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err == nil {
		defer func() { _ = lock.Close() }() // it ends the lock
		of, err := lock.Stat()
		// A keeper that has just made the file may not have locked it yet.
		return err == nil && now.Sub(of.ModTime()) > aboutToLock &&
			unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return false
	}
	latest := info.ModTime()
	for _, e := range entries {
		inside, err := e.Info()
		if err != nil {
			return false
		}
		if inside.ModTime().After(latest) {
			latest = inside.ModTime()
		}
	}
	return now.Sub(latest) > staleAfter
}
