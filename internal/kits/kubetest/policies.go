//go:build linux

package kubetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// EnforcePolicies enforces the NetworkPolicies of a namespace until the test ends. Each node drops what the policies do
// not admit, in nftables' hook for forwarded packets. As in other clusters, the rules follow new pods after a moment,
// established connections are not cut, and a node reaches its own pods.
//
// It knows selectors of pods in the same namespace, and ports. A policy with anything else fails the test.
func (c *Cluster) EnforcePolicies(t testing.TB, namespace string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	changed := make(chan struct{}, 1)
	table := "policies-" + namespace
	var running sync.WaitGroup
	for _, path := range []string{podsOf(namespace), policiesOf(namespace)} {
		running.Go(func() { c.watch(ctx, path, changed) })
	}
	running.Go(func() {
		if err := c.enforce(ctx, namespace, table, changed); err != nil {
			t.Errorf("enforcing network policies: %v", err)
		}
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
		for _, n := range c.order {
			if err := n.loadRules(context.Background(), emptyTable(table)+"delete table ip "+table+"\n"); err != nil {
				t.Errorf("node %s: %v", n.Name, err)
			}
		}
	})
}

func podsOf(namespace string) string { return "/api/v1/namespaces/" + namespace + "/pods" }

func policiesOf(namespace string) string {
	return "/apis/networking.k8s.io/v1/namespaces/" + namespace + "/networkpolicies"
}

// watch tells of each change of a list of objects, until the context ends.
func (c *Cluster) watch(ctx context.Context, path string, changed chan<- struct{}) {
	tell := func() {
		select {
		case changed <- struct{}{}:
		default: // it is told already
		}
	}
	for ctx.Err() == nil {
		q, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+apiAddress+path+"?watch=true", nil)
		if err != nil {
			return
		}
		r, err := c.client.Do(q)
		if err != nil {
			time.Sleep(20 * time.Millisecond) // the API server restarts
			continue
		}
		tell() // something can have changed since the last watch ended
		for events := json.NewDecoder(r.Body); events.Decode(&struct{}{}) == nil; {
			tell()
		}
		_ = r.Body.Close()
	}
}

// enforce loads new rules into all nodes after each change.
func (c *Cluster) enforce(ctx context.Context, namespace, table string, changed <-chan struct{}) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
		var pods corev1.PodList
		var policies networkingv1.NetworkPolicyList
		_, err := c.read(podsOf(namespace), &pods)
		if err == nil {
			_, err = c.read(policiesOf(namespace), &policies)
		}
		if err != nil {
			continue // the next change comes when the API server is there again
		}
		for _, n := range c.order {
			rules, err := policyRules(table, n.Name, pods.Items, policies.Items)
			if err == nil {
				err = n.loadRules(ctx, rules)
			}
			if err != nil && ctx.Err() == nil {
				return fmt.Errorf("node %s: %w", n.Name, err)
			}
		}
	}
}

// loadRules loads rules into the node's nftables.
func (n *Node) loadRules(ctx context.Context, rules string) error {
	cmd := n.cluster.processes.in(ctx, []string{"--net=" + n.Network()}, "nft", "-f", "-")
	cmd.Stdin = strings.NewReader(rules)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("nft: %w: %s\n%s", err, out, rules)
	}
	return nil
}

// emptyTable makes a table, so that it can be deleted in any case.
func emptyTable(table string) string { return "table ip " + table + "\n" }

// policyRules is a table of nftables that replaces the one of the same name. It drops what the policies do not admit to
// and from the pods of a node. A pod's chain returns for what it admits, because the chain of the other side's pod can
// come after it.
func policyRules(
	table, node string, pods []corev1.Pod, policies []networkingv1.NetworkPolicy,
) (string, error) {
	var chains, jumps strings.Builder
	for i, pod := range pods {
		if !hasPolicies(pod) || pod.Spec.NodeName != node {
			continue
		}
		for _, way := range []struct {
			kind        networkingv1.PolicyType
			chain       string
			this, other string
		}{
			{networkingv1.PolicyTypeIngress, fmt.Sprint("in-", i), "daddr", "saddr"},
			{networkingv1.PolicyTypeEgress, fmt.Sprint("out-", i), "saddr", "daddr"},
		} {
			admitted, isolated, err := admits(pod, way.kind, way.other, pods, policies)
			if err != nil {
				return "", err
			}
			if isolated {
				fmt.Fprintf(&chains, "chain %s {\n%sdrop\n}\n", way.chain, admitted)
				fmt.Fprintf(&jumps, "ip %s %s jump %s\n", way.this, pod.Status.PodIP, way.chain)
			}
		}
	}
	return fmt.Sprintf("%sdelete table ip %s\ntable ip %[2]s {\n%schain forward {\n"+
		"type filter hook forward priority filter; policy accept;\nct state established,related accept\n%s}\n}\n",
		emptyTable(table), table, chains.String(), jumps.String()), nil
}

// hasPolicies says that policies apply to a pod: it runs, with a network of its own.
func hasPolicies(pod corev1.Pod) bool {
	return !pod.Spec.HostNetwork && pod.Status.PodIP != "" && pod.Status.Phase != corev1.PodSucceeded &&
		pod.Status.Phase != corev1.PodFailed
}

// A policyRule is a rule of either way.
type policyRule struct {
	peers []networkingv1.NetworkPolicyPeer
	ports []networkingv1.NetworkPolicyPort
}

// admits gives a rule of nftables for each thing that the policies admit. isolated says that a policy of this kind
// selects the pod. other is the address of the other side: saddr or daddr.
func admits(
	pod corev1.Pod, kind networkingv1.PolicyType, other string, pods []corev1.Pod,
	policies []networkingv1.NetworkPolicy,
) (admitted string, isolated bool, err error) {
	for _, policy := range policies {
		selected, err := selects(&policy.Spec.PodSelector, pod)
		if err != nil {
			return "", false, err
		}
		if !selected || !slices.Contains(policy.Spec.PolicyTypes, kind) {
			continue
		}
		isolated = true
		var rules []policyRule
		for _, r := range policy.Spec.Ingress {
			if kind == networkingv1.PolicyTypeIngress {
				rules = append(rules, policyRule{r.From, r.Ports})
			}
		}
		for _, r := range policy.Spec.Egress {
			if kind == networkingv1.PolicyTypeEgress {
				rules = append(rules, policyRule{r.To, r.Ports})
			}
		}
		for _, r := range rules {
			text, err := r.write(other, pods)
			if err != nil {
				return "", false, fmt.Errorf("policy %s: %w", policy.Name, err)
			}
			admitted += text
		}
	}
	return admitted, isolated, nil
}

// write gives a line for each of the rule's ports.
func (r policyRule) write(other string, pods []corev1.Pod) (string, error) {
	from := ""
	if len(r.peers) > 0 {
		addresses, err := r.addresses(pods)
		if err != nil || len(addresses) == 0 {
			return "", err
		}
		from = "ip " + other + " { " + strings.Join(addresses, ", ") + " } "
	}
	if len(r.ports) == 0 {
		return from + "return\n", nil
	}
	text := ""
	for _, p := range r.ports {
		protocol := "tcp"
		if p.Protocol != nil {
			protocol = strings.ToLower(string(*p.Protocol))
		}
		switch {
		case p.Port == nil:
			text += fmt.Sprintf("%smeta l4proto %s return\n", from, protocol)
		case p.Port.Type == intstr.String:
			return "", errors.New("names of ports are not known")
		default:
			last := p.Port.IntVal
			if p.EndPort != nil {
				last = *p.EndPort
			}
			text += fmt.Sprintf("%s%s dport %d-%d return\n", from, protocol, p.Port.IntVal, last)
		}
	}
	return text, nil
}

// addresses are the addresses of the pods that the rule's peers select.
func (r policyRule) addresses(pods []corev1.Pod) (all []string, err error) {
	for _, peer := range r.peers {
		if peer.PodSelector == nil || peer.NamespaceSelector != nil || peer.IPBlock != nil {
			return nil, errors.New("only selectors of pods in the same namespace are known")
		}
		for _, pod := range pods {
			selected, err := selects(peer.PodSelector, pod)
			if err != nil {
				return nil, err
			}
			if selected && hasPolicies(pod) && !slices.Contains(all, pod.Status.PodIP) {
				all = append(all, pod.Status.PodIP)
			}
		}
	}
	return all, nil
}

func selects(selector *metav1.LabelSelector, pod corev1.Pod) (bool, error) {
	s, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && s.Matches(labels.Set(pod.Labels)), err
}
