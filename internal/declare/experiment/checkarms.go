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

// check checks what an arm says by itself.
func (a Arm) check(c *checker) {
	c.name(atKey(), "an arm", a.Name)
	if a.Lab != nil {
		a.Lab.check(c.in("lab"))
	}
	if !a.LayersDeclared {
		return
	}
	if n := len(a.Layers); n > maxPath {
		c.wrong(value("layers"), "at most "+strconv.Itoa(maxPath), "an arm with %d layers", n)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(a.Layers)) {
		c.name(atKey("layers", name), "a layer", name)
		c.whole(value("layers", name), layerCount(name), a.Layers[name], layerCounts())
	}
}

func layerCounts() Range { return Range{0, maxCount} }

func layerCount(name string) string { return "the count of layer " + strings.TrimSpace(name) }

// checkWays checks that an arm has hosts, in one way. One of two hosts can be a pod.
func (a Arm) checkWays(c *checker) {
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
				c.wrong(atKey(first), "leave out kubernetes, client or server",
					"%s names both hosts, so that there is no pod to make", a.what())
			}
		case key == "server" && client: // one way, and already reported if there is another
		default:
			c.wrong(atKey(key), "keep one of them", "%s makes its hosts in two ways, %s and %s", a.what(), first, key)
		}
	}
	if first == "" && !c.misspelt("lab", "kubernetes", "client", "server") {
		c.wrong(atKey(), "name them, for example client: vm-a, server: vm-b, or make them with lab: {path: [bridge]} or "+
			"kubernetes: {}", "%s has no hosts", a.what())
	}
}

// checkPods checks the pods of an arm that was not read from a file.
func (a Arm) checkPods(c *checker, tools Tools) {
	k := a.Kubernetes
	for side, named := range map[string]string{"client": a.Client, "server": a.Server} {
		if (named == "") != (k.pod(side) != nil) {
			c.wrong(value(side), "", "%s needs one %s, a host or a pod", a.what(), side)
		}
	}
	if k.check(c, a.what(), tools); c.count() == 0 {
		k.checkTogether(c, a.what())
	}
}

// bounds checks that an arm does not say too much, and that it sets keys only of workloads that exist.
func (a Arm) bounds(c *checker, workloads map[string]bool) {
	if a.Lab != nil {
		c.most(value("lab", "path"), "elements", len(a.Lab.Path), maxPath)
	}
	if a.Kubernetes != nil {
		c.most(value("kubernetes"), "bytes", len(written(a.Kubernetes)), maxPods)
	}
	a.checkExpect(c)
	most := maxWorkloads * len(settableKeys())
	if !c.most(value("set"), "values", len(a.Set), most) || !c.most(value("set"), "workloads", len(a.Workloads),
		maxWorkloads) {
		return
	}
	known := slices.Sorted(maps.Keys(workloads))
	for _, s := range a.Set {
		for _, w := range s.Workloads {
			if !workloads[w] {
				c.wrong(value("set", s.Key), Suggest(w, known), "%s is no workload", quote(w))
				return
			}
		}
	}
	for _, w := range a.Workloads {
		if !workloads[w.Name] {
			c.wrong(value("set"), Suggest(w.Name, known), "%s is no workload", quote(w.Name))
		}
		w.bounds(c.in("workloads", w.Name))
	}
}

// checkExpect checks what a recorded arm expects. The reader checks each value as it stands in the file.
func (a Arm) checkExpect(c *checker) {
	if !c.most(value("expect"), "expectations", len(a.Expect), maxFacts+len(check.Expectations())) {
		return
	}
	for i, e := range a.Expect {
		text, _ := e.Value.(string)
		at := value("expect", cmp.Or(e.Path, e.Name))
		if n := max(utf8.RuneCountInString(e.Path), utf8.RuneCountInString(text)); n > maxExpectText {
			c.wrong(value("expect"), fmt.Sprintf("at most %d", maxExpectText), "a text of %d characters", n)
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
func (l *Lab) check(c *checker) {
	if l.limits(c) {
		for _, m := range misplaced(l.Path) {
			c.wrong(value("path", item(m.at)), m.hint, "%s", m.text)
		}
	}
}

// leastIPv6 is the smallest MTU in bytes with which a lab's path carries IPv6 (RFC 8200, section 5).
func (l *Lab) leastIPv6() int {
	if l.has(VTEP) {
		return 1280 + vxlanBytes
	}
	return 1280
}

func (l *Lab) numbers() []numberKey { return []numberKey{{"mtu", &l.MTU, Range{minMTU, maxMTU}}} }

// limits checks a path without regard to the places of its elements, and the MTU. It says whether the elements are
// known.
func (l *Lab) limits(c *checker) (known bool) {
	mtu := l.numbers()[0]
	c.whole(value(mtu.name), mtu.name, l.MTU, mtu.limits) // 0 is none, too
	if l.has(VTEP) && l.MTU < minMTU+vxlanBytes && c.sound("mtu") {
		c.wrong(value("mtu"), "at least "+strconv.Itoa(minMTU+vxlanBytes), "mtu %d leaves no room for VXLAN", l.MTU)
	}
	switch n := len(l.Path); {
	case n == 0:
		c.wrong(value("path"), "write, for example, path: [bridge]", "the path is empty")
		return false
	case n > maxPath:
		c.wrong(value("path"), "at most "+strconv.Itoa(maxPath), "the path has %d elements", n)
		return false
	}
	known = true
	for i, e := range l.Path {
		in := c.in("path", item(i))
		if in.word(atKey(e.Kind), "kind of path element", e.Kind, elementKinds()) {
			e.check(in.in(e.Kind))
		} else {
			known = false
		}
	}
	if hops := routedHops(l.Path); known && hops > maxHops {
		c.wrong(value("path"), fmt.Sprintf("at most %d", maxHops),
			"%d routers between two hosts are more than a packet crosses", hops)
	}
	return known
}

func (e *Element) numbers() []numberKey { return []numberKey{{"rules", &e.Rules, Range{1, maxRules}}} }

// check checks that an element has only the parameters of its kind, within their limits.
func (e Element) check(c *checker) {
	given := map[string]bool{"rules": e.Rules != 0, "delay": e.Delay != 0, "rate": e.Rate != 0, "loss": e.Loss != 0}
	for _, key := range slices.Sorted(maps.Keys(given)) {
		if given[key] && !slices.Contains(elementKeys(e.Kind), key) {
			c.wrong(atKey(key), "leave it out", "a %s has no %s", e.Kind, key)
		}
	}
	if e.Kind == Firewall {
		rules := e.numbers()[0]
		c.whole(value(rules.name), rules.name, e.Rules, rules.limits)
	}
	switch {
	case e.Delay < 0:
		c.wrong(value("delay"), "write, for example, 50us", "a delay of %s is negative", FormatDuration(e.Delay))
	case e.Delay > maxDelay:
		c.wrong(value("delay"), "at most "+FormatDuration(maxDelay), "a delay of %s is too long", FormatDuration(e.Delay))
	case e.Delay%delayStep != 0:
		c.wrong(value("delay"), "write, for example, "+FormatDuration(e.Delay.Truncate(delayStep)+delayStep),
			"delay %s: a wire counts in steps of %s", FormatDuration(e.Delay), FormatDuration(delayStep))
	}
	if e.Rate != 0 && (e.Rate < minWireRate || e.Rate > maxWireRate) {
		c.wrong(value("rate"), "write "+FormatRate(minWireRate)+" to "+FormatRate(maxWireRate),
			"a wire cannot have a rate of %s", FormatRate(e.Rate))
	}
	switch {
	case e.Loss == 1:
		c.wrong(value("loss"), "did you mean 1%?", "with a loss of 100%% nothing gets through")
	case e.Loss != 0 && !(e.Loss >= minRatio && e.Loss < 1):
		c.wrong(value("loss"), "0% to 100%", "a wire cannot have a loss of %v", e.Loss)
	}
}
