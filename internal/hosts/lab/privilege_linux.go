package lab

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// privileged says whether this process can make namespaces and configure networks without a user namespace.
func privileged() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return false
	}
	for _, c := range []uint{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_NET_RAW} {
		if data[c/32].Effective&(1<<(c%32)) == 0 {
			return false
		}
	}
	return true
}

// A restriction is a setting of the machine that can forbid user namespaces.
type restriction struct {
	path    string // the file that shows it
	forbids string // the value that forbids
	advice  string
}

func restrictions() []restriction {
	return []restriction{
		{"/proc/sys/kernel/unprivileged_userns_clone", "0",
			"sysctl kernel.unprivileged_userns_clone=0 forbids user namespaces to ordinary users; " +
				"set it to 1, or run nearfar as root"},
		{"/proc/sys/user/max_user_namespaces", "0",
			"sysctl user.max_user_namespaces=0 forbids user namespaces; set it to 10000, say"},
		{"/proc/sys/user/max_net_namespaces", "0",
			"sysctl user.max_net_namespaces=0 forbids network namespaces; set it to 10000, say"},
		{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1",
			"sysctl kernel.apparmor_restrict_unprivileged_userns=1 takes all rights from an ordinary user's " +
				"namespaces; " +
				"set it to 0, or give this program an AppArmor profile that allows userns, or run it as root"},
	}
}

// scarce says which limit of the process or machine caused a failure, and how to raise it; "" for other causes.
func scarce(err error) string {
	switch {
	case errors.Is(err, unix.EMFILE):
		return "this program may not have more files open; raise the limit (ulimit -n)"
	case errors.Is(err, unix.ENFILE):
		return "this machine may not have more files open; raise sysctl fs.file-max"
	case errors.Is(err, unix.EAGAIN):
		return "no more processes are allowed; raise the limit (ulimit -u, or pids.max of the control group)"
	case errors.Is(err, unix.ENOMEM):
		return "there is too little memory"
	}
	return ""
}

// forbidden turns a failure to open a lab into one message that names the setting which forbids it. A resource that ran
// out forbids nothing.
func forbidden(err error, userNamespace bool) error {
	if advice := scarce(err); advice != "" {
		return errorf("%w; %s", err, advice)
	}
	return fmt.Errorf("%w: %w; %s", ErrUnsupported, err, explain(err, userNamespace, os.ReadFile))
}

// explain says what forbids a lab. readFile reads the settings.
func explain(err error, userNamespace bool, readFile func(string) ([]byte, error)) string {
	if userNamespace || errors.Is(err, unix.ENOSPC) {
		for _, r := range restrictions() {
			if b, readErr := readFile(r.path); readErr == nil && strings.TrimSpace(string(b)) == r.forbids {
				return r.advice
			}
		}
	}
	switch {
	case errors.Is(err, unix.ENOSPC):
		return "a limit on the number of namespaces is reached (sysctl user.max_*_namespaces); raise it"
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS):
		return "this kernel is built without namespaces (CONFIG_USER_NS, CONFIG_NET_NS, CONFIG_PID_NS)"
	case userNamespace:
		return "no sysctl forbids it, so this seems to be a container whose seccomp profile or capabilities do; " +
			"run nearfar as root outside, or give the container CAP_SYS_ADMIN and CAP_NET_ADMIN"
	}
	return "running as root did not help: this seems to be a container that forbids it; " +
		"run nearfar outside, or in a container that may make namespaces and mount"
}
