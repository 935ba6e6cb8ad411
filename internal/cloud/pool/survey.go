package pool

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	corehelpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// A Survey says what a migration will move, and what prevents it.
type Survey struct {
	Nodes []NodeSurvey `json:"nodes"`
	// NewNodes are the nodes of the new pool, if it exists.
	NewNodes []string `json:"new_nodes"`
	Budgets  []Budget `json:"budgets"`
	// Problems end the migration before it begins, unless their flag is given.
	Problems []Problem `json:"problems"`
	// Notes are what a user should know but what does not stop the migration.
	Notes []string `json:"notes"`
}

// NodeSurvey is a node of the old pool.
type NodeSurvey struct {
	Name     string `json:"name"`
	Cordoned bool   `json:"cordoned"`
	// Moving are pods that are evicted. Staying is how many belong to the node: of DaemonSets, and static pods.
	Moving  []MovingPod `json:"moving"`
	Staying int         `json:"staying"`
}

// MovingPod is a pod that is evicted.
type MovingPod struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Workload is the workload that makes the pod again; empty if none does.
	Workload string `json:"workload,omitempty"`
	EmptyDir bool   `json:"emptydir,omitempty"`
	// Budgets are the PodDisruptionBudgets of the pod.
	Budgets []string `json:"budgets,omitempty"`
}

// Budget is a PodDisruptionBudget with pods on the old pool.
type Budget struct {
	Name string `json:"name"`
	// Allowed is how many pods may be evicted now. Healthy is the number of ready pods, Needed is how many of them must
	// stay.
	Allowed int `json:"allowed"`
	Healthy int `json:"healthy"`
	Needed  int `json:"needed"`
}

// String says what a budget allows now.
func (b Budget) String() string {
	return fmt.Sprintf("PodDisruptionBudget %s: evictions allowed now: %d (pods healthy: %d, needed: %d)", b.Name,
		b.Allowed, b.Healthy, b.Needed)
}

// Problem is what a drain would refuse, or what would go wrong after it.
type Problem struct {
	Text string `json:"text"`
	// Flag is the flag that allows it; empty if there is none. Allowed says that it was given.
	Flag    string `json:"flag,omitempty"`
	Allowed bool   `json:"allowed,omitempty"`
}

// Refused lists the problems that stop the migration.
func (s *Survey) Refused() []Problem {
	return slices.DeleteFunc(slices.Clone(s.Problems), func(p Problem) bool { return p.Allowed })
}

// survey looks at the nodes of a pool whose pods go to other nodes. The future node describes the nodes of a pool that
// does not exist yet; nil if that pool exists.
func (c *Cluster) survey(ctx context.Context, s *State, from, to []corev1.Node, future *corev1.Node) (*Survey, error) {
	all, err := c.nodes(ctx, "")
	if err != nil {
		return nil, err
	}
	targets := slices.DeleteFunc(all, func(n corev1.Node) bool {
		return !isReady(&n) || slices.ContainsFunc(from, func(f corev1.Node) bool { return f.Name == n.Name })
	})
	if future != nil {
		targets = append(targets, *future)
	}
	budgets, err := c.budgets(ctx)
	if err != nil {
		return nil, err
	}
	v := &surveyor{
		c: c, survey: &Survey{}, owners: c.owners(), budgets: budgets, targets: targets, unbudgeted: map[string]int{},
	}
	for _, n := range to {
		v.survey.NewNodes = append(v.survey.NewNodes, n.Name)
	}
	for _, n := range from {
		if err := v.node(ctx, &n); err != nil {
			return nil, err
		}
	}
	v.conclude(s.Consent)
	return v.survey, nil
}

// A surveyor gathers a Survey.
type surveyor struct {
	c       *Cluster
	survey  *Survey
	owners  *owners
	budgets []podBudget
	targets []corev1.Node

	emptyDir, unmanaged, pending, crowded, jobs []string
	unbudgeted                                  map[string]int // pods by workload
	used                                        []string       // budgets
}

func (v *surveyor) node(ctx context.Context, n *corev1.Node) error {
	pods, err := v.c.podsOn(ctx, n.Name)
	if err != nil {
		return err
	}
	on := NodeSurvey{Name: n.Name, Cordoned: n.Spec.Unschedulable}
	for i := range pods {
		p := &pods[i]
		if stays(p) {
			on.Staying++
			continue
		}
		moving, err := v.pod(ctx, p)
		if err != nil {
			return err
		}
		on.Moving = append(on.Moving, moving)
	}
	v.survey.Nodes = append(v.survey.Nodes, on)
	return nil
}

func (v *surveyor) pod(ctx context.Context, p *corev1.Pod) (MovingPod, error) {
	name := p.Namespace + "/" + p.Name
	m := MovingPod{Namespace: p.Namespace, Name: p.Name}
	if finished(p) {
		return m, nil
	}
	w, managed, err := v.owners.of(ctx, p)
	if err != nil {
		return m, err
	}
	if managed {
		m.Workload = w.String()
	} else {
		v.unmanaged = append(v.unmanaged, name)
	}
	m.EmptyDir = slices.ContainsFunc(p.Spec.Volumes, func(v corev1.Volume) bool { return v.EmptyDir != nil })
	if m.EmptyDir {
		v.emptyDir = append(v.emptyDir, name)
	}
	for _, b := range v.budgets {
		if b.of(p) {
			m.Budgets = append(m.Budgets, b.Name)
			if !slices.Contains(v.used, b.Name) {
				v.used = append(v.used, b.Name)
				v.survey.Budgets = append(v.survey.Budgets, b.Budget)
			}
		}
	}
	switch {
	case len(m.Budgets) > 1:
		v.crowded = append(v.crowded, name)
	case len(m.Budgets) == 0 && managed && w.Kind != kindJob:
		v.unbudgeted[m.Workload]++
	}
	if managed && w.Kind == kindJob {
		v.jobs = append(v.jobs, name)
	}
	if managed && !slices.ContainsFunc(v.targets, func(n corev1.Node) bool { return fits(p, &n) }) {
		v.pending = append(v.pending, name)
	}
	return m, nil
}

// fits says that a pod's nodeSelector, required node affinity and tolerations allow a node. It does not look at CPUs
// and memory.
func fits(p *corev1.Pod, n *corev1.Node) bool {
	match, err := nodeaffinity.GetRequiredNodeAffinity(p).Match(n)
	if err != nil || !match {
		return false
	}
	strict := func(t *corev1.Taint) bool {
		return t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute
	}
	_, refused := corehelpers.FindMatchingUntoleratedTaint(n.Spec.Taints, p.Spec.Tolerations, strict)
	return !refused
}

// conclude writes the problems and notes.
func (v *surveyor) conclude(allowed Consent) {
	add := func(pods []string, flag string, allowed bool, format string) {
		if len(pods) > 0 {
			v.survey.Problems = append(v.survey.Problems,
				Problem{Text: fmt.Sprintf(format, joined(pods)), Flag: flag, Allowed: allowed})
		}
	}
	add(v.emptyDir, "--delete-emptydir-data", allowed.EmptyDir,
		"these pods have emptyDir volumes, whose content is lost: %s")
	add(v.unmanaged, "--force", allowed.Unmanaged, "no controller makes these pods again; they are gone after it: %s")
	add(v.pending, "--allow-pending", allowed.Pending,
		"the labels and taints of no other node allow these pods, which would stay pending: %s")
	add(v.crowded, "", false, "these pods have several PodDisruptionBudgets, so the API server never evicts them: %s")
	for _, b := range v.survey.Budgets {
		if b.Allowed == 0 {
			v.survey.Notes = append(v.survey.Notes, b.String()+": the drain waits until one is allowed")
		}
	}
	var bare []string
	for w, n := range v.unbudgeted {
		if n > 1 {
			bare = append(bare, w)
		}
	}
	if slices.Sort(bare); len(bare) > 0 {
		v.survey.Notes = append(v.survey.Notes, "these workloads have no PodDisruptionBudget, so all of their pods on "+
			"a node are evicted at once: "+joined(bare))
	}
	if len(v.jobs) > 0 {
		v.survey.Notes = append(v.survey.Notes,
			"these pods of Jobs are ended, and begin again elsewhere: "+joined(v.jobs))
	}
}

// podBudget is a budget that knows its pods.
type podBudget struct {
	Budget
	namespace string
	selector  labels.Selector
}

func (b podBudget) of(p *corev1.Pod) bool {
	return b.namespace == p.Namespace && b.selector.Matches(labels.Set(p.Labels))
}

// budgets lists all PodDisruptionBudgets.
func (c *Cluster) budgets(ctx context.Context) ([]podBudget, error) {
	var all []podBudget
	o := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := c.client.PolicyV1().PodDisruptionBudgets(metav1.NamespaceAll).List(ctx, o)
		if err != nil {
			return nil, fmt.Errorf("listing PodDisruptionBudgets: %w", err)
		}
		for i := range page.Items {
			b, err := readBudget(&page.Items[i])
			if err != nil {
				return nil, err
			}
			all = append(all, b)
		}
		if o.Continue = page.Continue; o.Continue == "" {
			return all, nil
		}
	}
}

func readBudget(b *policyv1.PodDisruptionBudget) (podBudget, error) {
	selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
	if err != nil {
		return podBudget{}, fmt.Errorf("PodDisruptionBudget %s/%s: %w", b.Namespace, b.Name, err)
	}
	return podBudget{
		Budget: Budget{
			Name: b.Namespace + "/" + b.Name, Allowed: int(b.Status.DisruptionsAllowed),
			Healthy: int(b.Status.CurrentHealthy), Needed: int(b.Status.DesiredHealthy),
		},
		namespace: b.Namespace, selector: selector,
	}, nil
}

// blocking says which budgets keep the pods of a node from being evicted now.
func (c *Cluster) blocking(ctx context.Context, node string) ([]string, error) {
	pods, err := c.podsOn(ctx, node)
	if err != nil {
		return nil, err
	}
	budgets, err := c.budgets(ctx)
	if err != nil {
		return nil, err
	}
	var blocked []string
	for _, b := range budgets {
		if b.Allowed > 0 {
			continue
		}
		var held []string
		for i := range pods {
			if p := &pods[i]; b.of(p) && !stays(p) && !finished(p) && p.DeletionTimestamp == nil {
				held = append(held, p.Name)
			}
		}
		if len(held) > 0 {
			blocked = append(blocked, fmt.Sprintf("%s; it keeps %s", b.Budget, strings.Join(held, ", ")))
		}
	}
	return blocked, nil
}
