package capture

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"nearfar/internal/declare/check"
)

// A Watch is packet sockets on a device. The kernel copies headers into their rings until these are full, and counts
// packets afterwards. No process runs for that, and nobody is woken.
type Watch struct {
	device   string
	arriving bool
	ends     Ends
	rings    []*ring
}

// The ring of a class.
const (
	frameSize  = 320      // bytes: 80 of the kernel's, and headers
	blockSize  = 64 << 10 // bytes
	blocks     = 10
	sizeHeader = int(unsafe.Sizeof(unix.Tpacket2Hdr{}))
)

// A ring is a packet socket with frames that the kernel fills one after the other, each with the beginning of a packet.
type ring struct {
	kind   int
	socket int
	memory []byte
	// frame is how many bytes a frame has, blocks how many blocks of frames there are.
	frame, blocks int
}

// frames is how many frames there are.
func (r *ring) frames() int { return r.blocks * (blockSize / r.frame) }

// at is a frame.
func (r *ring) at(i int) []byte {
	each := blockSize / r.frame
	return r.memory[i/each*blockSize+i%each*r.frame:][:r.frame]
}

// Begin begins to watch a device of the calling thread's network namespace. The caller calls End, on any thread.
func Begin(o Options) (*Watch, error) {
	ends, err := o.tidy()
	if err != nil {
		return nil, err
	}
	device, err := net.InterfaceByName(o.Device)
	if err != nil {
		return nil, fmt.Errorf("device %s: %w", o.Device, err)
	}
	w := &Watch{device: o.Device, arriving: o.Arriving, ends: ends}
	programs := map[int][]bpf.Instruction{plain: plainFilter(ends), tunnel: tunnelFilter(ends)}
	if outer, err := o.Outer.tidy(); err == nil {
		programs[hidden] = hiddenFilter(outer)
	}
	for kind := plain; kind <= hidden; kind++ {
		if programs[kind] == nil {
			continue
		}
		r, err := newRing(kind, programs[kind], device.Index, o.Arriving)
		if err != nil {
			w.close()
			return nil, err
		}
		w.rings = append(w.rings, r)
	}
	return w, nil
}

// newRing opens the socket of a class.
func newRing(kind int, program []bpf.Instruction, device int, arriving bool) (*ring, error) {
	r, err := openRing("watching a device")
	if err != nil {
		return nil, err
	}
	r.kind, r.frame, r.blocks = kind, frameSize, blocks
	if err := r.prepare(program, device, arriving); err != nil {
		r.close()
		return nil, fmt.Errorf("packet socket: %w", err)
	}
	return r, nil
}

// openRing opens a packet socket. what says for what, if that is not allowed.
func openRing(what string) (*ring, error) {
	// Without a protocol nothing arrives until the socket is bound.
	socket, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if errors.Is(err, unix.EPERM) {
		return nil, errors.New(what + " needs root or CAP_NET_RAW")
	}
	if err != nil {
		return nil, os.NewSyscallError("packet socket", err)
	}
	return &ring{socket: socket}, nil
}

// prepare gives the socket its filter and its frames, and binds it to the device. arriving leaves out packets that
// leave by the device.
func (r *ring) prepare(program []bpf.Instruction, device int, arriving bool) error {
	raw, err := bpf.Assemble(program)
	if err != nil {
		return err
	}
	code := make([]unix.SockFilter, len(raw))
	for i, c := range raw {
		code[i] = unix.SockFilter{Code: c.Op, Jt: c.Jt, Jf: c.Jf, K: c.K}
	}
	attached := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	if err := unix.SetsockoptSockFprog(r.socket, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &attached); err != nil {
		return fmt.Errorf("the filter: %w", err)
	}
	// After this nothing can remove the filter any more.
	if err := unix.SetsockoptInt(r.socket, unix.SOL_SOCKET, unix.SO_LOCK_FILTER, 1); err != nil {
		return fmt.Errorf("the filter: %w", err)
	}
	if arriving {
		if err := unix.SetsockoptInt(r.socket, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1); err != nil {
			return fmt.Errorf("arriving packets alone: %w", err)
		}
	}
	if err := unix.SetsockoptInt(r.socket, unix.SOL_PACKET, unix.PACKET_VERSION, unix.TPACKET_V2); err != nil {
		return fmt.Errorf("the ring: %w", err)
	}
	err = unix.SetsockoptTpacketReq(r.socket, unix.SOL_PACKET, unix.PACKET_RX_RING, &unix.TpacketReq{
		Block_size: blockSize, Block_nr: uint32(r.blocks), Frame_size: uint32(r.frame), Frame_nr: uint32(r.frames()),
	})
	if err != nil {
		return fmt.Errorf("the ring: %w", err)
	}
	r.memory, err = unix.Mmap(r.socket, 0, r.blocks*blockSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("the ring: %w", err)
	}
	return unix.Bind(r.socket, &unix.SockaddrLinklayer{Protocol: networkOrder(unix.ETH_P_ALL), Ifindex: device})
}

// networkOrder converts to the byte order of the network.
func networkOrder(v uint16) uint16 {
	b := [2]byte{byte(v >> 8), byte(v)}
	return *(*uint16)(unsafe.Pointer(&b))
}

// End ends the watch, and says what was seen since Begin.
func (w *Watch) End() check.Wire {
	defer w.close()
	classes := make([]class, 0, len(w.rings))
	for _, r := range w.rings {
		c, err := r.read()
		if err != nil {
			return check.Wire{Device: w.device, Problem: err.Error()}
		}
		classes = append(classes, c)
	}
	return sum(w.device, w.arriving, classes, w.ends)
}

func (w *Watch) close() {
	for _, r := range w.rings {
		r.close()
	}
	w.rings = nil
}

// read reads the ring, from its beginning to the first frame that the kernel has not filled.
func (r *ring) read() (class, error) {
	c := class{kind: r.kind}
	counted, err := unix.GetsockoptTpacketStats(r.socket, unix.SOL_PACKET, unix.PACKET_STATISTICS)
	if err != nil {
		return c, fmt.Errorf("the packets' number: %w", err)
	}
	c.total = uint64(counted.Packets)
	for i := range r.frames() {
		frame := r.at(i)
		header := (*unix.Tpacket2Hdr)(unsafe.Pointer(&frame[0]))
		if atomic.LoadUint32(&header.Status)&unix.TP_STATUS_USER == 0 {
			break
		}
		from := min(max(int(header.Net), sizeHeader), frameSize)
		to := min(from+int(header.Snaplen), frameSize)
		c.first = append(c.first, seen{headers: append([]byte(nil), frame[from:to]...), length: int(header.Len)})
	}
	return c, nil
}

func (r *ring) close() {
	if r.memory != nil {
		_ = unix.Munmap(r.memory)
		r.memory = nil
	}
	if r.socket >= 0 {
		_ = unix.Close(r.socket)
		r.socket = -1
	}
}
