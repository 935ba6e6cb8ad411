//go:build linux

package kubetest

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// policyPods are pods of two nodes. The last one has the network of its node.
const policyPods = `[
{"metadata": {"labels": {"app": "a"}}, "spec": {"nodeName": "n1"}, "status": {"podIP": "10.0.0.1"}},
{"metadata": {"labels": {"app": "b"}}, "spec": {"nodeName": "n2"}, "status": {"podIP": "10.0.0.2"}},
{"metadata": {"labels": {"app": "a"}}, "spec": {"nodeName": "n1", "hostNetwork": true}, "status": {"podIP": "10.0.0.3"}}
]`

const denyAllPolicy = `{"spec": {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}}`

// TestPolicyRules compares the rules of node n1.
func TestPolicyRules(t *testing.T) {
	const head = "table ip t\ndelete table ip t\ntable ip t {\n"
	const hook = "chain forward {\ntype filter hook forward priority filter; policy accept;\n" +
		"ct state established,related accept\n"
	for _, c := range []struct{ name, policies, want string }{
		{"no policy", "", head + hook + "}\n}\n"},
		{"deny all", denyAllPolicy, head + "chain in-0 {\ndrop\n}\nchain out-0 {\ndrop\n}\n" + hook +
			"ip daddr 10.0.0.1 jump in-0\nip saddr 10.0.0.1 jump out-0\n}\n}\n"},
		{"another pod", `{"spec": {"podSelector": {"matchLabels": {"app": "b"}}, "policyTypes": ["Ingress"]}}`,
			head + hook + "}\n}\n"},
		{"admitted", denyAllPolicy + `, {"spec": {"podSelector": {"matchLabels": {"app": "a"}},
			"policyTypes": ["Ingress", "Egress"], "egress": [{}], "ingress": [
			{"from": [{"podSelector": {"matchExpressions": [{"key": "app", "operator": "In", "values": ["a", "b"]}]}}]},
			{"ports": [{"port": 7, "endPort": 9}, {"protocol": "UDP", "port": 7}, {"protocol": "TCP"}]}]}}`,
			head + "chain in-0 {\nip saddr { 10.0.0.1, 10.0.0.2 } return\n" +
				"tcp dport 7-9 return\nudp dport 7-7 return\n" +
				"meta l4proto tcp return\ndrop\n}\nchain out-0 {\nreturn\ndrop\n}\n" + hook +
				"ip daddr 10.0.0.1 jump in-0\nip saddr 10.0.0.1 jump out-0\n}\n}\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := rulesOf(t, c.policies)
			if err != nil || got != c.want {
				t.Errorf("%v\n%s\nwant\n%s", err, got, c.want)
			}
		})
	}
	_, err := rulesOf(t, `{"metadata": {"name": "x"}, "spec": {"podSelector": {}, "policyTypes": ["Ingress"],
		"ingress": [{"from": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}]}}`)
	if err == nil || !strings.Contains(err.Error(), "policy x") {
		t.Errorf("a block of addresses: %v", err)
	}
}

// rulesOf are the rules of node n1 for a list of policies in JSON.
func rulesOf(t *testing.T, list string) (string, error) {
	t.Helper()
	var pods []corev1.Pod
	var policies []networkingv1.NetworkPolicy
	for text, into := range map[string]any{policyPods: &pods, "[" + list + "]": &policies} {
		if err := json.Unmarshal([]byte(text), into); err != nil {
			t.Fatal(err)
		}
	}
	return policyRules("t", "n1", pods, policies)
}
