package confine

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// landlock is the version of the kernel's Landlock (landlock(7)); the error says why there is none.
func landlock() (abi int, err error) {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	switch {
	case errno == 0:
		return int(v), nil
	case errors.Is(errno, unix.ENOSYS):
		return 0, errors.New("the kernel has no Landlock (it came with Linux 5.13)")
	case errors.Is(errno, unix.EOPNOTSUPP):
		return 0, errors.New("the kernel's Landlock is switched off (lsm= on its command line)")
	}
	return 0, fmt.Errorf("landlock_create_ruleset: %w", errno)
}

// A ruleset is a set of Landlock's rules before they are enforced.
type ruleset struct {
	// files, net and scopes are what is forbidden unless a rule allows it.
	files, net, scopes uint64
	fd                 int
}

func (r *ruleset) make() error {
	// Older kernels accept longer attributes if what they do not know is 0.
	attributes := [3]uint64{r.files, r.net, r.scopes}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attributes)),
		unsafe.Sizeof(attributes), 0)
	if errno != 0 {
		return os.NewSyscallError("landlock_create_ruleset", errno)
	}
	r.fd = int(fd)
	return nil
}

// allow allows an access to a file, or to all below a folder. A path that does not exist needs no rule.
func (r *ruleset) allow(path string, access uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		if notThere(err) {
			return nil
		}
		return &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer func() { _ = unix.Close(fd) }()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return &os.PathError{Op: "stat", Path: path, Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		access &= accessDevice | unix.LANDLOCK_ACCESS_FS_EXECUTE // a file has no other
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: access & r.files, Parent_fd: int32(fd)}
	return r.add(unix.LANDLOCK_RULE_PATH_BENEATH, unsafe.Pointer(&rule), path)
}

// ruleNetPort is LANDLOCK_RULE_NET_PORT of linux/landlock.h.
const ruleNetPort = 2

func (r *ruleset) allowBind(port int) error {
	rule := [2]uint64{unix.LANDLOCK_ACCESS_NET_BIND_TCP, uint64(port)}
	return r.add(ruleNetPort, unsafe.Pointer(&rule), fmt.Sprint("port ", port))
}

func (r *ruleset) add(kind uintptr, rule unsafe.Pointer, what string) error {
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(r.fd), kind, uintptr(rule), 0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("landlock_add_rule for %s: %w", what, errno)
	}
	return nil
}

// enforce restricts this thread. It needs no_new_privs.
func (r *ruleset) enforce() error {
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(r.fd), 0, 0); errno != 0 {
		return os.NewSyscallError("landlock_restrict_self", errno)
	}
	return nil
}
