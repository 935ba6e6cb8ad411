package confine

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A program whose peers are limited does not make its internet sockets itself: the kernel hands each of its calls of
// socket(2) to another process (seccomp_unotify(2)), which makes the socket, puts a filter on it that the program
// cannot remove, and gives it to the program. Connections that the socket accepts have the filter too. All other system
// calls are the program's own.

// architecture is the audit name (linux/audit.h) of this architecture; false for one that nearfar is not built for.
func architecture() (uint32, bool) {
	switch runtime.GOARCH {
	case "amd64":
		return unix.AUDIT_ARCH_X86_64, true
	case "arm64":
		return unix.AUDIT_ARCH_AARCH64, true
	}
	return 0, false
}

// Offsets in struct seccomp_data (linux/seccomp.h). The first argument of socket is an int: its low half comes first,
// on the little-endian architectures above.
const (
	dataNumber = 0
	dataArch   = 4
	dataFirst  = 16
)

// x32 marks the system calls of amd64's third binary interface (linux/unistd.h, __X32_SYSCALL_BIT).
const x32 = 0x40000000

// socketCalls asks the listener about sockets of IP. Other ways to make one do not exist for the program: system calls
// of other architectures, and io_uring.
func socketCalls(arch uint32) []unix.SockFilter {
	const missing = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	return []unix.SockFilter{
		load(unix.BPF_W, dataArch),
		equal(arch, 1, 0),
		ret(missing),
		load(unix.BPF_W, dataNumber),
		{Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, Jt: 0, Jf: 1, K: x32},
		ret(missing),
		equal(unix.SYS_IO_URING_SETUP, 0, 1),
		ret(missing),
		equal(unix.SYS_SOCKET, 1, 0),
		ret(unix.SECCOMP_RET_ALLOW),
		load(unix.BPF_W, dataFirst),
		equal(unix.AF_INET, 2, 0),
		equal(unix.AF_INET6, 1, 0),
		ret(unix.SECCOMP_RET_ALLOW),
		ret(unix.SECCOMP_RET_USER_NOTIF),
	}
}

// install makes the kernel ask about the sockets of this thread and of what it executes. It needs no_new_privs.
func install() (listener int, err error) {
	arch, known := architecture()
	if !known {
		return -1, fmt.Errorf("%w: filters for sockets are not there for %s", ErrUnsupported, runtime.GOARCH)
	}
	program := socketCalls(arch)
	p := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER,
		uintptr(unsafe.Pointer(&p)))
	if errno != 0 {
		return -1, fmt.Errorf("%w: seccomp with a listener (it came with Linux 5.0): %w", ErrUnsupported, errno)
	}
	return int(fd), nil
}

// filterSockets starts the process that makes the sockets, and installs the filter that asks it.
func filterSockets(o Options) error {
	// Before anything is installed: a program that asks a process which has given up gets no socket at all (ENOSYS).
	if err := tryFilterSockets(); err != nil {
		return err
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socketpair", err)
	}
	defer func() { _ = unix.Close(pair[0]) }()
	theirs := os.NewFile(uintptr(pair[1]), "listener")
	args := Options{Peers: o.Peers, Within: o.Within}.Args()
	args[0] = SocketsVerb
	maker := exec.Command("/proc/self/exe", args[:len(args)-1]...) //nolint:noctx // it ends with the program
	maker.ExtraFiles = []*os.File{theirs}
	maker.Dir = "/"
	if err := maker.Start(); err != nil {
		return fmt.Errorf("starting the process that makes the sockets: %w", err)
	}
	_ = theirs.Close()
	listener, err := install()
	if err != nil {
		return err // the other process ends with its socket
	}
	defer func() { _ = unix.Close(listener) }()
	if err := unix.Sendmsg(pair[0], []byte{0}, unix.UnixRights(listener), nil, 0); err != nil {
		return os.NewSyscallError("sendmsg", err)
	}
	answer := make([]byte, 512)
	n, err := unix.Read(pair[0], answer)
	switch {
	case err != nil:
		return os.NewSyscallError("read", err)
	case n == 0:
		return errors.New("the process that makes the sockets has ended")
	case answer[0] != 0:
		return fmt.Errorf("%w: %s", ErrUnsupported,
			strings.TrimPrefix(string(answer[:n]), ErrUnsupported.Error()+": "))
	}
	return nil
}

// tryFilterSockets says why filterSockets would fail. It tries on a thread of its own.
func tryFilterSockets() error {
	failed := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with its filter
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			failed <- os.NewSyscallError("prctl(PR_SET_NO_NEW_PRIVS)", err)
			return
		}
		listener, err := install()
		if err == nil {
			// The listener answers nobody, so this thread must make no socket of IP any more.
			err = canAdd(listener)
			_ = unix.Close(listener)
		}
		failed <- err
	}()
	if err := <-failed; err != nil {
		return err
	}
	return tryFilter([]unix.SockFilter{ret(take)})
}

// A request is struct seccomp_notif of linux/seccomp.h.
type request struct {
	id    uint64
	pid   uint32
	flags uint32
	data  struct {
		number  int32
		arch    uint32
		pointer uint64
		args    [6]uint64
	}
}

// A response is struct seccomp_notif_resp.
type response struct {
	id    uint64
	value int64
	err   int32
	flags uint32
}

// An addition is struct seccomp_notif_addfd.
type addition struct {
	id       uint64
	flags    uint32
	fd       uint32
	newFD    uint32
	newFlags uint32
}

func control(fd int, call uint, p unsafe.Pointer) (int, error) {
	for {
		n, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), uintptr(call), uintptr(p))
		if errno == unix.EINTR {
			continue
		}
		if errno != 0 {
			return 0, errno
		}
		return int(n), nil
	}
}

// canAdd says whether the kernel can give sockets to another process (Linux 5.9). No request has the number 0, so that
// a kernel which can says that.
func canAdd(listener int) error {
	a := addition{fd: 0}
	if _, err := control(listener, unix.SECCOMP_IOCTL_NOTIF_ADDFD, unsafe.Pointer(&a)); err != nil &&
		!errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("%w: the kernel cannot give sockets to a program (it came with Linux 5.9): %w",
			ErrUnsupported, err)
	}
	return nil
}

// ServeSockets makes the sockets of a program until it has ended. The program's starter is at descriptor 3.
func ServeSockets(o Options) error {
	const starter = 3
	listener, err := receive(starter)
	if err != nil {
		return err
	}
	filter := peerFilter(o.Peers, o.Within)
	err = canAdd(listener)
	if err == nil {
		err = tryFilter(filter)
	}
	started := []byte{0}
	if err != nil {
		started = []byte(err.Error())
	}
	if _, werr := unix.Write(starter, started); werr != nil || err != nil {
		return errors.Join(err, werr)
	}
	_ = unix.Close(starter)
	for {
		ready := []unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}} //nolint:gosec // descriptors are small
		if _, err := unix.Poll(ready, -1); err != nil && !errors.Is(err, unix.EINTR) {
			return os.NewSyscallError("poll", err)
		}
		if ready[0].Revents&unix.POLLIN == 0 {
			if ready[0].Revents != 0 {
				return nil // the program and all that it started have ended
			}
			continue
		}
		var r request
		if _, err := control(listener, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&r)); err != nil {
			continue // whoever asked has ended
		}
		answer(listener, r, filter)
	}
}

// receive takes a descriptor from a socket.
func receive(from int) (int, error) {
	b, extra := make([]byte, 1), make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(from, b, extra, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return -1, os.NewSyscallError("recvmsg", err)
	}
	messages, err := unix.ParseSocketControlMessage(extra[:n])
	if err != nil || len(messages) != 1 {
		return -1, errors.New("the starter has ended")
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return -1, errors.New("the starter sent no descriptor")
	}
	return fds[0], nil
}

// answer gives a program the socket that it asks for, or the error.
func answer(listener int, r request, filter []unix.SockFilter) {
	given, err := give(listener, r, filter)
	answer := response{id: r.id, value: int64(given)}
	if err != nil {
		errno := unix.EACCES
		_ = errors.As(err, &errno)
		answer = response{id: r.id, err: -int32(errno)}
	}
	// An error says that whoever asked has ended.
	_, _ = control(listener, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&answer))
}

// give makes the socket that a program asks for. The result is the program's descriptor.
func give(listener int, r request, filter []unix.SockFilter) (given int, err error) {
	domain, kind, protocol := int(int32(r.data.args[0])), int(int32(r.data.args[1])), int(int32(r.data.args[2]))
	if plain := kind &^ (unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK); plain != unix.SOCK_STREAM && plain != unix.SOCK_DGRAM {
		return 0, unix.EPERM
	}
	// Filters are there for these, and Landlock's limits for TCP: no Multipath TCP, no SCTP.
	if protocol != 0 && protocol != unix.IPPROTO_TCP && protocol != unix.IPPROTO_UDP {
		return 0, unix.EPROTONOSUPPORT
	}
	fd, err := unix.Socket(domain, kind|unix.SOCK_CLOEXEC, protocol)
	if err != nil {
		return 0, err
	}
	defer func() { _ = unix.Close(fd) }()
	if err := attach(fd, filter); err != nil {
		return 0, err
	}
	a := addition{id: r.id, fd: uint32(fd)}
	if kind&unix.SOCK_CLOEXEC != 0 {
		a.newFlags = unix.O_CLOEXEC
	}
	return control(listener, unix.SECCOMP_IOCTL_NOTIF_ADDFD, unsafe.Pointer(&a))
}

// attach puts the filter on a socket, for good.
func attach(fd int, filter []unix.SockFilter) error {
	p := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &p); err != nil {
		return err
	}
	return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_LOCK_FILTER, 1)
}

// tryFilter says why the kernel does not take a filter. Newer ones take those of TCP sockets only with CAP_NET_ADMIN.
func tryFilter(filter []unix.SockFilter) error {
	for _, kind := range []int{unix.SOCK_DGRAM, unix.SOCK_STREAM} {
		fd, err := unix.Socket(unix.AF_INET, kind|unix.SOCK_CLOEXEC, 0)
		if errors.Is(err, unix.EAFNOSUPPORT) {
			fd, err = unix.Socket(unix.AF_INET6, kind|unix.SOCK_CLOEXEC, 0)
		}
		if err != nil {
			return os.NewSyscallError("socket", err)
		}
		err = attach(fd, filter)
		_ = unix.Close(fd)
		switch {
		case errors.Is(err, unix.EPERM):
			return fmt.Errorf("%w: this kernel lets only root (CAP_NET_ADMIN) put filters on TCP sockets",
				ErrUnsupported)
		case err != nil:
			return fmt.Errorf("%w: a filter on a socket: %w", ErrUnsupported, err)
		}
	}
	return nil
}
