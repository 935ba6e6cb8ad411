package lab

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"nearfar/internal/onhost/machine"
)

// A user-space wire forwards frames between two packet sockets, one on each port of its namespace. The sockets hand
// over super-packets and unfinished checksums as they are (PACKET_VNET_HDR), and the time at which each frame arrived.
// A frame leaves at arrival + serialisation at the wire's rate + delay + wireBase.
const (
	// wireBase is what every wire adds to its delay, in each direction. It is longer than forwarding takes, so that
	// frames leave on time with any delay: two wires differ by the difference of their delays.
	wireBase = 40 * time.Microsecond
	// spinTime is how long a wire without traffic keeps looking for more before it sleeps.
	spinTime = 2 * time.Millisecond
	// wakeMargin is how long before a frame is due the wire wakes.
	wakeMargin = time.Millisecond
	// shareMargin replaces wakeMargin if measured processes run on the wire's own CPU.
	shareMargin = 20 * time.Microsecond
	// maxFrame is the longest frame with its virtio header: 64 KiB of IP packet, Ethernet and VLAN headers.
	maxFrame = vnetHeaderLen + 18 + 65536
	// vnetHeaderLen is the length of struct virtio_net_hdr.
	vnetHeaderLen = 10
	ethernetLen   = 14
	// maxQueuedPackets and the size of the arena bound the queue of one direction.
	maxQueuedPackets = 16384
	minArena         = 4 << 20
	maxArena         = 64 << 20
	// unlimitedRate sizes the queue of a wire without a rate, in bits per second.
	unlimitedRate = 20e9
	// receiveBatch is how many frames are received from a socket before due frames are sent.
	receiveBatch = 4
)

// The first line on the process's standard input is the list of its wires, as JSON. The wires' sockets are the open
// files from firstWireFD on, left and right of each wire.
const firstWireFD = 3

// The lines that follow on standard input:
//   - statsLine is answered with a line of statistics since the start, recentLine with one since the last recentLine;
//   - awakeLine with a CPU keeps that CPU awake;
//   - shareLine says that one more measured process runs on the wire's own CPU, unshareLine that one fewer does;
//   - besideLine with a CPU says that all measured processes run on that CPU, apartLine that they do not.
const (
	statsLine   = "stats"
	recentLine  = "recent"
	awakeLine   = "awake "
	shareLine   = "share"
	unshareLine = "unshare"
	besideLine  = "beside "
	apartLine   = "apart"
)

// RunWire runs the user-space wires of one arm: it reads their configuration and then requests from in, and forwards
// until in ends.
func RunWire(in io.Reader, out io.Writer) error {
	lines := bufio.NewReader(in)
	first, err := lines.ReadBytes('\n')
	var config []wire
	if err == nil {
		err = json.Unmarshal(first, &config)
	}
	if err != nil {
		return fmt.Errorf("reading the configuration: %w", err)
	}
	if len(config) == 0 || len(config) > maxElements {
		return fmt.Errorf("%d wires", len(config))
	}
	// Nothing collects garbage, also with GOMEMLIMIT: that waits for threads that CPUs are kept awake with.
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(math.MaxInt64)
	clock := monotonic{time.Now()}
	var wires []*runningWire
	for i, w := range config {
		wires = append(wires, newRunningWire(w, firstWireFD+2*i, clock))
	}
	failed := make(chan error, 1)
	cpus := newAwake()
	where := newWireCPU()
	go func() { failed <- forward(wires, clock, cpus, where) }()
	asked := make(chan string)
	go func() {
		defer close(asked)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			asked <- strings.TrimSuffix(line, "\n")
		}
	}()
	for {
		select {
		case err := <-failed:
			return err
		case line, ok := <-asked:
			if !ok {
				return nil
			}
			if number, ok := strings.CutPrefix(line, awakeLine); ok {
				cpu, err := strconv.Atoi(number)
				if err != nil || cpu < 0 || cpu >= machine.MaxCPU {
					return fmt.Errorf("there is no CPU %q to keep awake", number)
				}
				cpus.keep(cpu)
				continue
			}
			if number, ok := strings.CutPrefix(line, besideLine); ok {
				cpu, err := strconv.Atoi(number)
				if err != nil || cpu < 0 || cpu >= machine.MaxCPU {
					return fmt.Errorf("there is no CPU %q to run on", number)
				}
				where.set(cpu)
				continue
			}
			switch line {
			case apartLine:
				where.set(apart)
				continue
			case shareLine:
				cpus.sharing.Add(1)
				continue
			case unshareLine:
				cpus.sharing.Add(-1)
				continue
			case statsLine, recentLine:
			default:
				return fmt.Errorf("unknown request %q", line)
			}
			stats := make([]WireStats, len(wires))
			for i, w := range wires {
				if stats[i] = w.counts.stats(); line == recentLine {
					stats[i] = w.counts.since()
				}
			}
			if err := json.NewEncoder(out).Encode(stats); err != nil {
				return err
			}
		}
	}
}

// A monotonic clock counts nanoseconds since its start. All wires of an arm have the same one. A wall clock would make
// wires shorter or longer whenever it is set.
type monotonic struct{ start time.Time }

func (m monotonic) now() int64 { return int64(time.Since(m.start)) }

type runningWire struct {
	counts     wireCounts
	directions [2]*direction
}

func newRunningWire(w wire, fd int, clock monotonic) *runningWire {
	r := &runningWire{}
	for i := range r.directions {
		r.directions[i] = newDirection(w, fd+i, fd+1-i, uint64(i), &r.counts, clock)
	}
	return r
}

// A direction is one half of a wire: it queues frames from one socket until they are due on the other.
type direction struct {
	in, out int
	delay   int64   // with the base, ns
	perByte float64 // serialisation time, ns
	backlog int64   // longest serialisation backlog, ns
	loss    float64
	random  *rand.Rand
	counts  *wireCounts

	clock monotonic
	free  int64 // when the last frame has been serialised
	empty int64 // when the socket was last seen without a frame

	// sent and late count frames since the thread moved to its CPU, for starved.
	sent, late int

	arena   []byte // the frames, each in one piece, the oldest first
	tail    int    // where the next frame is put
	frames  []frame
	head, n int // of frames, which is a ring

	message unix.Msghdr
	vector  unix.Iovec
	control [64]byte
}

type frame struct {
	offset, length int
	due            int64
}

func newDirection(w wire, in, out int, stream uint64, counts *wireCounts, clock monotonic) *direction {
	d := &direction{
		in: in, out: out, delay: int64(w.Delay + wireBase), loss: w.Loss, counts: counts,
		random: rand.New(rand.NewPCG(w.Seed, stream)),
		frames: make([]frame, maxQueuedPackets), clock: clock,
	}
	rate := w.Rate
	if rate > 0 {
		d.perByte = 8e9 / rate
		d.backlog = int64(float64(queueBytes(rate)) * d.perByte)
	} else {
		rate = unlimitedRate
	}
	size := 2 * rate / 8 * (w.Delay + queueTime).Seconds()
	d.arena = make([]byte, int(math.Min(math.Max(size, minArena), maxArena)))
	d.message.Iov, d.message.Iovlen = &d.vector, 1
	d.message.Control = &d.control[0]
	return d
}

// poll waits for a frame on any socket until the timeout; without limit if that is below 0.
func poll(fds []unix.PollFd, timeout time.Duration) error {
	var ts *unix.Timespec
	if timeout >= 0 {
		t := unix.NsecToTimespec(int64(timeout))
		ts = &t
	}
	if _, err := unix.Ppoll(fds, ts, nil); err != nil && !errors.Is(err, unix.EINTR) {
		return os.NewSyscallError("ppoll", err)
	}
	return nil
}

// receive moves one frame from the socket to the queue, or drops it. It reports whether there was a frame.
func (d *direction) receive() (bool, error) {
	room := d.n < len(d.frames) && d.makeRoom()
	// A full queue drops the frame.
	if !room {
		if d.n == 0 {
			return false, errors.New("the queue has no room though it is empty")
		}
		return d.discard(), nil
	}
	d.vector.Base = &d.arena[d.tail]
	d.vector.SetLen(maxFrame)
	d.message.SetControllen(len(d.control))
	asked := d.clock.now()
	n, _, errno := unix.RawSyscall(unix.SYS_RECVMSG, uintptr(d.in), uintptr(unsafe.Pointer(&d.message)),
		unix.MSG_DONTWAIT)
	if errno == unix.EAGAIN {
		d.empty = asked
	}
	if errno != 0 {
		return false, receiveError(errno)
	}
	length := int(n)
	if length <= vnetHeaderLen+ethernetLen {
		return true, nil
	}
	if d.loss > 0 && d.random.Float64() < d.loss {
		d.counts.lost.Add(1)
		return true, nil
	}
	arrived := d.arrival(time.Now())
	due := arrived
	if d.perByte > 0 {
		start := max(arrived, d.free)
		if start-arrived > d.backlog {
			d.counts.dropped.Add(1)
			return true, nil
		}
		due = start + int64(float64(onWire(d.arena[d.tail:d.tail+length]))*d.perByte)
		d.free = due
	}
	d.frames[(d.head+d.n)%len(d.frames)] = frame{offset: d.tail, length: length, due: due + d.delay}
	d.n++
	d.tail += length
	return true, nil
}

// makeRoom finds room for the longest frame in the arena, behind the newest frame or at the beginning.
func (d *direction) makeRoom() bool {
	if d.n == 0 {
		d.tail = 0
		return true
	}
	oldest := d.frames[d.head].offset
	if d.tail > oldest {
		if d.tail+maxFrame <= len(d.arena) {
			return true
		}
		if maxFrame > oldest {
			return false
		}
		d.tail = 0
	}
	return d.tail+maxFrame <= oldest
}

// discard receives a frame from the socket and drops it.
func (d *direction) discard() bool {
	var b [1]byte
	const flags = unix.MSG_DONTWAIT | unix.MSG_TRUNC
	_, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(d.in), uintptr(unsafe.Pointer(&b[0])), 1, flags, 0, 0)
	if errno != 0 {
		return false
	}
	d.counts.dropped.Add(1)
	return true
}

func receiveError(errno unix.Errno) error {
	switch errno {
	// EINVAL is for a frame that the virtio header cannot describe; the kernel has dropped it.
	case unix.EAGAIN, unix.EINTR, unix.ENETDOWN, unix.EINVAL:
		return nil
	}
	return os.NewSyscallError("recvmsg", errno)
}

// arrival is when the kernel received the frame that was just read: now less its age by the wall clock, with which the
// kernel stamps frames (SO_TIMESTAMPNS). It is now if the kernel gives no time, and never before the socket was last
// seen empty, whatever the wall clock was set to.
func (d *direction) arrival(now time.Time) int64 {
	since := int64(now.Sub(d.clock.start))
	const header = unix.SizeofCmsghdr
	if d.message.Controllen < header+uint64(unsafe.Sizeof(unix.Timespec{})) {
		return since
	}
	h := (*unix.Cmsghdr)(unsafe.Pointer(&d.control[0]))
	if h.Level != unix.SOL_SOCKET || h.Type != unix.SCM_TIMESTAMPNS {
		return since
	}
	stamped := (*unix.Timespec)(unsafe.Pointer(&d.control[header])).Nano()
	return min(since, max(since-(now.UnixNano()-stamped), d.empty))
}

// onWire is how many bytes a frame takes on the wire, without preamble and checksum. A super-packet counts as its
// segments, each with headers.
func onWire(b []byte) int {
	// struct virtio_net_hdr: flags, gso_type (u8); hdr_len, gso_size, csum_start, csum_offset (u16, this machine's
	// order).
	length := len(b) - vnetHeaderLen
	if b[1] == unix.VIRTIO_NET_HDR_GSO_NONE {
		return length
	}
	headers := int(*(*uint16)(unsafe.Pointer(&b[2])))
	size := int(*(*uint16)(unsafe.Pointer(&b[4])))
	if size == 0 || headers >= length {
		return length
	}
	payload := length - headers
	segments := (payload + size - 1) / size
	return payload + segments*headers
}

// send sends the frames that are due. The result is when the next frame is due, math.MaxInt64 for none.
func (d *direction) send() int64 {
	for d.n > 0 {
		f := d.frames[d.head]
		now := d.clock.now()
		if f.due > now {
			return f.due
		}
		_, _, errno := unix.RawSyscall(unix.SYS_WRITE,
			uintptr(d.out), uintptr(unsafe.Pointer(&d.arena[f.offset])), uintptr(f.length))
		if errno == unix.EAGAIN || errno == unix.EINTR {
			return now // try again later; nothing is lost
		}
		if errno != 0 {
			d.counts.rejected.Add(1)
		} else {
			d.counts.forwarded(now - f.due)
			d.note(now - f.due)
		}
		d.head = (d.head + 1) % len(d.frames)
		d.n--
	}
	return math.MaxInt64
}
