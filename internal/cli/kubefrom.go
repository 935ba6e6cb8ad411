package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"nearfar/internal/base/clean"
	"nearfar/internal/declare/experiment"
)

// netperfTest is one test of a configuration of k8s-netperf.
type netperfTest struct {
	name string
	// at is the place of the test in the file: "netperf.yml:3".
	at                                             string
	profile                                        string
	parallelism, duration, samples, size, inFlight int
	service                                        bool
	// others are keys that nearfar does not know, in the order of the file.
	others []string
}

// maxNetperf bounds the tests of a file. An experiment has at most as many workloads.
const maxNetperf = 100

// readNetperf reads the tests of a configuration of k8s-netperf: version 2 is a list below the key tests, version 1 a
// mapping with the names of the tests. name is for messages.
func readNetperf(name string, data []byte) ([]netperfTest, error) {
	const largest = 1 << 20
	if len(data) > largest {
		return nil, fmt.Errorf("%s: the file has %d bytes; at most %d", name, len(data), largest)
	}
	var document yaml.Node
	if err := yaml.Load(data, &document); err != nil {
		return nil, fmt.Errorf("%s is no YAML: %s", name, clean.Line(err.Error()))
	}
	wrong := func(n *yaml.Node, format string, args ...any) error {
		return fmt.Errorf("%s:%d: %s", name, n.Line, fmt.Sprintf(format, args...))
	}
	if len(document.Content) != 1 || document.Content[0].Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%s: a configuration of k8s-netperf has the key tests, with a list of tests", name)
	}
	top := document.Content[0]
	var nodes []*yaml.Node // a mapping for each test
	var names []string
	for i := 0; i+1 < len(top.Content); i += 2 {
		key, value := top.Content[i], top.Content[i+1]
		if key.Value != "tests" {
			nodes, names = append(nodes, value), append(names, key.Value)
			continue
		}
		if value.Kind != yaml.SequenceNode {
			return nil, wrong(value, "tests must be a list")
		}
		for _, one := range value.Content {
			nodes, names = append(nodes, one), append(names, "")
		}
	}
	if len(nodes) == 0 || len(nodes) > maxNetperf {
		return nil, fmt.Errorf("%s has %d tests: 1 to %d", name, len(nodes), maxNetperf)
	}
	var tests []netperfTest
	for i, n := range nodes {
		t := netperfTest{name: names[i], at: fmt.Sprintf("%s:%d", name, n.Line), parallelism: 1, samples: 1}
		if err := t.read(n, wrong); err != nil {
			return nil, err
		}
		tests = append(tests, t)
	}
	return tests, nil
}

// read reads the keys of a test. A key whose value is empty or a mapping is the name of the test.
func (t *netperfTest) read(n *yaml.Node, wrong func(*yaml.Node, string, ...any) error) error {
	if n.Kind != yaml.MappingNode {
		return wrong(n, "a test must be a mapping")
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		number := map[string]*int{
			"parallelism": &t.parallelism, "duration": &t.duration, "samples": &t.samples, "messagesize": &t.size,
			"burst": &t.inFlight,
		}[key.Value]
		switch {
		case number != nil:
			v, err := strconv.Atoi(value.Value)
			if err != nil || v < 0 || v > 1<<30 || v == 0 && key.Value != "burst" {
				return wrong(value, "%s must be a whole number above 0, not %s", key.Value, clean.Quote(value.Value))
			}
			*number = v
		case key.Value == "profile":
			t.profile = strings.ToUpper(value.Value)
		case key.Value == "service":
			v, err := strconv.ParseBool(strings.ToLower(value.Value))
			if err != nil {
				return wrong(value, "service must be true or false, not %s", clean.Quote(value.Value))
			}
			t.service = v
		case value.Kind == yaml.MappingNode && t.name == "":
			t.name = key.Value
			if err := t.read(value, wrong); err != nil {
				return err
			}
		case value.ShortTag() == "!!null" && t.name == "":
			t.name = key.Value
		default:
			t.others = append(t.others, key.Value)
		}
	}
	return nil
}

// take makes workloads of the tests, and notes what it does not take over.
func (p *kubePlan) take(tests []netperfTest) error {
	p.name = "k8s-netperf"
	note := func(t netperfTest, format string, args ...any) {
		text := fmt.Sprintf(format, args...)
		p.notes = append(p.notes, fmt.Sprintf("%s: test %s: %s", t.at, clean.Quote(t.name), text))
	}
	byKeys := map[string]string{} // the name of the workload with these keys
	taken := map[string]bool{}
	direct := false
	for _, t := range tests {
		keys, left, err := t.workload()
		if err != nil {
			note(t, "left out: %v", err)
			continue
		}
		for _, one := range left {
			note(t, "%s", one)
		}
		p.services, direct = p.services || t.service, direct || !t.service
		p.samples = max(p.samples, t.samples)
		if name, known := byKeys[keys]; known {
			if t.name != name {
				note(t, "measured as %s, which has the same parameters", name)
			}
			continue
		}
		base := cmp.Or(experiment.ToName(t.name), experiment.ToName(strings.ToLower(t.profile)))
		name := base
		for i := 2; taken[name]; i++ {
			suffix := "-" + strconv.Itoa(i)
			name = base[:min(len(base), 64-len(suffix))] + suffix
		}
		taken[name], byKeys[keys] = true, name
		p.workloads = append(p.workloads, kubeWorkload{name, keys})
	}
	switch {
	case len(p.workloads) == 0:
		return usagef("%s: no test can be measured:\n  %s", p.options.from, strings.Join(p.notes, "\n  "))
	case p.services && len(p.options.through) > 0:
		p.notes = append(p.notes, "service is not taken over: --through says what is dialled")
	case p.services && direct:
		p.notes = append(p.notes, "service: every test is measured in both arms, to the pod and through the Service")
	case p.services:
		p.notes = append(p.notes, "service: the tests are measured to the pod as well, for the comparison")
	}
	return nil
}

// workload gives the keys of the workload that measures what a test does, and what of the test they leave out. An error
// says that no workload does.
func (t netperfTest) workload() (keys string, left []string, err error) {
	if t.duration == 0 || t.size == 0 {
		return "", nil, errors.New("it has no duration or no messagesize")
	}
	size := experiment.FormatSize(t.size)
	connections := false
	switch t.profile {
	case "TCP_STREAM":
		keys, connections = "tool: native, mode: stream, message: "+size, true
		if t.parallelism > 1 {
			keys += ", connections: " + strconv.Itoa(t.parallelism)
		}
	case "UDP_STREAM":
		keys = "tool: native, mode: messages, protocol: udp, message: " + experiment.FormatSize(max(t.size, leastUDP))
	case "TCP_RR":
		keys = "tool: native, mode: rr, protocol: tcp, request: " + size
	case "UDP_RR":
		keys = "tool: native, mode: rr, protocol: udp, request: " + experiment.FormatSize(max(t.size, leastUDP))
	case "TCP_CRR":
		keys = "tool: native, mode: crr, request: " + size
	default:
		return "", nil, fmt.Errorf("no workload measures the profile %s", clean.Quote(t.profile))
	}
	if t.parallelism > 1 && !connections {
		left = append(left,
			fmt.Sprintf("parallelism %d is not taken over: the workload has one connection", t.parallelism))
	}
	if strings.HasPrefix(t.profile, "UDP") && t.size < leastUDP {
		left = append(left,
			fmt.Sprintf("messagesize %d becomes %d: native over UDP has at least that", t.size, leastUDP))
	}
	if t.inFlight > 0 {
		left = append(left, fmt.Sprintf("burst %d is not taken over: rr has one request under way", t.inFlight))
	}
	others := slices.Compact(slices.Sorted(slices.Values(t.others)))
	for _, key := range others[:min(len(others), 10)] {
		left = append(left, fmt.Sprintf("the key %s is not taken over", clean.Quote(key)))
	}
	return keys + ", duration: " + strconv.Itoa(t.duration) + "s", left, nil
}

// leastUDP is the size in bytes of the smallest message of native over UDP.
const leastUDP = 32
