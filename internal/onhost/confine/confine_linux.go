package confine

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// firstUser is the first of the users that programs get: no system gives such numbers to accounts. The process number
// is added, so that no two programs share a user.
const firstUser = 2_000_000_000

// nobody is the user that systems without such a number (containers, most of all) have.
const nobody = 65534

// Run replaces this process by the program, confined. It returns only if that fails. It says on log what the kernel
// does not enforce, though it was asked for and is not needed.
func Run(argv []string, o Options, log io.Writer) error {
	if err := o.check(); err != nil {
		return err
	}
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return err
	}
	// What follows changes this thread alone: all system calls below are those of one thread, and executing the program
	// ends the others. The thread is never unlocked.
	runtime.LockOSThread()
	say := func(format string, args ...any) {
		fmt.Fprintf(log, "nearfar %s: %s: "+format+"\n", append([]any{Verb, filepath.Base(argv[0])}, args...)...)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl(PR_SET_NO_NEW_PRIVS)", err)
	}
	if len(o.Peers) > 0 || len(o.Within) > 0 {
		if err := filterSockets(o); errors.Is(err, ErrUnsupported) && len(o.Within) == 0 {
			say("anybody who reaches its ports can use it: %v", err)
		} else if err != nil {
			return err
		}
	}
	keep := neededRights(o.Congestion)
	if why, err := changeUser(path); err != nil {
		return err
	} else if why != "" {
		say("%s", why)
	}
	if err := dropRights(keep); err != nil {
		return err
	}
	env := os.Environ()
	folder := ""
	if o.Scratch {
		folder = scratch()
		env = append(slices.DeleteFunc(env, func(kv string) bool { return strings.HasPrefix(kv, "TMPDIR=") }),
			"TMPDIR="+folder)
	}
	if err := restrictFiles(path, folder, o); errors.Is(err, ErrUnsupported) && !o.Strict {
		say("it can read the files that its user can: %v", err)
	} else if err != nil {
		return err
	}
	return fmt.Errorf("starting %s: %w", path, unix.Exec(path, argv, env))
}

// rights is a set of capabilities (capabilities(7)).
type rights uint64

// admin is what setting some congestion controls takes, changingUser what changeUser takes.
const (
	admin        rights = 1 << unix.CAP_NET_ADMIN
	changingUser rights = 1<<unix.CAP_SETUID | 1<<unix.CAP_SETGID | 1<<unix.CAP_KILL | 1<<unix.CAP_SYS_PTRACE
)

func (r rights) has(all rights) bool { return r&all == all }

// current are the effective capabilities of this thread; none if they cannot be read.
func current() rights {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if unix.Capget(&header, &data[0]) != nil {
		return 0
	}
	return rights(data[1].Effective)<<32 | rights(data[0].Effective)
}

// neededRights are the capabilities that setting a congestion control takes, if this thread has them. Those that
// net.ipv4.tcp_allowed_congestion_control lists take none.
func neededRights(congestion string) rights {
	if congestion == "" {
		return 0
	}
	allowed, err := os.ReadFile("/proc/sys/net/ipv4/tcp_allowed_congestion_control")
	if err == nil && slices.Contains(strings.Fields(string(allowed)), congestion) {
		return 0
	}
	return current() & admin
}

// changeUser makes this thread's user one of its own, if it is root's. why says why it stays.
//
// Whoever started the program must still be able to see its files and to end it. Root can only do that with
// CAP_SYS_PTRACE and CAP_KILL, which containers may lack.
func changeUser(path string) (why string, err error) {
	if unix.Geteuid() != 0 {
		return "", nil
	}
	if !current().has(changingUser) {
		return "it runs as root, but without root's rights: this root cannot watch the processes of other users", nil
	}
	// Permitted capabilities survive the change of the user only with this.
	if err := unix.Prctl(unix.PR_SET_KEEPCAPS, 1, 0, 0, 0); err != nil {
		return "", os.NewSyscallError("prctl(PR_SET_KEEPCAPS)", err)
	}
	for _, user := range []int{firstUser + os.Getpid(), nobody} {
		if set(unix.SYS_SETRESGID, user, user, user) != nil {
			continue // the user namespace has no such user
		}
		if _, _, e := unix.RawSyscall(unix.SYS_SETGROUPS, 0, 0, 0); e != 0 {
			return "", os.NewSyscallError("setgroups", e)
		}
		// Root stays the saved user until it is known that the other can run the program.
		if err := set(unix.SYS_SETRESUID, user, user, 0); err != nil {
			return "", os.NewSyscallError("setresuid", err)
		}
		// access(2) judges the real user, without capabilities.
		if unix.Faccessat(unix.AT_FDCWD, path, unix.R_OK|unix.X_OK, 0) != nil {
			if err := errors.Join(set(unix.SYS_SETRESUID, 0, 0, 0), set(unix.SYS_SETRESGID, 0, 0, 0)); err != nil {
				return "", os.NewSyscallError("setresuid", err)
			}
			return fmt.Sprintf("it runs as root, but without root's rights: no other user can read and run %s", path),
				nil
		}
		return "", os.NewSyscallError("setresuid", set(unix.SYS_SETRESUID, user, user, user))
	}
	return "it runs as root, but without root's rights: there is no other user in this user namespace", nil
}

// set sets three numbers of this thread; package syscall would set those of all threads.
func set(call uintptr, r, e, s int) error {
	if _, _, errno := unix.RawSyscall(call, uintptr(r), uintptr(e), uintptr(s)); errno != 0 {
		return errno
	}
	return nil
}

// dropRights leaves this thread, and what it executes, no capabilities but those to keep.
func dropRights(keep rights) error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return os.NewSyscallError("capget", err)
	}
	for i := range data {
		left := uint32(keep>>(32*i)) & data[i].Permitted
		data[i] = unix.CapUserData{Effective: left, Permitted: left, Inheritable: left}
	}
	if err := unix.Capset(&header, &data[0]); err != nil {
		return os.NewSyscallError("capset", err)
	}
	// With no_new_privs, executing a program as root gives no capabilities beyond these.
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil &&
		!errors.Is(err, unix.EINVAL) { // before Linux 4.3
		return os.NewSyscallError("prctl(PR_CAP_AMBIENT)", err)
	}
	if keep.has(admin) {
		err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_RAISE, unix.CAP_NET_ADMIN, 0, 0)
		return os.NewSyscallError("prctl(PR_CAP_AMBIENT_RAISE)", err)
	}
	return nil
}

// scratch is the folder for temporary files, or one that is for all users if this thread's user may not write there.
func scratch() string {
	own := os.TempDir()
	for _, folder := range []string{own, "/tmp", "/var/tmp", "/dev/shm"} {
		if unix.Faccessat(unix.AT_FDCWD, folder, unix.W_OK|unix.X_OK, unix.AT_EACCESS) == nil {
			return folder
		}
	}
	return own
}

// Supported says what the kernel enforces for programs that this process starts.
func Supported() Support {
	var s Support
	if abi, err := landlock(); err != nil {
		s.Files = err.Error()
	} else if abi < 1 {
		s.Files = "no Landlock"
	}
	if err := tryFilterSockets(); err != nil {
		s.Peers = strings.TrimPrefix(err.Error(), ErrUnsupported.Error()+": ")
	}
	if unix.Geteuid() == 0 && !current().has(changingUser) {
		s.User = "root's rights are incomplete here"
	}
	return s
}

// libraries are the files that running a program takes on the usual systems. None of them is secret.
func libraries() []string {
	return []string{
		"/lib", "/lib32", "/lib64", "/libx32", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libx32", "/usr/libexec",
		"/usr/local/lib", "/usr/local/lib64", "/etc/ld.so.cache", "/etc/ld.so.preload", "/etc/localtime",
		"/usr/share/zoneinfo", "/etc/nsswitch.conf", "/etc/services", "/etc/protocols", "/dev/urandom", "/dev/random",
	}
}

// readable are further files of the system for programs that read no files for their peers.
func readable() []string {
	return []string{
		"/usr", "/bin", "/sbin", "/proc", "/sys", "/etc/hosts", "/etc/resolv.conf", "/etc/passwd", "/etc/group",
	}
}

// The accesses of Landlock. accessABI1 are all of its first version (linux/landlock.h).
const (
	accessRead    = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR | unix.LANDLOCK_ACCESS_FS_EXECUTE
	accessDevice  = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE
	accessScratch = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE
	accessABI1 = 1<<13 - 1
)

// restrictFiles limits the files and ports of this thread and what it executes. The error wraps ErrUnsupported where
// the kernel has no Landlock.
func restrictFiles(program, scratch string, o Options) error {
	abi, err := landlock()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	r := ruleset{files: accessABI1}
	if abi >= 2 {
		r.files |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if abi >= 3 {
		r.files |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if abi >= 4 && len(o.Ports) > 0 {
		r.net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if abi >= 5 {
		r.files |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if abi >= 6 {
		r.scopes = unix.LANDLOCK_SCOPE_SIGNAL | unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
	}
	if err := r.make(); err != nil {
		return err
	}
	defer func() { _ = unix.Close(r.fd) }()
	read := libraries()
	if !o.Strict {
		read = append(read, readable()...)
	}
	// A program of another prefix has its libraries beside its own folder: /opt/x/bin and /opt/x/lib.
	real, err := filepath.EvalSymlinks(program)
	if err != nil {
		return err
	}
	for _, path := range append(read, program, real, filepath.Join(filepath.Dir(real), "..", "lib")) {
		if err := r.allow(path, accessRead); err != nil {
			return err
		}
	}
	if err := r.allow("/dev/null", accessDevice); err != nil {
		return err
	}
	if scratch != "" {
		if err := r.allow(scratch, accessScratch|r.files&unix.LANDLOCK_ACCESS_FS_TRUNCATE); err != nil {
			return err
		}
	}
	if r.net != 0 {
		for _, port := range o.Ports {
			if err := r.allowBind(port); err != nil {
				return err
			}
		}
	}
	return r.enforce()
}

// notThere says that a path does not exist or cannot be reached, which leaves the program without it.
func notThere(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENOTDIR)
}
