// Package experiment holds the declaration of an experiment: its arms, layers, workloads and schedule.
//
// It does no I/O: Parse takes the bytes of a file and its name.
package experiment

import "time"

// Experiment is the declaration, complete and valid: defaults are filled in.
type Experiment struct {
	Name      string     `json:"name"`
	Question  string     `json:"question"`
	Baseline  string     `json:"baseline"`
	Arms      []Arm      `json:"arms"`
	Workloads []Workload `json:"workloads"`
	Schedule  Schedule   `json:"schedule"`
}

// Arm is one configuration under comparison.
type Arm struct {
	Name string `json:"name"`
	// Lab says how to make the hosts on this machine.
	Lab *Lab `json:"lab,omitempty"`
	// Layers counts what a packet crosses on its way: from the lab's path, or as declared.
	Layers map[string]int `json:"layers"`
	// LayersDeclared says that Layers was written in the file, and not derived from the path.
	LayersDeclared bool `json:"layers_declared,omitempty"`
}

// Lab is a path between two hosts made from network namespaces.
type Lab struct {
	// Path lists the elements from the client to the server. It is never empty.
	Path []Element `json:"path"`
	// MTU is that of the underlay in bytes; what the hosts get is less where the path encapsulates. Default 1500.
	MTU int `json:"mtu"`
}

// The kinds of path elements.
const (
	Bridge   = "bridge"   // a layer 2 switch
	Router   = "router"   // a layer 3 hop
	VTEP     = "vtep"     // a hypervisor that encapsulates in kernel VXLAN; VTEPs come in pairs
	DLR      = "dlr"      // routing between logical segments inside the hypervisor, on the host's side of its VTEP
	Firewall = "firewall" // stateful nftables rules at the host's port
	Wire     = "wire"     // a cable with delay, rate and loss
)

// Element is one element of a path.
type Element struct {
	Kind string `json:"kind"`
	// Rules is how many rules a packet is matched against before the one that accepts it (firewall). Default 100.
	Rules int `json:"rules,omitempty"`
	// Delay is one way, in each direction (wire).
	Delay time.Duration `json:"delay,omitempty"`
	// Rate is that of the wire in bits per second; 0 for unlimited (wire).
	Rate float64 `json:"rate,omitempty"`
	// Loss is the probability that a packet is dropped, in each direction, 0 to 1 (wire).
	Loss float64 `json:"loss,omitempty"`
}

// The modes of a workload.
const (
	RR     = "rr"     // request/response on one connection
	CRR    = "crr"    // connect/request/response: a new connection for each transaction
	Stream = "stream" // one-way bulk
	Ping   = "ping"   // ICMP echo
)

// The protocols.
const (
	TCP  = "tcp"
	UDP  = "udp"
	ICMP = "icmp"
)

// Workload is one tool, one mode and its parameters.
type Workload struct {
	Name string `json:"name"`
	Tool string `json:"tool"`
	Mode string `json:"mode"`
	// Protocol is tcp, udp or icmp.
	Protocol string `json:"protocol"`
	// Request and Response are application message sizes in bytes (rr, crr). Ping: Request is the ICMP payload.
	Request  int `json:"request,omitempty"`
	Response int `json:"response,omitempty"`
	// Message is the size of one write in bytes (stream); for UDP, of one datagram. 0: the tool's own default.
	Message int `json:"message,omitempty"`
	// Duration is the length of the measurement window. Warmup comes before it and is discarded.
	Duration time.Duration `json:"duration"`
	Warmup   time.Duration `json:"warmup"`
	// Interval is the time between two echo requests (ping).
	Interval time.Duration `json:"interval,omitempty"`
	// Connections run side by side (stream). Default 1.
	Connections int `json:"connections,omitempty"`
	// Rate is the offered rate in bits per second (stream over UDP).
	Rate float64 `json:"rate,omitempty"`
	// Placement says on which CPUs client and server run.
	Placement Placement `json:"placement"`
	// Optional says that the run goes on without the workload where its tool is missing.
	Optional bool `json:"optional,omitempty"`
}

// The kinds of placement of client and server on the CPUs of the machine that holds both.
const (
	// PlacementShared pins both to the same CPU: the least noise for one request at a time.
	PlacementShared = "shared"
	// PlacementSplit pins each to a CPU of its own.
	PlacementSplit = "split"
	// PlacementFree pins neither; the figures then can have two modes.
	PlacementFree = "free"
	// PlacementExplicit pins each to the CPUs that the file names.
	PlacementExplicit = "explicit"
)

// Placement says on which CPUs client and server run. A lab resolves it to CPU numbers when it starts a process.
type Placement struct {
	Kind string `json:"kind"`
	// Client and Server are CPU numbers, for PlacementExplicit only.
	Client []int `json:"client,omitempty"`
	Server []int `json:"server,omitempty"`
}

// Schedule says how often and in which order trials run.
type Schedule struct {
	// Blocks is how many times every (arm, workload) is run.
	Blocks int `json:"blocks"`
	// Seed draws the order.
	Seed uint64 `json:"seed"`
}

// Arm finds an arm by name.
func (e *Experiment) Arm(name string) (Arm, bool) {
	for _, a := range e.Arms {
		if a.Name == name {
			return a, true
		}
	}
	return Arm{}, false
}

// Workload finds a workload by name.
func (e *Experiment) Workload(name string) (Workload, bool) {
	for _, w := range e.Workloads {
		if w.Name == name {
			return w, true
		}
	}
	return Workload{}, false
}
