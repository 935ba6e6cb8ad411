package experiment

import (
	"encoding/json"
	"time"
)

// Kubernetes says how to make one or both hosts of an arm as pods. An arm with one pod names its other host as Client
// or Server.
type Kubernetes struct {
	// Context is the context of the kubeconfig; empty for its current one.
	Context string `json:"context,omitempty"`
	// Namespace is an existing namespace for everything that nearfar makes; empty for one that nearfar makes and
	// deletes.
	Namespace string `json:"namespace,omitempty"`
	// Client and Server are the pods; nil for a side that the arm names as a host.
	Client *Pod `json:"client,omitempty"`
	Server *Pod `json:"server,omitempty"`
	// Nodes says which nodes the two pods need, besides what each pod asks for. It is empty with one pod.
	Nodes string `json:"nodes,omitempty"`
	// Through is what the client dials: one of the Through constants. It is ThroughPod without a server pod.
	Through string `json:"through"`
	// Service says more about the Service that the client dials; nil for nothing, and with ThroughPod.
	Service *ServiceOptions `json:"service,omitempty"`
	// Policy is what nearfar does about NetworkPolicies: PolicyOpen or PolicyLeave.
	Policy string `json:"network_policy"`
	// WatchKernel asks for a pod with CAP_BPF and CAP_PERFMON on each of the two nodes, which watches the nodes' kernels
	// for watched twins.
	WatchKernel bool `json:"watch_kernel,omitempty"`
	// Ready is how long the pods may take until they are ready.
	Ready time.Duration `json:"ready"`
}

// ServiceOptions are parts of a Service's manifest.
type ServiceOptions struct {
	// Annotations are what the cluster's controllers read of a Service, for example to make an internal load balancer.
	Annotations map[string]string `json:"annotations,omitempty"`
	// LoadBalancerClass is the spec's loadBalancerClass; empty for the cluster's default, and without
	// ThroughLoadBalancer.
	LoadBalancerClass string `json:"load_balancer_class,omitempty"`
}

// The values of Kubernetes.Nodes.
const (
	NodesDifferent      = "different"       // two nodes (required anti-affinity); the default
	NodesSame           = "same"            // one node
	NodesDifferentZones = "different-zones" // two nodes whose labels topology.kubernetes.io/zone differ
)

// The values of Kubernetes.Through.
const (
	ThroughPod          = "pod"          // the address of the server's pod; the default
	ThroughClusterIP    = "ClusterIP"    // the address of a Service
	ThroughNodePort     = "NodePort"     // a port of the server's node
	ThroughHeadless     = "headless"     // the name of a Service without an address, resolved in the client's pod
	ThroughLoadBalancer = "LoadBalancer" // the address that the cluster's load balancer gives
)

// The values of Kubernetes.Policy.
const (
	PolicyOpen  = "open"  // nearfar makes a NetworkPolicy that lets the pods of the run talk to each other; the default
	PolicyLeave = "leave" // nearfar makes none, and says which policies select its pods
)

// DefaultPodImage is the image of a pod whose side names neither image nor agentImage. It has the shell and the tar
// that copy the agent.
const DefaultPodImage = "docker.io/library/busybox:1.37"

// DefaultPodCPU and DefaultPodMemory are what a pod requests if the file does not say. They are small, because the pods
// of all arms exist at the same time, and only those of one arm work.
const (
	DefaultPodCPU    = "100m"
	DefaultPodMemory = "64Mi"
)

// DefaultPodReady is how long pods may take until they are ready, if the file does not say.
const DefaultPodReady = 2 * time.Minute

// The values of Pod.OS.
const (
	PodLinux   = "linux"
	PodWindows = "windows"
)

// MinNodePort to MaxNodePort is the API server's default range of the ports of Services of type NodePort.
const (
	MinNodePort = 30000
	MaxNodePort = 32767
)

// Pod is one side of an arm as a pod. Arms whose pods are equal share them; see Experiment.PodsOf.
type Pod struct {
	// Node is the name of the node; empty for any that fits.
	Node string `json:"node,omitempty"`
	// NodeSelector are labels that the node must have.
	NodeSelector map[string]string `json:"node_selector,omitempty"`
	// Zone is the value of the node's label topology.kubernetes.io/zone; empty for any.
	Zone string `json:"zone,omitempty"`
	// Affinity, Tolerations, SecurityContext and Resources are as in a PodSpec of Kubernetes (core/v1), as JSON with
	// sorted keys; nil for none, and for Resources for the default: requests of DefaultPodCPU and
	// DefaultPodMemory, and no limits (QoS class Burstable). Resources of {} ask for none (BestEffort). SecurityContext is
	// the container's.
	Affinity        json.RawMessage `json:"affinity,omitempty"`
	Tolerations     json.RawMessage `json:"tolerations,omitempty"`
	SecurityContext json.RawMessage `json:"security_context,omitempty"`
	Resources       json.RawMessage `json:"resources,omitempty"`
	// HostNetwork says that the pod uses the node's network namespace.
	HostNetwork bool `json:"host_network,omitempty"`
	// Image is the image of the container, with the tools. If it is empty, AgentImage is not.
	Image string `json:"image,omitempty"`
	// AgentImage is the image that `nearfar image` writes. With Image, an init container copies the agent from it, so
	// that Image needs no shell. Without AgentImage, the agent is copied through the API, which needs a shell in Image.
	AgentImage string `json:"agent_image,omitempty"`
	// ImagePullSecrets are names of secrets in Kubernetes.Namespace.
	ImagePullSecrets []string `json:"image_pull_secrets,omitempty"`
	// Annotations and Labels are added to the pod's.
	Annotations map[string]string `json:"annotations,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	// RuntimeClass is the pod's runtimeClassName; empty for the cluster's default.
	RuntimeClass string `json:"runtime_class,omitempty"`
	// PriorityClass is the pod's priorityClassName, Scheduler its schedulerName; empty for the cluster's defaults.
	PriorityClass string `json:"priority_class,omitempty"`
	Scheduler     string `json:"scheduler,omitempty"`
	// OS is linux or windows: the label kubernetes.io/os of the node and the pod's os.name.
	OS string `json:"os"`
	// Interface is a secondary interface to measure on, by its name in the annotation
	// k8s.v1.cni.cncf.io/network-status; empty for the pod's own address.
	Interface string `json:"interface,omitempty"`
	// Port is the first of the four ports for measuring; 0 is the default. The server of an arm through a NodePort uses
	// the same ports in the pod and on the node: MinNodePort to MaxNodePort-3, where 0 says that nearfar chooses four
	// that are free when it makes the Service.
	Port int `json:"port,omitempty"`
	// Tools are the absolute paths of programs in the image, by name.
	Tools map[string]string `json:"tools,omitempty"`
}

// Limits of arms with pods.
const (
	minReady = 5 * time.Second
	maxReady = time.Hour
	// maxPodEntries is how many labels, annotations, node labels or secrets a pod has at most.
	maxPodEntries = 64
	// maxAnnotation is the greatest length of an annotation's value in bytes.
	maxAnnotation = 16 << 10
	// MaxManifest is the greatest length in bytes of a part that is passed on to Kubernetes, as JSON.
	MaxManifest = 16 << 10
	maxContext  = 1024 // bytes
	maxImage    = 512  // bytes
)

func nodesWords() []string { return []string{NodesDifferent, NodesSame, NodesDifferentZones} }

func throughWords() []string {
	return []string{ThroughPod, ThroughClusterIP, ThroughNodePort, ThroughHeadless, ThroughLoadBalancer}
}

func policyWords() []string { return []string{PolicyOpen, PolicyLeave} }

// PodSystems are the values of Pod.OS.
func PodSystems() []string { return []string{PodLinux, PodWindows} }

// Texts are the keys of an arm's kubernetes that have texts.
func (k *Kubernetes) Texts() []TextKey {
	return []TextKey{
		{"context", "my-cluster", &k.Context, checkContext, false},
		{"namespace", "perf", &k.Namespace, checkLabelName, false},
	}
}

// Words are the keys of an arm's kubernetes that have words.
func (k *Kubernetes) Words() []WordKey {
	return []WordKey{
		{"nodes", &k.Nodes, nodesWords(), false}, // one pod needs none
		{"through", &k.Through, throughWords(), true},
		{"networkPolicy", &k.Policy, policyWords(), true},
	}
}

// Texts are the keys of a Service that have texts.
func (s *ServiceOptions) Texts() []TextKey {
	return []TextKey{{"loadBalancerClass", "service.k8s.aws/nlb", &s.LoadBalancerClass, CheckQualified, false}}
}

// Texts are the keys of a side that have texts.
func (p *Pod) Texts() []TextKey {
	return []TextKey{
		{"node", "node-1", &p.Node, checkDomainName, false},
		{"zone", "eu-west-1a", &p.Zone, checkZone, false},
		{"image", DefaultPodImage, &p.Image, checkImage, false},
		{"agentImage", "registry.example/nearfar-agent:v1", &p.AgentImage, checkImage, false},
		{"runtimeClassName", "kata", &p.RuntimeClass, checkDomainName, false},
		{"priorityClassName", "high", &p.PriorityClass, checkDomainName, false},
		{"schedulerName", "volcano", &p.Scheduler, checkDomainName, false},
		{"interface", "net1", &p.Interface, checkInterface, false},
	}
}

// Labels that Kubernetes gives to nodes.
const (
	osLabel   = "kubernetes.io/os"
	zoneLabel = "topology.kubernetes.io/zone"
)

// managedBy is a label that nearfar gives to all that it makes. ownPrefix begins its other labels and annotations.
const (
	managedBy = "app.kubernetes.io/managed-by"
	ownPrefix = "nearfar/"
)
