package inside

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	declared "nearfar/internal/declare/inside"
)

// A Watch watches the trips of one trial.
type Watch struct {
	flow     flow
	warmup   uint64
	names    names
	programs []*ebpf.Program
	links    []link.Link
	// state, slots, cpus, devices and tunnels are what the programs write.
	state, slots, cpus, devices, tunnels *ebpf.Map
}

// Begin begins to watch the trial's packets. The error says why that is not possible here. The caller calls End or
// Close.
func Begin(o declared.Options) (*Watch, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	space, err := spaceOf(o)
	if err != nil {
		return nil, err
	}
	own, err := readOffsets()
	if err != nil {
		return nil, rights(err)
	}
	w := &Watch{flow: newFlow(o, space), warmup: uint64(o.Warmup), names: namesOf(o)}
	if err := w.attach(own); err != nil {
		w.Close()
		return nil, rights(err)
	}
	return w, nil
}

// spaceOf is the network namespace in which requests begin; 0 for any.
func spaceOf(o declared.Options) (uint32, error) {
	if o.Space != nil {
		return *o.Space, nil
	}
	return OwnNamespace()
}

// OwnNamespace is the number of this thread's network namespace.
func OwnNamespace() (uint32, error) {
	var s unix.Stat_t
	if err := unix.Stat("/proc/thread-self/ns/net", &s); err != nil {
		return 0, fmt.Errorf("the own network namespace: %w", err)
	}
	return uint32(s.Ino), nil
}

// rights says which rights are missing, if that is the reason of an error.
func rights(err error) error {
	if refused := (*ebpf.VerifierError)(nil); errors.Is(err, os.ErrPermission) && !errors.As(err, &refused) {
		// The library's own text is about the memory that kernels before 5.11 lock.
		return errors.New("watching the kernel needs the rights CAP_BPF and CAP_PERFMON (before Linux 5.8 " +
			"CAP_SYS_ADMIN), outside of user namespaces: operation not permitted")
	}
	return err
}

// attach makes the maps and has the programs run.
func (w *Watch) attach(own offsets) (err error) {
	cpus, err := ebpf.PossibleCPU()
	if err != nil {
		return fmt.Errorf("the number of CPUs: %w", err)
	}
	for _, m := range []struct {
		to    **ebpf.Map
		name  string
		kind  ebpf.MapType
		key   uint32
		value uint32
		most  int
	}{
		{&w.state, "nearfar_state", ebpf.Array, 4, stateSize, 1},
		{&w.slots, "nearfar_trips", ebpf.Array, 4, slotSize, w.flow.slots},
		{&w.cpus, "nearfar_cpus", ebpf.Array, 4, cpuSize, cpus},
		{&w.devices, "nearfar_devs", ebpf.Hash, 8, deviceSize, maxDevices},
		{&w.tunnels, "nearfar_tunnels", ebpf.Hash, tunnelKeySize, tunnelSize, maxTunnels},
	} {
		*m.to, err = ebpf.NewMap(&ebpf.MapSpec{
			Name: m.name, Type: m.kind, KeySize: m.key, ValueSize: m.value, MaxEntries: uint32(m.most),
		})
		if err != nil {
			return fmt.Errorf("memory for the kernel's side: %w", err)
		}
	}
	g := generator{
		offsets: own, flow: w.flow,
		state: w.state.FD(), slots: w.slots.FD(), cpus: w.cpus.FD(), devices: w.devices.FD(),
		tunnels: w.tunnels.FD(),
	}
	for _, p := range g.programs() {
		made, err := p.load()
		if err != nil {
			return fmt.Errorf("a program at %s: %w", p.tracepoint, err)
		}
		w.programs = append(w.programs, made)
	}
	for i := range w.programs {
		attached, err := link.AttachTracing(link.TracingOptions{Program: w.programs[i]})
		if err != nil {
			return fmt.Errorf("attaching a program: %w", err)
		}
		w.links = append(w.links, attached)
	}
	return nil
}

// End ends the watch and says what was seen.
func (w *Watch) End() (*declared.Recording, error) {
	seen, err := w.read()
	if err != nil {
		return nil, err
	}
	return seen.recording(slowShare), nil
}

// read ends the watch and reads what the kernel's side wrote.
func (w *Watch) read() (*sightings, error) {
	w.detach()
	defer w.Close()
	var state [stateSize]byte
	if err := w.state.Lookup(uint32(0), &state); err != nil {
		return nil, fmt.Errorf("reading the watch: %w", err)
	}
	seen := &sightings{
		side: w.flow.side, warmup: w.warmup, names: w.names,
		lost: int(number(state[stateLost:])),
	}
	b := make([]byte, slotSize)
	for i := range min(number(state[stateFree:]), uint32(w.flow.slots)) {
		if err := w.slots.Lookup(i, b); err != nil {
			return nil, fmt.Errorf("reading the watch: %w", err)
		}
		seen.slots = append(seen.slots, readSlot(b))
	}
	if err := errors.Join(w.readDevices(seen), w.readTunnels(seen)); err != nil {
		return nil, fmt.Errorf("reading the watch: %w", err)
	}
	return seen, nil
}

// readDevices reads what the first trips' devices are.
func (w *Watch) readDevices(seen *sightings) error {
	seen.devices = map[deviceKey]device{}
	var key [8]byte
	var value [deviceSize]byte
	all := w.devices.Iterate()
	for all.Next(&key, &value) {
		seen.devices[deviceKey{number(key[:]), number(key[4:])}] = device{
			name: text(value[deviceName:deviceKind]), kind: text(value[deviceKind:deviceFlags]),
			bridgePort: number(value[deviceFlags:])&flagBridgePort != 0,
		}
	}
	return all.Err()
}

// readTunnels reads in which tunnels the first trips' packets were.
func (w *Watch) readTunnels(seen *sightings) error {
	seen.tunnels = map[tunnelKey]tunnel{}
	var key [tunnelKeySize]byte
	var value [tunnelSize]byte
	all := w.tunnels.Iterate()
	for all.Next(&key, &value) {
		at := tunnelKey{deviceKey{number(key[:]), number(key[4:])}, number(key[tunnelWay:])}
		seen.tunnels[at] = tunnel{number: number(value[tunnelNumber:]), naming: number(value[tunnelNaming:])}
	}
	return all.Err()
}

// text is a C string.
func text(b []byte) string {
	if at := bytes.IndexByte(b, 0); at >= 0 {
		b = b[:at]
	}
	return string(b)
}

// detach ends the programs' work.
func (w *Watch) detach() {
	for _, l := range w.links {
		_ = l.Close() // the process's end would end it too
	}
	w.links = nil
}

// Close ends the watch without a result, and frees what it used. It may be called twice.
func (w *Watch) Close() {
	w.detach()
	for _, p := range w.programs {
		_ = p.Close()
	}
	w.programs = nil
	for _, m := range []*ebpf.Map{w.state, w.slots, w.cpus, w.devices, w.tunnels} {
		if m != nil {
			_ = m.Close()
		}
	}
}
