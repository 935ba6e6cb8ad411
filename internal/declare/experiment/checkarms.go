package experiment

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"nearfar/internal/declare/check"
)

// maxLayerName is the greatest length of a layer's name in bytes. Names of layers that an arm sets hold keys and
// values.
const maxLayerName = 1000

// what names an arm in messages.
func (a Arm) what() string { return "arm " + quote(a.Name) }

// Check checks what an arm says by itself.
func (a Arm) Check(c *Checker) {
	c.Name(AtKey(), "an arm", a.Name)
	if a.Lab != nil {
		a.Lab.check(c.In("lab"))
	}
	if !a.LayersDeclared {
		return
	}
	if n := len(a.Layers); n > maxPath {
		c.wrong(AtValue("layers"), "at most "+strconv.Itoa(maxPath), "an arm with %d layers", n)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(a.Layers)) {
		c.Name(AtKey("layers", name), "a layer", name)
		c.whole(AtValue("layers", name), LayerCount(name), a.Layers[name], LayerCounts())
	}
}

// LayerCounts are how often an arm can have a layer.
func LayerCounts() Range { return Range{0, maxCount} }

// LayerCount names in messages how often an arm has a layer.
func LayerCount(name string) string { return "the count of layer " + strings.TrimSpace(name) }

// CheckWays checks that an arm has hosts, in one way. One of two hosts can be a pod.
func (a Arm) CheckWays(c *Checker) {
	has := map[string]bool{"lab": a.Lab != nil, "kubernetes": a.Kubernetes != nil, "client": a.Client != "",
		"server": a.Server != ""}
	var first string
	client := has["client"] || c.given("client")
	for _, key := range []string{"lab", "kubernetes", "tofu", "client", "server"} {
		switch {
		case !has[key] && !c.given(key):
		case first == "":
			first = key
		case first == "kubernetes" && (key == "client" || key == "server"):
			if key == "server" && client {
				c.wrong(AtKey(first), "leave out kubernetes, client or server",
					"%s names both hosts, so that there is no pod to make", a.what())
			}
		case key == "server" && client: // one way, and already reported if there is another
		default:
			c.wrong(AtKey(key), "keep one of them", "%s makes its hosts in two ways, %s and %s", a.what(), first, key)
		}
	}
	if first == "" && !c.misspelt("lab", "kubernetes", "client", "server") {
		c.wrong(AtKey(), "name them, for example client: vm-a, server: vm-b, or make them with lab: {path: [bridge]} or "+
			"kubernetes: {}", "%s has no hosts", a.what())
	}
}

// checkPods checks the pods of an arm that was not read from a file.
func (a Arm) checkPods(c *Checker, tools Tools) {
	k := a.Kubernetes
	for side, named := range map[string]string{"client": a.Client, "server": a.Server} {
		if (named == "") != (k.pod(side) != nil) {
			c.wrong(AtValue(side), "", "%s needs one %s, a host or a pod", a.what(), side)
		}
	}
	if k.Check(c, a.what(), tools); c.count() == 0 {
		k.CheckTogether(c, a.what())
	}
}

// bounds checks that an arm does not say too much, and that it sets keys only of workloads that exist.
func (a Arm) bounds(c *Checker, workloads map[string]bool) {
	if a.Lab != nil {
		c.Most(AtValue("lab", "path"), "elements", len(a.Lab.Path), maxPath)
	}
	if a.Kubernetes != nil {
		c.Most(AtValue("kubernetes"), "bytes", len(written(a.Kubernetes)), maxPods)
	}
	a.checkExpect(c)
	most := MaxWorkloads * len(SettableKeys())
	if !c.Most(AtValue("set"), "values", len(a.Set), most) || !c.Most(AtValue("set"), "workloads", len(a.Workloads),
		MaxWorkloads) {
		return
	}
	known := slices.Sorted(maps.Keys(workloads))
	for _, s := range a.Set {
		for _, w := range s.Workloads {
			if !workloads[w] {
				c.wrong(AtValue("set", s.Key), Suggest(w, known), "%s is no workload", quote(w))
				return
			}
		}
	}
	for _, w := range a.Workloads {
		if !workloads[w.Name] {
			c.wrong(AtValue("set"), Suggest(w.Name, known), "%s is no workload", quote(w.Name))
		}
		w.bounds(c.In("workloads", w.Name))
	}
}

// checkExpect checks what a recorded arm expects. The reader checks each value as it stands in the file.
func (a Arm) checkExpect(c *Checker) {
	if !c.Most(AtValue("expect"), "expectations", len(a.Expect), MaxFacts+len(check.Expectations())) {
		return
	}
	for i, e := range a.Expect {
		text, _ := e.Value.(string)
		at := AtValue("expect", cmp.Or(e.Path, e.Name))
		if n := max(utf8.RuneCountInString(e.Path), utf8.RuneCountInString(text)); n > maxExpectText {
			c.wrong(AtValue("expect"), fmt.Sprintf("at most %d", maxExpectText), "a text of %d characters", n)
		} else if err := e.Check(); err != nil {
			c.refuse(at, err)
		}
		if slices.ContainsFunc(a.Expect[:i], func(o check.Expectation) bool { return o.Subject() == e.Subject() }) {
			c.wrong(at, "keep one of them", "%s is here twice", quote(e.Subject()))
		}
	}
}

// CheckLimits says which value of a lab is beyond its limits. It does not check where elements stand in the path.
func (l *Lab) CheckLimits() error {
	c := newChecker()
	l.limits(c)
	return c.err()
}

// check checks that a lab can be built.
func (l *Lab) check(c *Checker) {
	if l.limits(c) {
		for _, m := range misplaced(l.Path) {
			c.wrong(AtValue("path", Item(m.at)), m.hint, "%s", m.text)
		}
	}
}

// LeastIPv6 is the smallest MTU in bytes with which a lab's path carries IPv6 (RFC 8200, section 5).
func (l *Lab) LeastIPv6() int {
	if l.has(VTEP) {
		return 1280 + vxlanBytes
	}
	return 1280
}

// Numbers are the keys of a lab that have whole numbers.
func (l *Lab) Numbers() []NumberKey { return []NumberKey{{"mtu", &l.MTU, Range{minMTU, maxMTU}}} }

// limits checks a path without regard to the places of its elements, and the MTU. It says whether the elements are
// known.
func (l *Lab) limits(c *Checker) (known bool) {
	mtu := l.Numbers()[0]
	c.whole(AtValue(mtu.Name), mtu.Name, l.MTU, mtu.Limits) // 0 is none, too
	if l.has(VTEP) && l.MTU < minMTU+vxlanBytes && c.sound("mtu") {
		c.wrong(AtValue("mtu"), "at least "+strconv.Itoa(minMTU+vxlanBytes), "mtu %d leaves no room for VXLAN", l.MTU)
	}
	switch n := len(l.Path); {
	case n == 0:
		c.wrong(AtValue("path"), "write, for example, path: [bridge]", "the path is empty")
		return false
	case n > maxPath:
		c.wrong(AtValue("path"), "at most "+strconv.Itoa(maxPath), "the path has %d elements", n)
		return false
	}
	known = true
	for i, e := range l.Path {
		in := c.In("path", Item(i))
		if in.word(AtKey(e.Kind), "kind of path element", e.Kind, ElementKinds()) {
			e.check(in.In(e.Kind))
		} else {
			known = false
		}
	}
	if hops := routedHops(l.Path); known && hops > maxHops {
		c.wrong(AtValue("path"), fmt.Sprintf("at most %d", maxHops),
			"%d routers between two hosts are more than a packet crosses", hops)
	}
	return known
}

// Numbers are the keys of an element that have whole numbers.
func (e *Element) Numbers() []NumberKey { return []NumberKey{{"rules", &e.Rules, Range{1, maxRules}}} }

// check checks that an element has only the parameters of its kind, within their limits.
func (e Element) check(c *Checker) {
	given := map[string]bool{"rules": e.Rules != 0, "delay": e.Delay != 0, "rate": e.Rate != 0, "loss": e.Loss != 0}
	for _, key := range slices.Sorted(maps.Keys(given)) {
		if given[key] && !slices.Contains(KeysOf(e.Kind), key) {
			c.wrong(AtKey(key), "leave it out", "a %s has no %s", e.Kind, key)
		}
	}
	if e.Kind == Firewall {
		rules := e.Numbers()[0]
		c.whole(AtValue(rules.Name), rules.Name, e.Rules, rules.Limits)
	}
	switch {
	case e.Delay < 0:
		c.wrong(AtValue("delay"), "write, for example, 50us", "a delay of %s is negative", FormatDuration(e.Delay))
	case e.Delay > maxDelay:
		c.wrong(AtValue("delay"), "at most "+FormatDuration(maxDelay), "a delay of %s is too long", FormatDuration(e.Delay))
	case e.Delay%delayStep != 0:
		c.wrong(AtValue("delay"), "write, for example, "+FormatDuration(e.Delay.Truncate(delayStep)+delayStep),
			"delay %s: a wire counts in steps of %s", FormatDuration(e.Delay), FormatDuration(delayStep))
	}
	if e.Rate != 0 && (e.Rate < minWireRate || e.Rate > maxWireRate) {
		c.wrong(AtValue("rate"), "write "+FormatRate(minWireRate)+" to "+FormatRate(maxWireRate),
			"a wire cannot have a rate of %s", FormatRate(e.Rate))
	}
	switch {
	case e.Loss == 1:
		c.wrong(AtValue("loss"), "did you mean 1%?", "with a loss of 100%% nothing gets through")
	case e.Loss != 0 && !(e.Loss >= minRatio && e.Loss < 1):
		c.wrong(AtValue("loss"), "0% to 100%", "a wire cannot have a loss of %v", e.Loss)
	}
}
