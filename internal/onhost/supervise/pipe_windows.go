package supervise

import (
	"crypto/rand"
	"io"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// pipeBuffer is the size of a pipe's buffer, as on Linux.
const pipeBuffer = 64 << 10

// pipe makes a pipe. Our end is asynchronous and so has deadlines, which the ends of os.Pipe do not have on Windows.
// Windows has asynchronous pipes only with names. The name is random, only one connection is possible, and it is made
// here.
func pipe(weRead bool) (ours, theirs *os.File, err error) {
	name := `\\.\pipe\nearfar-` + rand.Text()
	name16, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return nil, nil, err
	}
	direction, access := uint32(windows.PIPE_ACCESS_OUTBOUND), uint32(windows.GENERIC_READ|windows.FILE_WRITE_ATTRIBUTES)
	if weRead {
		direction, access = windows.PIPE_ACCESS_INBOUND, windows.GENERIC_WRITE|windows.FILE_READ_ATTRIBUTES
	}
	server, err := windows.CreateNamedPipe(name16,
		direction|windows.FILE_FLAG_OVERLAPPED|windows.FILE_FLAG_FIRST_PIPE_INSTANCE,
		windows.PIPE_TYPE_BYTE|windows.PIPE_REJECT_REMOTE_CLIENTS, 1, pipeBuffer, pipeBuffer, 0, nil)
	if err != nil {
		return nil, nil, os.NewSyscallError("CreateNamedPipe", err)
	}
	client, err := windows.CreateFile(name16, access, 0, nil, windows.OPEN_EXISTING, windows.FILE_ATTRIBUTE_NORMAL, 0)
	if err != nil {
		_ = windows.CloseHandle(server)
		return nil, nil, os.NewSyscallError("CreateFile", err)
	}
	return os.NewFile(uintptr(server), name), os.NewFile(uintptr(client), name), nil
}

// createSpoolFile makes a file that the system removes when its last handle is closed, also if this process is killed.
func createSpoolFile(folder string) (*os.File, error) {
	name := folder + `\output-` + rand.Text()
	const how = os.O_RDWR | os.O_CREATE | os.O_EXCL | windows.O_FILE_FLAG_DELETE_ON_CLOSE
	return os.OpenFile(name, how, 0o600)
}

// drain copies the content of the pipe and does not wait for more.
func drain(to io.Writer, from *os.File, b []byte) {
	const maxDrain = 2 << 20 // more than a pipe can hold
	if from.SetReadDeadline(time.Time{}) != nil {
		return
	}
	raw, err := from.SyscallConn()
	if err != nil {
		return
	}
	peek := windows.NewLazySystemDLL("kernel32.dll").NewProc("PeekNamedPipe")
	for total := 0; total < maxDrain; {
		var available uint32
		err := raw.Control(func(fd uintptr) {
			if ok, _, _ := peek.Call(fd, 0, 0, 0, uintptr(unsafe.Pointer(&available)), 0); ok == 0 {
				available = 0 // all writers have closed it
			}
		})
		if err != nil || available == 0 {
			return
		}
		n, err := from.Read(b[:min(len(b), int(available))])
		total += n
		_, _ = to.Write(b[:n]) // a spool's Write never fails
		if err != nil {
			return
		}
	}
}
