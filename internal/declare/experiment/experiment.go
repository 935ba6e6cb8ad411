// Package experiment is the model of an experiment: its hosts, arms, layers, workloads and schedule, and the rules
// about them. It knows no YAML: package file reads the text, and package schema describes it.
package experiment

import (
	"time"

	"nearfar/internal/declare/check"
)

// Experiment is the declaration of an experiment. From file.Parse it is valid and has all defaults filled in.
type Experiment struct {
	Name     string `json:"name"`
	Question string `json:"question"`
	Baseline string `json:"baseline"`
	// Hosts are the hosts that arms name, in the order of the file.
	Hosts []HostSpec `json:"hosts,omitempty"`
	// Provision says how the machines of hosts are made; nil if nearfar makes none.
	Provision *Provision `json:"provision,omitempty"`
	Arms      []Arm      `json:"arms"`
	Workloads []Workload `json:"workloads"`
	Schedule  Schedule   `json:"schedule"`
	// AskedAbout is the arm that the question is about; empty if the file names none.
	AskedAbout string `json:"asked_about,omitempty"`
	// AdditiveWithin is the margin of AdditiveMargin; 0 for the default.
	AdditiveWithin float64 `json:"additive_within,omitempty"`
	// Objectives are rules that a run must meet: "rr rtt.p99 < 200us". ObjectivesAt gives their places in the file.
	Objectives   []string   `json:"objectives,omitempty"`
	ObjectivesAt []Position `json:"-"`
	// Unproved says what happens to trials in which an expectation was refuted or is unknown: UnprovedKeep or
	// UnprovedDrop.
	Unproved string `json:"unproved,omitempty"`
	// AskProviders lists the clouds whose providers are asked where they placed the hosts (check.CloudAzure ...).
	AskProviders []string `json:"ask_providers,omitempty"`
	// SelfComparison says which arm is compared with itself; nil for other experiments. See CompareWithSelf.
	SelfComparison *SelfComparison `json:"self_comparison,omitempty"`
	// Imported says that the results were recorded elsewhere; see Recorded.
	Imported bool `json:"imported,omitempty"`
	// Paired says that imported results were read in the order of their blocks: the first trial of each arm belongs to
	// block 1, and so on.
	Paired bool `json:"paired,omitempty"`
}

// Unpaired says that the trials belong to no blocks, as imported results do unless they are Paired.
func (e *Experiment) Unpaired() bool { return e.Imported && !e.Paired }

// What happens to trials with an expectation that is not proved.
const (
	UnprovedKeep = "keep" // they stay in the comparison, and the answer says so; the default
	UnprovedDrop = "drop" // they are taken out of the comparison
)

// Arm is one configuration under comparison. Its hosts are made by Lab, or are named by Client and Server.
type Arm struct {
	Name string `json:"name"`
	// Lab says how to make the hosts on this machine. It is nil if Client and Server name them.
	Lab *Lab `json:"lab,omitempty"`
	// Kubernetes says how to make hosts as pods. It is nil for an arm without a pod.
	Kubernetes *Kubernetes `json:"kubernetes,omitempty"`
	// Client and Server are names of Experiment.Hosts. Both can be the same host. They are empty for sides that Lab or
	// Kubernetes makes.
	Client string `json:"client,omitempty"`
	Server string `json:"server,omitempty"`
	// HostsFrom is an arm with the same lab whose hosts this arm uses, although both arms are equal. Only
	// CompareWithSelf sets it.
	HostsFrom string `json:"hosts_from,omitempty"`
	// Layers counts what a packet crosses on its way, as derived from the lab's path or as declared.
	Layers map[string]int `json:"layers"`
	// LayersDeclared says that Layers comes from the file and was not derived from the path.
	LayersDeclared bool `json:"layers_declared,omitempty"`
	// Expect lists what must be true of the arm, in the order of the file.
	Expect []check.Expectation `json:"expect,omitempty"`
	// Set lists the keys of workloads to which this arm gives another value, in the order of the file.
	Set []Setting `json:"set,omitempty"`
	// Workloads are the workloads that Set changes, with their values in this arm; see Experiment.WorkloadIn.
	Workloads []Workload `json:"workloads,omitempty"`
}

// Lab is a path between two hosts made from network namespaces.
type Lab struct {
	// Path lists the elements from the client to the server. It is never empty.
	Path []Element `json:"path"`
	// MTU is the MTU of the underlay in bytes. The hosts get less if the path encapsulates. Default 1500.
	MTU int `json:"mtu"`
}

// The kinds of path elements.
const (
	Bridge   = "bridge"   // a layer 2 switch
	Router   = "router"   // a layer 3 hop
	VTEP     = "vtep"     // a hypervisor that encapsulates in kernel VXLAN; VTEPs come in pairs
	DLR      = "dlr"      // routing between logical segments inside the hypervisor, on the host's side of its VTEP
	Firewall = "firewall" // stateful nftables rules at a host or on a routed hop
	Wire     = "wire"     // a cable with delay, rate and loss
)

// Element is one element of a path.
type Element struct {
	Kind string `json:"kind"`
	// Rules is how many rules a packet is matched against before the one that accepts it (firewall). Default 100.
	Rules int `json:"rules,omitempty"`
	// Delay is the delay of each packet, in each direction (wire).
	Delay time.Duration `json:"delay,omitempty"`
	// Rate is in bits per second; 0 is unlimited (wire).
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
	HTTP   = "http"   // requests of HTTP
	App    = "app"    // pages of an application that asks a database
	// Load sends requests at an offered rate, whether the replies keep up or not.
	Load = "load"
	// Messages sends small messages one way and counts what arrives.
	Messages = "messages"
	// Pgbench runs transactions of SQL on a PostgreSQL of the user's.
	Pgbench = "pgbench"
	// CommandMode runs a program of the experiment's own (Command).
	CommandMode = "command"
)

// OfApplication says that a mode is an application's: its times are what somebody waits for, and are made of round
// trips and of work.
func OfApplication(mode string) bool { return mode == HTTP || mode == App || mode == CommandMode }

// Offers says that requests of a mode can be sent at an offered rate. Their time then begins when they are due.
func Offers(mode string) bool { return mode == Load || mode == HTTP || mode == App }

// The protocols.
const (
	TCP  = "tcp"
	UDP  = "udp"
	ICMP = "icmp"
	// AnyProtocol is whatever a program of the experiment's own speaks.
	AnyProtocol = "any"
)

// The versions of IP.
const (
	IPv4 = 4
	IPv6 = 6
)

// The kinds of placement of client and server on the CPUs of the machine that holds both.
const (
	// PlacementShared pins both to the same CPU: the least noise for one request at a time.
	PlacementShared = "shared"
	// PlacementSplit pins each to a CPU of its own.
	PlacementSplit = "split"
	// PlacementFree pins neither. The distribution of the figures can then have two modes.
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

// Schedule says how often trials run, and in which order.
type Schedule struct {
	// Blocks is how many times every workload runs in every arm, in each deployment.
	Blocks int `json:"blocks"`
	// Deployments is how many times the hosts are made anew. 0 means 1.
	Deployments int `json:"deployments,omitempty"`
	// BaselineRepeats is how many times each block runs the baseline in each workload. It is odd; 0 means 1.
	BaselineRepeats int `json:"baseline_repeats,omitempty"`
	// Retries is how many times a failed trial is run again within its block.
	Retries int `json:"retries,omitempty"`
	// Seed is the seed of the random order.
	Seed uint64 `json:"seed"`
	// Until is the resolution, as it was written, at which a run ends before all its blocks have run (run --until);
	// empty for a run of a fixed number of blocks.
	Until string `json:"until,omitempty"`
}

// ArmNames are the names of the arms, in their order.
func (e *Experiment) ArmNames() (names []string) {
	for _, a := range e.Arms {
		names = append(names, a.Name)
	}
	return names
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

// Position is a place in a file, with the text of its line.
type Position struct {
	File string
	// Line and Column count from 1; columns are characters.
	Line, Column int
	Source       string
}

// Version is the version of the file format that this build reads (the key nearfar).
const Version = "v1"

// Limits of an experiment.
const (
	MaxArms      = 100
	MaxWorkloads = 100
	maxQuestion  = 1000 // characters
)
