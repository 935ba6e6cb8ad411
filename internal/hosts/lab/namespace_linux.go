package lab

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// A namespace is a network namespace. An open file holds it; it has no name in the file system.
type namespace struct {
	name string
	file *os.File
	// inode identifies it in /proc/PID/ns/net.
	inode uint64
}

// onThread runs f on a new thread, which ends with f: f may leave the thread in any namespace.
func onThread(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked
		done <- f()
	}()
	return <-done
}

// newNamespace makes a network namespace that sends nothing by itself.
func newNamespace(name string) (*namespace, error) {
	ns := &namespace{name: name}
	err := onThread(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return os.NewSyscallError("unshare", err)
		}
		var err error
		if ns.file, err = os.Open("/proc/thread-self/ns/net"); err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Fstat(int(ns.file.Fd()), &st); err != nil {
			return os.NewSyscallError("fstat", err)
		}
		ns.inode = st.Ino
		return quiet()
	})
	if err != nil {
		ns.close()
		return nil, fmt.Errorf("making the namespace of %s: %w", name, err)
	}
	return ns, nil
}

// quiet configures the calling thread's new namespace: IPv6 only on loopback (see addIPv6 for other devices), no memory
// of earlier connections, and the loopback interface up.
func quiet() error {
	for _, s := range []struct{ path, value string }{
		{"ipv6/conf/all/disable_ipv6", "1"},
		{"ipv6/conf/default/disable_ipv6", "1"},
		// Programs look for [::1] to find out whether there is IPv6 at all.
		{"ipv6/conf/lo/disable_ipv6", "0"},
		// No device makes a link-local address, which it would test and announce.
		{"ipv6/conf/default/addr_gen_mode", "1"},
		{"ipv6/conf/default/accept_dad", "0"},
		{"ipv6/conf/default/accept_ra", "0"},
		{"ipv4/conf/all/rp_filter", "0"},
		{"ipv4/conf/default/rp_filter", "0"},
		// Otherwise what one trial learned of the path (ssthresh, RTT) would change the next trial's start.
		{"ipv4/tcp_no_metrics_save", "1"},
	} {
		// A kernel without IPv6 has no such file, and needs none.
		if err := sysctl(s.path, s.value); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return err
	}
	return netlink.LinkSetUp(lo)
}

// sysctl writes a network setting of the calling thread's namespace: /proc/sys/net belongs to the namespace of the
// thread that opens it.
func sysctl(path, value string) error {
	return os.WriteFile("/proc/sys/net/"+path, []byte(value), 0)
}

// do runs f on a thread in the namespace, with a netlink connection there.
func (ns *namespace) do(f func(h *netlink.Handle) error) error {
	err := onThread(func() error {
		if err := ns.enter(); err != nil {
			return err
		}
		h, err := netlink.NewHandle(unix.NETLINK_ROUTE)
		if err != nil {
			return err
		}
		defer h.Close()
		return f(h)
	})
	if err != nil {
		return fmt.Errorf("%s: %w", ns.name, err)
	}
	return nil
}

// enter moves the calling thread into the namespace. The goroutine must be locked to the thread and never unlock it.
func (ns *namespace) enter() error {
	return os.NewSyscallError("setns", unix.Setns(int(ns.file.Fd()), unix.CLONE_NEWNET))
}

// close lets the kernel free the namespace. It does nothing if there is none.
func (ns *namespace) close() { _ = ns.file.Close() }

// bringUp sets a device up by its name.
func bringUp(h *netlink.Handle, device string) error {
	l, err := h.LinkByName(device)
	if err != nil {
		return fmt.Errorf("%s: %w", device, err)
	}
	return h.LinkSetUp(l)
}
