package lab

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nearfar/internal/onhost/children"
	"nearfar/internal/onhost/host"
)

// A wireProcess is the init's view of the process that runs the user-space wires of an arm.
type wireProcess struct {
	mu       sync.Mutex
	requests *os.File
	replies  *bufio.Reader
	output   *os.File
	elements []int // of the path, in the order of the statistics
	process  *process
	// answer bounds how long the process may take to read a line or to answer. closing says that the arm is being
	// freed.
	answer  time.Duration
	closing atomic.Bool
	// measured are the processes that run in the arm, with the CPUs to which each is pinned.
	measured map[*process][]int
}

// errNoWires says that the user-space wires of an arm no longer forward, or do not answer.
var errNoWires = errors.New("the process that plays the wires does not answer")

// watchWires informs nearfar if the wires of an arm end before the arm.
func (s *initServer) watchWires(a *builtArm) {
	<-a.wires.process.ended
	if !a.wires.closing.Load() {
		s.send(reply{Lost: fmt.Sprintf("arm %s: the process that plays the wires ended (%s)", a.plan.Arm,
			endOf(a.wires.process.status))})
	}
}

// startWires starts the arm's user-space wires, if it has any, in one process on the service CPU.
func (s *initServer) startWires(a *builtArm) error {
	if s.facts.Wire != WireUser {
		return nil
	}
	var config []wire
	var sockets []*os.File
	var home *namespace
	defer func() { closeAll(sockets) }()
	w := &wireProcess{answer: s.setup.WiresAnswer, measured: map[*process][]int{}}
	for i := range a.plan.Spaces {
		sp := &a.plan.Spaces[i]
		if sp.Wire == nil {
			continue
		}
		home = a.namespaces[i]
		for _, device := range []string{leftPort, rightPort} {
			err := home.do(func(h *netlink.Handle) error {
				f, err := packetSocket(h, device)
				if err == nil {
					sockets = append(sockets, f)
				}
				return err
			})
			if err != nil {
				return err
			}
		}
		config = append(config, *sp.Wire)
		w.elements = append(w.elements, sp.Wire.Element)
	}
	if home == nil {
		return nil
	}
	childIn, requests, err := os.Pipe()
	if err != nil {
		return err
	}
	defer func() { _ = childIn.Close() }()
	output, childOut, err := os.Pipe()
	if err != nil {
		_ = requests.Close()
		return err
	}
	defer func() { _ = childOut.Close() }()
	w.requests, w.output, w.replies = requests, output, bufio.NewReader(output)
	a.wires = w
	path, err := children.LookPath(host.Self, host.Self)
	if err != nil {
		return err
	}
	// One thread more than can spin, so that requests are still answered. Signals would interrupt the spinning threads.
	env := []string{fmt.Sprintf("GOMAXPROCS=%d", 2+len(s.setup.CPUs)), "GODEBUG=asyncpreemptoff=1"}
	files := append([]*os.File{childIn, childOut, os.Stderr}, sockets...)
	w.process = &process{}
	argv, cpus := []string{host.Self, WireVerb}, []int{s.setup.ServiceCPU}
	if err := s.processes.start(w.process, home, path, argv, env, cpus, files); err != nil {
		return fmt.Errorf("starting the wires: %w", err)
	}
	if err := json.NewEncoder(requests).Encode(config); err != nil {
		return fmt.Errorf("configuring the wires: %w", err)
	}
	_, err = w.stats() // an answer proves that it runs
	return err
}

// socketBuffer is the size of both buffers of a packet socket, in bytes. An ordinary user gets at most the machine's
// limit.
const socketBuffer = 32 << 20

// packetSocket opens an end of a wire on a device of the calling thread's namespace.
func packetSocket(h *netlink.Handle, device string) (*os.File, error) {
	l, err := h.LinkByName(device)
	if err != nil {
		return nil, err
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("packet socket: %w", err)
	}
	for _, o := range []struct {
		level, name int
		what        string
	}{
		{unix.SOL_PACKET, unix.PACKET_VNET_HDR, "PACKET_VNET_HDR"},
		{unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, "PACKET_IGNORE_OUTGOING"},
		{unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, "SO_TIMESTAMPNS"},
	} {
		if err := unix.SetsockoptInt(fd, o.level, o.name, 1); err != nil {
			_ = unix.Close(fd)
			return nil, fmt.Errorf("packet socket: %s: %w", o.what, err)
		}
	}
	for _, o := range [][2]int{{unix.SO_RCVBUFFORCE, unix.SO_RCVBUF}, {unix.SO_SNDBUFFORCE, unix.SO_SNDBUF}} {
		err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, o[0], socketBuffer)
		if errors.Is(err, unix.EPERM) {
			err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, o[1], socketBuffer)
		}
		if err != nil {
			_ = unix.Close(fd)
			return nil, fmt.Errorf("packet socket: buffer: %w", err)
		}
	}
	// Bound last: from here on frames come in.
	address := &unix.SockaddrLinklayer{Protocol: networkOrder(unix.ETH_P_ALL), Ifindex: l.Attrs().Index}
	if err := unix.Bind(fd, address); err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("packet socket: bind to %s: %w", device, err)
	}
	return os.NewFile(uintptr(fd), "wire "+device), nil
}

// networkOrder converts to network byte order.
func networkOrder(v uint16) uint16 {
	b := [2]byte{byte(v >> 8), byte(v)}
	return binary.NativeEndian.Uint16(b[:])
}

// follow informs the wires about a process that has just been started, and about its end. cpus are the CPUs to which it
// is pinned; service is the wires' own CPU.
func (w *wireProcess) follow(p *process, cpus []int, service int) error {
	shares := slices.Contains(cpus, service)
	if shares {
		if err := w.tell(shareLine); err != nil {
			return err
		}
	}
	// The CPU must not sleep between two packets.
	for _, c := range cpus {
		if err := w.tell(fmt.Sprint(awakeLine, c)); err != nil {
			return err
		}
	}
	if err := w.place(func() { w.measured[p] = cpus }); err != nil {
		return err
	}
	go func() {
		<-p.ended
		// These fail only if the wires have ended too.
		if shares {
			_ = w.tell(unshareLine)
		}
		_ = w.place(func() { delete(w.measured, p) })
	}()
	return nil
}

// place changes the set of measured processes, and moves the wires accordingly. If the set is empty, they stay where
// they are.
func (w *wireProcess) place(change func()) error {
	w.mu.Lock()
	change()
	cpu, some := apart, false
	for _, cpus := range w.measured {
		if len(cpus) != 1 || some && cpus[0] != cpu {
			cpu, some = apart, true
			break
		}
		cpu, some = cpus[0], true
	}
	w.mu.Unlock()
	switch {
	case !some:
		return nil
	case cpu == apart:
		return w.tell(apartLine)
	}
	return w.tell(fmt.Sprint(besideLine, cpu))
}

func (w *wireProcess) tell(line string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.write(line)
}

// write writes a line; the lock is held.
func (w *wireProcess) write(line string) error {
	err := w.requests.SetWriteDeadline(time.Now().Add(w.answer))
	if err == nil {
		_, err = w.requests.WriteString(line + "\n")
	}
	return w.failed(err)
}

// failed says why a request to the wires failed: they have ended, or hang.
func (w *wireProcess) failed(err error) error {
	switch {
	case err == nil:
		return nil
	case !errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("%w: %w", errNoWires, err)
	case stopped(w.process.pid):
		return fmt.Errorf("%w: it is stopped (SIGSTOP)", errNoWires)
	}
	return fmt.Errorf("%w: nothing within %v", errNoWires, w.answer)
}

// stats asks for the statistics of each wire since its start, by element.
func (w *wireProcess) stats() (map[int]*WireStats, error) {
	stats, err := w.ask(statsLine)
	if err != nil {
		return nil, err
	}
	byElement := map[int]*WireStats{}
	for i, e := range w.elements {
		byElement[e] = &stats[i]
	}
	return byElement, nil
}

// recent asks for the statistics of each wire since recent was last called.
func (w *wireProcess) recent() ([]WireStats, error) { return w.ask(recentLine) }

func (w *wireProcess) ask(request string) ([]WireStats, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.write(request); err != nil {
		return nil, err
	}
	if err := w.output.SetReadDeadline(time.Now().Add(w.answer)); err != nil {
		return nil, w.failed(err)
	}
	line, err := w.replies.ReadBytes('\n')
	if err != nil {
		return nil, w.failed(err)
	}
	var stats []WireStats
	if err := json.Unmarshal(line, &stats); err != nil || len(stats) != len(w.elements) {
		return nil, fmt.Errorf("the wires answered %q", line)
	}
	return stats, nil
}

func (w *wireProcess) close() {
	_ = w.requests.Close()
	_ = w.output.Close()
}
