package experiment

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"nearfar/internal/base/stats"
)

// MaxLayers is how many different layers an experiment can have.
const MaxLayers = 100

// DeriveLayers counts the elements of each arm's path, unless the arm declares its layers.
//
// A layer is a kind of element. If elements of one kind differ in their parameters, the element with the least effect
// counts as the kind alone. Every other element counts as the kind and as a layer that is named by the difference: a
// wire with a delay of 50us counts as wire and as wire(delay=50us), whose cost is the delay. A firewall's place counts
// as a parameter: if some firewalls are at hosts, a firewall on a router counts as firewall and as firewall(at=router).
func DeriveLayers(arms []Arm) {
	least := leastElements(arms)
	for i := range arms {
		if arms[i].LayersDeclared || arms[i].Lab == nil {
			continue
		}
		arms[i].Layers = make(map[string]int)
		for _, e := range placedElements(arms[i].Lab.Path) {
			arms[i].Layers[e.Kind]++
			if more := difference(least[e.Kind], e); more != "" {
				arms[i].Layers[e.Kind+"("+more+")"]++
			}
		}
	}
}

// A placedElement is an element of a path, with the place of a firewall, which depends on its neighbours.
type placedElement struct {
	Element
	// at is where a firewall filters packets: router, dlr, vtep, underlay-router; "" at a host, and for other kinds.
	at string
}

func placedElements(path []Element) []placedElement {
	placed := make([]placedElement, len(path))
	underlay := false
	for i, e := range path {
		placed[i].Element = e
		if e.Kind == VTEP {
			underlay = !underlay
		}
		at, ok := FirewallAt(path, i)
		if e.Kind != Firewall || !ok || at < 0 || at == len(path) {
			continue
		}
		placed[i].at = path[at].Kind
		if underlay && path[at].Kind == Router { // there no packet is of a known connection: each passes all rules
			placed[i].at = "underlay-router"
		}
	}
	return placed
}

// leastElements finds the element of each kind with the least effect on packets.
func leastElements(arms []Arm) map[string]placedElement {
	least := make(map[string]placedElement)
	for _, a := range arms {
		if a.LayersDeclared || a.Lab == nil {
			continue
		}
		for _, e := range placedElements(a.Lab.Path) {
			if old, ok := least[e.Kind]; !ok || compareElements(e, old) < 0 {
				least[e.Kind] = e
			}
		}
	}
	return least
}

// compareElements orders elements of one kind by their effect on packets: fewer rules come first, then less delay, then
// a higher rate (unlimited is the highest), then less loss. If two firewalls have the same number of rules, the
// firewall at a host comes first.
func compareElements(a, b placedElement) int {
	return cmp.Or(
		cmp.Compare(a.Rules, b.Rules),
		cmp.Compare(a.at, b.at),
		cmp.Compare(a.Delay, b.Delay),
		cmp.Compare(secondsPerBit(a.Rate), secondsPerBit(b.Rate)),
		cmp.Compare(a.Loss, b.Loss),
	)
}

func secondsPerBit(rate float64) float64 {
	if rate == 0 {
		return 0
	}
	return 1 / rate
}

// difference names the parameters in which an element differs from the base of its kind: "delay=50us,rate=1Gbit/s".
func difference(base, e placedElement) string {
	var parts []string
	if e.Rules != base.Rules {
		parts = append(parts, "rules="+strconv.Itoa(e.Rules))
	}
	if e.at != base.at {
		at := e.at
		if at == "" {
			at = "host"
		}
		parts = append(parts, "at="+at)
	}
	if e.Delay != base.Delay {
		parts = append(parts, "delay="+FormatDuration(e.Delay))
	}
	if e.Rate != base.Rate {
		rate := "unlimited"
		if e.Rate != 0 {
			rate = FormatRate(e.Rate)
		}
		parts = append(parts, "rate="+rate)
	}
	if e.Loss != base.Loss {
		parts = append(parts, "loss="+FormatRatio(e.Loss))
	}
	return strings.Join(parts, ",")
}

// LayerNames lists the layers of all arms, each once, sorted.
func (e *Experiment) LayerNames() []string { return layerNames(e.Arms) }

func layerNames(arms []Arm) []string {
	names := make(map[string]bool)
	for _, a := range arms {
		for name := range a.Layers {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// Design gives the counts of the layers in each arm, in the order of Arms and LayerNames.
func (e *Experiment) Design() stats.Design { return design(e.Arms) }

func design(arms []Arm) stats.Design {
	d := stats.Design{Layers: layerNames(arms)}
	for _, a := range arms {
		row := make([]float64, len(d.Layers))
		for i, name := range d.Layers {
			row[i] = float64(a.Layers[name])
		}
		d.Arms = append(d.Arms, a.Name)
		d.Counts = append(d.Counts, row)
	}
	return d
}

// Separable finds declared layers that the arms cannot tell apart. For layers from paths this is no mistake: the
// analysis gives their cost together, and says so.
func Separable(c *Checker, d stats.Design) {
	for _, set := range d.Separate().Inseparable {
		for _, arm := range d.Arms {
			in := c.In("arms", arm, "layers")
			if i := slices.IndexFunc(set.Layers, in.given); i >= 0 {
				in.wrong(AtKey(set.Layers[i]), "add "+set.Missing, "the arms cannot tell the layers %s apart",
					strings.Join(set.Layers, ", "))
				break
			}
		}
	}
}

// UndeclaredLayers finds arms with hosts or pods that do not say what a packet crosses, if other arms do.
func UndeclaredLayers(c *Checker, arms []Arm) {
	with := slices.IndexFunc(arms, func(a Arm) bool { return a.Lab != nil || a.LayersDeclared })
	if with < 0 {
		return
	}
	for _, a := range arms {
		if (a.HasHosts() || a.Kubernetes != nil) && !a.LayersDeclared {
			c.wrong(AtKey("arms", a.Name),
				"say what a packet crosses, for example layers: {zone: 1}, or layers: {} for nothing",
				"arm %s declares no layers, and arm %s has some", quote(a.Name), quote(arms[with].Name))
		}
	}
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
		none := a.Lab != nil || !a.HasHosts() && a.Kubernetes == nil
		if none || a.LayersDeclared || base.Lab == nil && a.sameHosts(base) {
			continue
		}
		owner := e.HostsOf(a.Name)
		layers[i] = "hosts=" + cmp.Or(a.Client, owner) + "/" + cmp.Or(a.Server, owner)
		if !a.HasHosts() {
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

// DefaultAdditiveMargin is the margin if the file does not say another.
const DefaultAdditiveMargin = 0.05

// AdditiveMargin is how far an arm may lie from the sum of its layers, as a share of the largest difference between an
// arm and the baseline, for the layers to count as adding up.
func (e *Experiment) AdditiveMargin() float64 {
	if e.AdditiveWithin > 0 {
		return e.AdditiveWithin
	}
	return DefaultAdditiveMargin
}
