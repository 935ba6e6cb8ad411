package experiment

import (
	"cmp"
	"maps"
	"slices"

	"go.yaml.in/yaml/v4"
)

// pair reads the names of the two hosts of an arm, if it names one. An arm with pods can name one host.
func (r *reader) pair(a *parsedArm, f fields) {
	_, client := f.named["client"]
	_, server := f.named["server"]
	_, pods := f.named["kubernetes"]
	if client || server && !pods {
		r.hostName(a, f, "client", "vm-a", &a.Client)
	}
	if server || client && !pods {
		r.hostName(a, f, "server", "vm-b", &a.Server)
	}
}

// hostName reads the name of a host. It leaves out a name that is wrong.
func (r *reader) hostName(a *parsedArm, f fields, side, example string, into *string) {
	v, ok := r.required(f, side, side+": "+example)
	if !ok {
		return
	}
	*into, _ = r.text(v.value, side, example)
	if !r.known.unknown {
		r.check(f, func(c *checker) { a.checkHost(c, side, r.known.names) })
	}
	if r.faulty[v.value] {
		*into = ""
	}
}

// hasHosts reports whether an arm names its hosts.
func (a Arm) hasHosts() bool { return a.Client != "" || a.Server != "" }

// undeclaredLayers finds arms with hosts or pods that do not say what a packet crosses, if other arms do.
func undeclaredLayers(c *checker, arms []Arm) {
	with := slices.IndexFunc(arms, func(a Arm) bool { return a.Lab != nil || a.LayersDeclared })
	if with < 0 {
		return
	}
	for _, a := range arms {
		if (a.hasHosts() || a.Kubernetes != nil) && !a.LayersDeclared {
			c.wrong(atKey("arms", a.Name),
				"say what a packet crosses, for example layers: {zone: 1}, or layers: {} for nothing",
				"arm %s declares no layers, and arm %s has some", quote(a.Name), quote(arms[with].Name))
		}
	}
}

// oneMachine reports whether both hosts of an arm are known to be one machine. Different names can be one machine, too,
// but a file cannot show that.
func (d declaredHosts) oneMachine(a Arm) bool {
	if a.Kubernetes != nil {
		return a.Kubernetes.Nodes == NodesSame
	}
	local := func(name string) bool {
		return slices.ContainsFunc(d.specs, func(h HostSpec) bool { return h.Name == name && h.Local })
	}
	return a.Client == a.Server || local(a.Client) && local(a.Server)
}

// oneCPU reports a workload that asks for one CPU for client and server in an arm whose hosts are different machines,
// as far as the file shows.
func (r *reader) oneCPU(w Workload, f fields, a Arm) {
	if !a.hasHosts() && a.Kubernetes == nil || r.known.oneMachine(a) {
		return
	}
	at := func(path ...string) *yaml.Node {
		if own, there := f.find(path); there {
			return own.value
		}
		return r.commonPlacement
	}
	if w.Placement.Kind == PlacementShared {
		r.notShared(at("placement"), a)
	}
	if w.Background != nil && w.Background.Placement.Kind == PlacementShared {
		r.notShared(at("background", "placement"), a)
	}
}

// notShared reports placement shared in an arm with two machines. A place in the file is reported for one arm only.
func (r *reader) notShared(at *yaml.Node, a Arm) {
	if at == nil || r.moved == nil && r.reported[at] {
		return
	}
	r.reported[at] = true
	hint, has := "write split, or if both are one machine, for example {client: [0], server: [0]}", "different hosts"
	if a.Kubernetes != nil && a.Kubernetes.Nodes != "" {
		hint, has = "write split, or nodes: same in the arm", "pods on different nodes"
	}
	r.wrong(at, hint, "shared is one CPU for client and server, and arm %s has %s", quote(a.Name), has)
}

// otherHosts gives for each arm the layer that stands for its hosts, "" for none. Hosts can differ in more properties
// than arms set. If arms with undeclared layers set something, the difference between hosts must not count as the cost
// of the setting, so it is a layer of its own.
//
// Pods are named by the first arm that uses them in the same way, so that arms that differ in Kubernetes.Through count
// as different.
func (e *Experiment) otherHosts() []string {
	layers := make([]string, len(e.Arms))
	base, _ := e.Arm(e.Baseline)
	for i, a := range e.Arms {
		none := a.Lab != nil || !a.hasHosts() && a.Kubernetes == nil
		if none || a.LayersDeclared || base.Lab == nil && a.sameHosts(base) {
			continue
		}
		owner := e.HostsOf(a.Name)
		layers[i] = "hosts=" + cmp.Or(a.Client, owner) + "/" + cmp.Or(a.Server, owner)
		if !a.hasHosts() {
			layers[i] = "hosts=" + owner
		}
	}
	return layers
}

// addHostLayers counts the layers of otherHosts in the workload's layers, if any arm has other layers.
func (e *Experiment) addHostLayers(all []map[string]int) {
	if !slices.ContainsFunc(all, func(layers map[string]int) bool { return len(layers) > 0 }) {
		return
	}
	for i, name := range e.otherHosts() {
		if name != "" {
			all[i] = maps.Clone(all[i])
			if all[i] == nil {
				all[i] = map[string]int{}
			}
			all[i][name]++
		}
	}
}
