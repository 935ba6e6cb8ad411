package database

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	osuser "os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// A user is as whom PostgreSQL runs. It refuses to run as root.
type user struct {
	uid, gid int
	// other says that it is another user than this process, and mapped that it is this one under another number.
	other, mapped bool
}

// account is the user for PostgreSQL: this one, or for root the user of the package, or else nobody. A root that can
// become nobody else, as in a user namespace with one user, gets another number in a user namespace of its own.
func account() (user, error) {
	if os.Geteuid() != 0 {
		return user{}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		found, err := lookup(name)
		if err != nil {
			continue
		}
		if holds("/proc/self/uid_map", found.uid) && holds("/proc/self/gid_map", found.gid) {
			return found, nil
		}
		found.other, found.mapped = false, true
		return found, nil
	}
	return user{}, errors.New("PostgreSQL does not run as root, and this host has neither a user postgres nor nobody")
}

func lookup(name string) (user, error) {
	found, err := osuser.Lookup(name)
	if err != nil {
		return user{}, err
	}
	uid, err := strconv.Atoi(found.Uid)
	if err != nil {
		return user{}, err
	}
	gid, err := strconv.Atoi(found.Gid)
	return user{uid: uid, gid: gid, other: true}, err
}

// holds says that a map of users or groups (user_namespaces(7)) has a number.
func holds(file string, id int) bool {
	f, err := os.Open(file)
	if err != nil {
		return true // without user namespaces every number is there
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var first, outside, count int
		if n, err := fmt.Sscan(lines.Text(), &first, &outside, &count); err == nil && n == 3 &&
			id >= first && id-first < count {
			return true
		}
	}
	return false
}

// reachable says that every user can reach what is in a folder.
func reachable(folder string) bool {
	for ; ; folder = filepath.Dir(folder) {
		info, err := os.Stat(folder)
		if err != nil || info.Mode().Perm()&0o001 == 0 {
			return false
		}
		if folder == filepath.Dir(folder) {
			return true
		}
	}
}

// hidden is where PostgreSQL sees its folder if its user cannot reach that folder's path, in mounts of its own.
const hidden = "/tmp"

// start starts a program as PostgreSQL's user. Where that is another user, the program gets mounts and shared memory of
// its own, which end with it.
func (f *folder) start(cmd *exec.Cmd) error {
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), "LC_ALL=C", "HOME="+f.inner, "TMPDIR="+f.inner)
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	switch {
	case f.who.other:
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(f.who.uid), Gid: uint32(f.who.gid)}
	case f.who.mapped:
		cmd.SysProcAttr.Cloneflags = unix.CLONE_NEWUSER | unix.CLONE_NEWIPC
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: f.who.uid, HostID: 0, Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: f.who.gid, HostID: 0, Size: 1}}
		return cmd.Start()
	default:
		return cmd.Start()
	}
	failed := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // for ever: the thread has other mounts, and ends with this function
		err := f.separate()
		if err == nil || f.inner == f.path && errors.Is(err, unix.EPERM) {
			err = cmd.Start() // a root without the right to mounts of its own needs none for a folder in reach
		}
		failed <- err
	}()
	return <-failed
}

// separate gives this thread mounts and shared memory of its own. Where PostgreSQL's user cannot reach the folder, that
// is at hidden. A PostgreSQL that is killed, or finds the disk full, leaves shared memory: here it ends with the last
// process.
func (f *folder) separate() error {
	if err := unix.Unshare(unix.CLONE_NEWNS | unix.CLONE_NEWIPC); err != nil {
		return fmt.Errorf("mounts of its own for the user of PostgreSQL, who cannot reach %s: %w", f.path, err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("making mounts private: %w", err)
	}
	if err := unix.Mount("none", "/dev/shm", "tmpfs", 0, "mode=1777"); err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("mounting shared memory: %w", err)
	}
	if f.inner == f.path {
		return nil
	}
	if err := unix.Mount(f.path, hidden, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mounting %s: %w", f.path, err)
	}
	return nil
}
