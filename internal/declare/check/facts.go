// Package check finds out what a host is, where it is and what its network devices have counted, and judges from that
// whether a configuration is what it claims to be. It reads and never changes anything. Its readers take the files of a
// machine as a file system and the network as an interface, so that recorded machines can be judged too.
package check

import (
	"context"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"time"
)

// Verb is the hidden verb that prints the facts of the host on which it runs. With --counters it prints counters.
const Verb = "facts"

// Facts are what is known of a host. A value that the system does not give is left out.
type Facts struct {
	Hostname string `json:"hostname,omitempty"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
	Machine
	Processor Processor `json:"processor,omitzero"`
	Firmware  Firmware  `json:"firmware,omitzero"`
	// Settings are the kernel's settings of TCP and of the network, by their names below /proc/sys/net.
	Settings  map[string]string `json:"settings,omitempty"`
	Cgroup    Cgroup            `json:"cgroup,omitzero"`
	Conntrack *Conntrack        `json:"conntrack,omitempty"`
	Load      Load              `json:"load,omitzero"`
	Devices   []Device          `json:"devices,omitempty"`
	// Path is the way to the other side; nil if no other side was named.
	Path *Path `json:"path,omitempty"`
	// Where is what the cloud's metadata service says; nil if the machine is in none that is known.
	Where *Where `json:"where,omitempty"`
	// Provider is what the cloud's provider says about the machine. The machine that runs nearfar asks it if the
	// experiment file says so; an answer from the host itself does not count. It is nil if the provider was not asked.
	Provider *Provider `json:"provider,omitempty"`
	// Missing says what could not be read, and why.
	Missing []string `json:"missing,omitempty"`
	// Seconds is how long the facts took, without the metadata service.
	Seconds float64 `json:"seconds"`
}

// Processor is how the CPUs are operated.
type Processor struct {
	// Governors and Drivers are the governors and drivers of frequency scaling, without repetitions.
	Governors []string `json:"governors,omitempty"`
	Drivers   []string `json:"drivers,omitempty"`
	// IdleDriver is the driver of the C-states, IdleStates are the states that are not disabled.
	IdleDriver string   `json:"idle_driver,omitempty"`
	IdleStates []string `json:"idle_states,omitempty"`
	// SMT is what the kernel says of simultaneous multithreading: on, off, forceoff, notsupported or notimplemented.
	SMT string `json:"smt,omitempty"`
	// Hypervisor says that the CPUs report a hypervisor.
	Hypervisor bool `json:"hypervisor,omitempty"`
	// Nodes is the number of NUMA nodes.
	Nodes int `json:"nodes,omitempty"`
}

// Firmware is what the firmware says of the machine (DMI).
type Firmware struct {
	Vendor   string `json:"vendor,omitempty"`
	Product  string `json:"product,omitempty"`
	Board    string `json:"board,omitempty"`
	BIOS     string `json:"bios,omitempty"`
	AssetTag string `json:"asset_tag,omitempty"`
	// Xen is the UUID of a Xen guest.
	Xen string `json:"xen,omitempty"`
}

// Cgroup has the limits of the control group of this process and of the groups above it.
type Cgroup struct {
	// CPUs is the smallest CPU quota, in CPUs; 0 if there is none.
	CPUs float64 `json:"cpus,omitempty"`
	// Memory is the smallest memory limit, in bytes; 0 if there is none.
	Memory int64 `json:"memory,omitempty"`
	// Cpuset lists the CPUs that the group may use.
	Cpuset string `json:"cpuset,omitempty"`
}

// Conntrack is the size of the kernel's table of connections.
type Conntrack struct {
	Count int `json:"count"`
	Max   int `json:"max"`
}

// Load is how busy the machine is.
type Load struct {
	// Average is the load average over a minute.
	Average float64 `json:"average"`
	// Pressure is the share of the last ten seconds in which some process waited for a CPU; 0 if the kernel does not
	// say. JSON leaves 0 out, so that it proves no expectation.
	Pressure float64 `json:"pressure,omitempty"`
}

// Device is a network device.
type Device struct {
	Link
	Details
	// NUMA is the NUMA node of the device's hardware; -1 if it has none.
	NUMA int `json:"numa"`
}

// Path is the way to an address.
type Path struct {
	To netip.Addr `json:"to"`
	Route
	// MTU is the largest packet that the kernel believes the path to carry, in bytes; 0 if it does not say. Without a
	// packet that was too large, this is the MTU of the device.
	MTU int `json:"mtu,omitempty"`
}

// Options say what to read.
type Options struct {
	// To is the address of the other side; the zero value for none.
	To netip.Addr
	// Metadata allows Read to ask the metadata service of the cloud that the firmware names.
	Metadata bool
}

// A Source is where facts come from. Fields that are nil are not known.
type Source struct {
	// Files are the files of the machine, from its root.
	Files   fs.FS
	Network Network
}

// Network is what the kernel knows of network devices and routes, in this process's network namespace.
type Network interface {
	Links() ([]Link, error)
	// Details are what a device's driver says of it. It leaves out what the driver does not know.
	Details(device string) Details
	// Route is the route to an address. pathMTU is 0 if it is not known.
	Route(to netip.Addr) (r Route, pathMTU int, err error)
	// Counters are a driver's own counters.
	Counters(device string) (map[string]uint64, error)
}

// Link is a network device, as the kernel lists it.
type Link struct {
	Name  string `json:"name"`
	Index int    `json:"index"`
	// Kind is the kind of a virtual device: veth, vxlan, bridge ...; empty for hardware.
	Kind    string `json:"kind,omitempty"`
	Address string `json:"address,omitempty"`
	State   string `json:"state,omitempty"`
	MTU     int    `json:"mtu,omitempty"`
	// Master is the index of the device to which this device is enslaved, Lower the index of the device below it; 0 for
	// none.
	Master int `json:"master,omitempty"`
	Lower  int `json:"lower,omitempty"`
	// TxQueues and RxQueues are the numbers of queues that the kernel made for the device.
	TxQueues int `json:"tx_queues,omitempty"`
	RxQueues int `json:"rx_queues,omitempty"`

	Statistics Statistics `json:"-"`
}

// Details are what a device's driver says of it (ethtool).
type Details struct {
	Driver   string `json:"driver,omitempty"`
	Version  string `json:"version,omitempty"`
	Firmware string `json:"firmware,omitempty"`
	Bus      string `json:"bus,omitempty"`
	// Channels, Rings and Coalescing are the settings of queues, by ethtool's names; settings that are 0 are left out.
	Channels   map[string]uint32 `json:"channels,omitempty"`
	Rings      map[string]uint32 `json:"rings,omitempty"`
	Coalescing map[string]uint32 `json:"coalescing,omitempty"`
	// Spread is over how many queues receive-side scaling spreads packets; 0 if the driver does not say.
	Spread int `json:"spread,omitempty"`
	// Offloads are the features that are on.
	Offloads []string `json:"offloads,omitempty"`
}

// Route is how packets to an address leave the host.
type Route struct {
	Device string `json:"device,omitempty"`
	// Gateway is the next hop; the zero value if the address is on the link.
	Gateway netip.Addr `json:"gateway,omitzero"`
	// Source is the address from which packets are sent.
	Source netip.Addr `json:"source,omitzero"`
	// Local says that the address is one of this host's own.
	Local bool `json:"local,omitempty"`
}

// Read reads the facts of this machine.
func Read(ctx context.Context, o Options) Facts {
	f := ThisMachine().Read(o)
	if f.Kernel == "" {
		f.Machine, f.Firmware = ReadMachine(), readFirmware()
	}
	if f.Hostname == "" {
		f.Hostname, _ = os.Hostname()
	}
	if o.Metadata {
		f.Where = f.Firmware.locate(ctx)
	}
	return f
}

// Read reads the facts without the metadata service. It asks nothing of the network.
func (s Source) Read(o Options) Facts {
	begun := time.Now()
	f := Facts{OS: runtime.GOOS, Arch: runtime.GOARCH}
	s.readFiles(&f)
	if s.Network != nil {
		s.readNetwork(&f, o.To)
	}
	f.Seconds = time.Since(begun).Seconds()
	return f
}

// Device is the device with a name; nil if there is none.
func (f *Facts) Device(name string) *Device {
	for i := range f.Devices {
		if f.Devices[i].Name == name {
			return &f.Devices[i]
		}
	}
	return nil
}

// OnPath is the device by which packets to the other side leave; nil if it is not known.
func (f *Facts) OnPath() *Device {
	if f.Path == nil {
		return nil
	}
	return f.Device(f.Path.Device)
}

// EnslavedTo lists the devices that are enslaved to a device.
func (f *Facts) EnslavedTo(d *Device) []*Device {
	var all []*Device
	for i := range f.Devices {
		if f.Devices[i].Master == d.Index {
			all = append(all, &f.Devices[i])
		}
	}
	return all
}

// KeepDevices leaves out devices beyond a number. Those of the path stay first, then hardware.
func (f *Facts) KeepDevices(most int) {
	if len(f.Devices) <= most {
		return
	}
	var links []Link
	for _, d := range f.Devices {
		links = append(links, d.Link)
	}
	on := pathIndexes(links, f.Path)
	rank := func(d Device) int {
		switch {
		case on[d.Index]:
			return 0
		case d.Kind == "":
			return 1
		}
		return 2
	}
	slices.SortStableFunc(f.Devices, func(a, b Device) int { return rank(a) - rank(b) })
	f.Missing = append(f.Missing, fmt.Sprintf("%d of %d network devices are not kept", len(f.Devices)-most,
		len(f.Devices)))
	f.Devices = f.Devices[:most]
}
