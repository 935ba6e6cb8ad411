package cli

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"nearfar/internal/base/clean"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/experiment"
)

// kubePlan is the experiment of the verb kube, while it is made.
type kubePlan struct {
	options kubeOptions
	// asked are the keys of both sides that the flags ask for, as the file has them.
	asked     []string
	name      string
	arms      []kubeArm
	workloads []kubeWorkload
	// blocks is 0 for the default.
	blocks int
	// services says that a file asks for a Service, samples how often it repeats its tests; 0 without a file.
	services bool
	samples  int
	// notes say which parts of a file were not taken over.
	notes []string
}

// kubeArm is an arm: its name, and its keys below kubernetes.
type kubeArm struct {
	name, through, nodes string
	hostNetwork          bool
}

// kubeWorkload is a workload: its name, and its other keys as the file has them.
type kubeWorkload struct{ name, keys string }

// makeArms makes an arm for each way between the pods, in each place.
func (p *kubePlan) makeArms() {
	o := p.options
	var ways []kubeArm
	if o.hostNetwork {
		ways = append(ways, kubeArm{name: "host", hostNetwork: true})
	}
	through := o.through
	if len(through) == 0 && p.services {
		through = []string{experiment.ThroughPod, experiment.ThroughClusterIP}
	}
	if len(through) == 0 && !o.hostNetwork {
		through = []string{experiment.ThroughPod}
	}
	names := map[string]string{
		experiment.ThroughPod: "pod", experiment.ThroughClusterIP: "cluster-ip",
		experiment.ThroughNodePort: "node-port", experiment.ThroughHeadless: "headless",
		experiment.ThroughLoadBalancer: "load-balancer",
	}
	for _, t := range through {
		way := kubeArm{name: names[t], through: t}
		if !slices.Contains(ways, way) {
			ways = append(ways, way)
		}
	}
	type place struct{ name, nodes string }
	var places []place
	if o.sameNode {
		places = append(places, place{"same-node", experiment.NodesSame})
	}
	if o.otherNode {
		places = append(places, place{"other-node", experiment.NodesDifferent})
	}
	if o.otherZone {
		places = append(places, place{"other-zone", experiment.NodesDifferentZones})
	}
	if len(places) == 0 {
		places = []place{{"", experiment.NodesDifferent}}
	}
	for _, where := range places {
		for _, way := range ways {
			way.nodes = where.nodes
			if len(places) > 1 {
				way.name += "-" + where.name
			}
			p.arms = append(p.arms, way)
		}
	}
}

// ask writes the keys of --resources, --node-selector, --toleration and --image-pull-secret.
func (p *kubePlan) ask() error {
	o := p.options
	add := func(before string, entries []string, after string) {
		if len(entries) > 0 {
			p.asked = append(p.asked, before+strings.Join(entries, ", ")+after)
		}
	}
	amounts, err := scalars("--resources", o.resources, "cpu=1")
	if err != nil {
		return err
	}
	add("resources: {requests: {", amounts, "}}")
	labels, err := scalars("--node-selector", o.selectors, "pool=fast")
	if err != nil {
		return err
	}
	add("nodeSelector: {", labels, "}")
	var tolerations []string
	for _, given := range o.tolerations {
		taint, effect, hasEffect := strings.Cut(given, ":")
		key, value, hasValue := strings.Cut(taint, "=")
		if key == "" || hasEffect && !slices.Contains([]string{"NoSchedule", "PreferNoSchedule", "NoExecute"}, effect) {
			return usagef("--toleration %s: write KEY, KEY=VALUE or KEY=VALUE:EFFECT, where EFFECT is NoSchedule, "+
				"PreferNoSchedule or NoExecute", clean.Line(given))
		}
		keys := "key: " + scalar(key)
		if hasValue {
			keys += ", value: " + scalar(value)
		} else {
			keys += ", operator: Exists"
		}
		if hasEffect {
			keys += ", effect: " + effect
		}
		tolerations = append(tolerations, "{"+keys+"}")
	}
	add("tolerations: [", tolerations, "]")
	var secrets []string
	for _, name := range o.pullSecrets {
		secrets = append(secrets, scalar(name))
	}
	add("imagePullSecrets: [", secrets, "]")
	return nil
}

// scalars writes NAME=VALUE pairs of a flag as the entries of a mapping.
func scalars(flag string, given []string, example string) (all []string, err error) {
	for _, pair := range given {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" || value == "" {
			return nil, usagef("%s %s: write, for example, %s", flag, clean.Line(pair), example)
		}
		all = append(all, scalar(name)+": "+scalar(value))
	}
	return all, nil
}

// chooseBlocks takes the samples of a file as blocks if they are enough to compare the arms.
func (p *kubePlan) chooseBlocks() error {
	if p.blocks != 0 || p.samples == 0 {
		_, err := p.parsed()
		return err
	}
	p.blocks = p.samples
	e, err := p.parsed()
	if err != nil {
		return err
	}
	if least := figures.MinBlocks(e); least > p.blocks {
		p.notes = append(p.notes, fmt.Sprintf("samples: %d are too few to compare %d arms, which takes %d blocks: "+
			"the file has the default number of blocks", p.blocks, len(p.arms), least))
		p.blocks = 0
		_, err = p.parsed()
	}
	return err
}

// write writes the experiment file.
func (p *kubePlan) write() []byte {
	var b strings.Builder
	for _, note := range p.notes {
		fmt.Fprintf(&b, "# %s\n", strings.ToValidUTF8(strings.Join(strings.Fields(note), " "), "?"))
	}
	fmt.Fprintf(&b, "nearfar: %s\nname: %s\nquestion: %s\n\nbaseline: %s\narms:\n", experiment.Version, p.name,
		p.question(), p.arms[0].name)
	for _, arm := range p.arms {
		fmt.Fprintf(&b, "  %s:\n    kubernetes:\n", arm.name)
		p.key(&b, "context", p.options.context)
		p.key(&b, "namespace", p.options.namespace)
		p.side(&b, arm, "client", p.options.clientNode)
		p.side(&b, arm, "server", p.options.serverNode)
		p.key(&b, "nodes", arm.nodes)
		p.key(&b, "through", arm.through)
	}
	b.WriteString("\nworkloads:\n")
	for _, w := range p.workloads {
		fmt.Fprintf(&b, "  - {name: %s, %s}\n", scalar(w.name), w.keys)
	}
	if p.blocks != 0 {
		fmt.Fprintf(&b, "\nschedule: {blocks: %d}\n", p.blocks)
	}
	return []byte(b.String())
}

func (p *kubePlan) question() string {
	if len(p.arms) == 1 {
		return "How long is a round trip between the two pods, and how much data fits between them?"
	}
	return "What do the ways between two pods cost?"
}

func (*kubePlan) key(b *strings.Builder, key, value string) {
	if value != "" {
		fmt.Fprintf(b, "      %s: %s\n", key, scalar(value))
	}
}

// side writes one side of an arm, if there is something to say about it.
func (p *kubePlan) side(b *strings.Builder, arm kubeArm, side, node string) {
	var keys []string
	for _, one := range []struct{ key, value string }{
		{"node", node}, {"image", p.options.image}, {"agentImage", p.options.agentImage},
	} {
		if one.value != "" {
			keys = append(keys, one.key+": "+scalar(one.value))
		}
	}
	if arm.hostNetwork {
		keys = append(keys, "hostNetwork: true")
	}
	keys = append(keys, p.asked...)
	if len(keys) > 0 {
		fmt.Fprintf(b, "      %s: {%s}\n", side, strings.Join(keys, ", "))
	}
}

// plainScalar is a text that YAML reads as the same text without quotes.
var plainScalar = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9._/-]*(:[A-Za-z0-9._-]+)?$`)

// scalar writes a text as a single value of a file, without variables.
func scalar(text string) string {
	words := []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}
	if plainScalar.MatchString(text) && !slices.Contains(words, strings.ToLower(text)) {
		return text
	}
	quoted, err := json.Marshal(strings.ReplaceAll(text, "${", "$${"))
	if err != nil {
		panic(err) // a text always has one
	}
	return string(quoted)
}
