package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"nearfar/internal/declare/check"
	"nearfar/internal/declare/inside"
	"nearfar/internal/onhost/host"
)

// The lab and its init exchange messages over a socket pair that keeps message boundaries: JSON of at most maxMessage
// bytes, with attached files. Every request has one reply with the same id. The reply to opWait may come much later.
const (
	maxMessage = 128 << 10
	maxFiles   = 3
	controlFD  = 3 // where the init finds its end
)

// The operations.
const (
	opSetup   = "setup"   // the first request: prepare the lab
	opBuild   = "build"   // make an arm
	opStart   = "start"   // start a process; its standard streams are attached
	opWait    = "wait"    // wait until a process has ended
	opSignal  = "signal"  // send a signal to the process group
	opServes  = "serves"  // wait until a process holds a port
	opKill    = "kill"    // kill a process and everything that it started; answered when they are gone
	opPut     = "put"     // write the attached file to a path
	opClear   = "clear"   // kill everything in a namespace
	opDrop    = "drop"    // free an arm
	opObserve = "observe" // counters of an arm
	opLook    = "look"    // what processes and wires did since the previous look
	opCount   = "count"   // counters of an arm's hosts
)

type request struct {
	ID uint64 `json:"id"`
	Op string `json:"op"`

	Setup   *setup   `json:"setup,omitempty"`
	Plan    *plan    `json:"plan,omitempty"`
	Arm     string   `json:"arm,omitempty"`
	Space   string   `json:"space,omitempty"`
	Process uint64   `json:"process,omitempty"`
	Signal  int      `json:"signal,omitempty"`
	Argv    []string `json:"argv,omitempty"`
	Env     []string `json:"env,omitempty"`
	CPUs    []int    `json:"cpus,omitempty"`
	Path    string   `json:"path,omitempty"`
	Mode    uint32   `json:"mode,omitempty"`
	// Protocol and Port are what a process is to hold, Limit how long that is awaited; 0 for as long as it lives.
	Protocol string        `json:"protocol,omitempty"`
	Port     int           `json:"port,omitempty"`
	Limit    time.Duration `json:"limit,omitempty"`
}

type reply struct {
	ID uint64 `json:"id"`
	// Error is why it failed; NotFound and Unsupported say which errors of the interface it is.
	Error       string `json:"error,omitempty"`
	NotFound    bool   `json:"not_found,omitempty"`
	Unsupported bool   `json:"unsupported,omitempty"`
	// Lost is why the lab cannot be used any more. It also comes in a message without an ID, which nobody asked for.
	Lost string `json:"lost,omitempty"`

	Facts    *Facts         `json:"facts,omitempty"`
	Places   []inside.Place `json:"places,omitempty"` // opBuild
	Elements []ElementFacts `json:"elements,omitempty"`
	Look     *look          `json:"look,omitempty"`
	Counted  *counted       `json:"counted,omitempty"`
	Process  uint64         `json:"process,omitempty"`
	Code     int            `json:"code,omitempty"`
	Signal   string         `json:"signal,omitempty"`
	// At is when a process started (opStart) or ended (opWait).
	At time.Time `json:"at,omitzero"`
	// Ended says that a process ended before it held the port, Taken that another process holds it, Expired that the
	// request's limit has passed.
	Ended   bool                 `json:"ended,omitempty"`
	Taken   *host.PortTakenError `json:"taken,omitempty"`
	Expired bool                 `json:"expired,omitempty"`
	// Seen are the packets at the client's underlay device and at the server's.
	Seen *[2]check.Wire `json:"seen,omitempty"`
}

// setup is the configuration of the init.
type setup struct {
	UserNamespace bool  `json:"user_namespace"`
	UserWire      bool  `json:"user_wire"`
	RateOnly      bool  `json:"rate_only"`
	CPUs          []int `json:"cpus"`
	ServiceCPU    int   `json:"service_cpu"`
	// WiresAnswer bounds how long the init waits for its user-space wires.
	WiresAnswer time.Duration `json:"wires_answer"`
}

// A messageConn sends and receives messages.
type messageConn struct {
	mu   sync.Mutex // held while a message is written
	conn *net.UnixConn
	buf  []byte
}

// socketPair makes both ends of a control connection. They are closed on exec.
func socketPair() (ours, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	return os.NewFile(uintptr(fds[0]), "lab control"), os.NewFile(uintptr(fds[1]), "lab control"), nil
}

// newMessageConn makes a connection of the file, and closes the file.
func newMessageConn(f *os.File) (*messageConn, error) {
	defer func() { _ = f.Close() }()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	u, ok := c.(*net.UnixConn)
	if !ok {
		_ = c.Close()
		return nil, errors.New("the control connection is not a Unix socket")
	}
	return &messageConn{conn: u, buf: make([]byte, maxMessage+1)}, nil
}

// send writes one message within the limit; 0 for no limit.
func (c *messageConn) send(limit time.Duration, message any, files ...*os.File) error {
	b, err := json.Marshal(message)
	if err != nil {
		return err
	}
	if len(b) > maxMessage {
		return fmt.Errorf("%d bytes of command line and environment: a lab takes at most %d", len(b), maxMessage)
	}
	var oob []byte
	if len(files) > 0 {
		fds := make([]int, len(files))
		for i, f := range files {
			fds[i] = int(f.Fd())
		}
		oob = unix.UnixRights(fds...)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var deadline time.Time
	if limit > 0 {
		deadline = time.Now().Add(limit)
	}
	if err := c.conn.SetWriteDeadline(deadline); err != nil {
		return err
	}
	_, _, err = c.conn.WriteMsgUnix(b, oob, nil)
	return err
}

// receive reads one message. Only one goroutine may call it. io.EOF says that the other end has closed the connection.
func (c *messageConn) receive(message any) ([]*os.File, error) {
	oob := make([]byte, unix.CmsgSpace(4*maxFiles))
	n, oobn, flags, _, err := c.conn.ReadMsgUnix(c.buf, oob)
	if err != nil {
		return nil, err
	}
	files, err := receivedFiles(oob[:oobn])
	if err == nil && n == 0 {
		err = io.EOF
	}
	if err == nil && (n > maxMessage || flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0) {
		err = errors.New("a message on the control connection is too long")
	}
	if err == nil {
		err = json.Unmarshal(c.buf[:n], message)
	}
	if err != nil {
		closeAll(files)
		return nil, err
	}
	return files, nil
}

func receivedFiles(oob []byte) ([]*os.File, error) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, err
	}
	var files []*os.File
	for i := range messages {
		fds, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			continue // not a message that carries files
		}
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), "received"))
		}
	}
	return files, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}
