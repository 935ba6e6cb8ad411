//go:build linux

package kubetest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// A node whose kubelet is stopped is no longer ready, and its pods continue to run; it is ready again with its kubelet.
// The API server comes back with all objects after a restart.
func stopsAndStarts(t *testing.T, c *Cluster) {
	one, two := podIP(c, "one"), podIP(c, "two")

	c.Node("n1").StopKubelet()
	stopped := time.Now()
	c.Kubectl("wait", "--for=condition=Ready=Unknown", "node/n1", "--timeout=90s")
	t.Logf("the node was no longer ready %.1f s after its kubelet was stopped", time.Since(stopped).Seconds())
	if page := fetched(t, c, "two", one+":8080"); page != "one" {
		t.Errorf("the pod of the node without a kubelet: %q", page)
	}
	started := time.Now()
	c.Node("n1").StartKubelet()
	t.Logf("the node was ready %.1f s after its kubelet was started", time.Since(started).Seconds())

	started = time.Now()
	c.RestartAPIServer()
	t.Logf("the API server was back %.1f s after it was killed", time.Since(started).Seconds())
	if got := podIP(c, "two"); got != two {
		t.Errorf("address of the pod after the restart: %s; before: %s", got, two)
	}
	if page := fetched(t, c, "one", two+":8080"); page != "two" {
		t.Errorf("after the restart: %q", page)
	}
}

// A user may do what the rules say, in their namespace alone.
func user(t *testing.T, c *Cluster) {
	file := c.User("reader", "default", Rule{
		APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list"},
	})
	for _, w := range []struct {
		want string
		args []string
	}{
		{"", []string{"get", "pods"}},
		{"forbidden", []string{"get", "services"}},
		{"forbidden", []string{"get", "pods", "-n", "kube-system"}},
		{"forbidden", []string{"delete", "pod", "x"}},
	} {
		_, err := c.Try(append([]string{"--kubeconfig", file}, w.args...)...)
		if (err == nil) != (w.want == "") || err != nil && !strings.Contains(err.Error(), w.want) {
			t.Errorf("kubectl %s: %v; want %q", strings.Join(w.args, " "), err, w.want)
		}
	}
}

// Admission refuses what a real cluster refuses: an unrestricted pod in a restricted namespace, and a pod over the
// quota.
func admission(t *testing.T, c *Cluster) {
	c.Kubectl("create", "namespace", "strict")
	c.Kubectl("label", "namespace", "strict", "pod-security.kubernetes.io/enforce=restricted")
	if _, err := c.Try("run", "x", "-n", "strict", "--image="+Busybox); err == nil ||
		!strings.Contains(err.Error(), "violates PodSecurity") {
		t.Errorf("a pod that is not restricted: %v", err)
	}
	c.Kubectl("create", "namespace", "small")
	c.Kubectl("create", "quota", "none", "-n", "small", "--hard=pods=0")
	if _, err := c.Try("run", "x", "-n", "small", "--image="+Busybox); err == nil ||
		!strings.Contains(err.Error(), "exceeded quota") {
		t.Errorf("a pod over the quota: %v", err)
	}
}

// wireDelay is the delay of the wire between n3 and n4, in each direction.
const wireDelay = 5 * time.Millisecond

// Packets between two nodes with a wire cross it, those of pods in both networks and those between the nodes; other
// packets do not.
func wire(t *testing.T, c *Cluster) {
	waited := []string{"four", "host-four", "tunnelled-four", "receiver-three", "receiver-four"}
	pods := pod("four", "n4", "", false) + pod("host-four", "n4", "", true) +
		pod("tunnelled-four", "n4", VXLAN, false) + receiver("receiver-three", "n3") + receiver("receiver-four", "n4")
	for _, from := range []string{"n1", "n3"} {
		waited = append(waited, "from-"+from, "tunnelled-from-"+from)
		pods += pod("from-"+from, from, "", false) + pod("tunnelled-from-"+from, from, VXLAN, false)
	}
	c.Apply(pods)
	ready(c, waited...)
	for _, w := range []struct {
		from, to string
		wire     bool
	}{
		{"from-n3", "four", true}, {"from-n3", "host-four", true}, {"tunnelled-from-n3", "tunnelled-four", true},
		{"from-n1", "two", false}, {"from-n1", "four", false}, {"from-n3", "two", false},
		{"tunnelled-from-n1", "tunnelled-four", false},
	} {
		rtt := fastest(t, c, w.from, podIP(c, w.to))
		if crossed := rtt >= 2*wireDelay; crossed != w.wire {
			t.Errorf("from %s to %s: %v; want a wire of %v: %v", w.from, w.to, rtt, wireDelay, w.wire)
		}
	}
	// Without care, all packets of a stream that are not small would be lost in the tunnel over the wire.
	out := c.Kubectl("exec", "receiver-three", "--", "iperf3", "-J", "-t", "2", "-c", podIP(c, "receiver-four"))
	var stream struct {
		End struct {
			Received struct {
				Rate float64 `json:"bits_per_second"`
			} `json:"sum_received"`
		}
	}
	if err := json.Unmarshal([]byte(out), &stream); err != nil {
		t.Fatal(err)
	}
	t.Logf("a stream in the tunnel over the wire: %.0f Mbit/s", stream.End.Received.Rate/1e6)
	if stream.End.Received.Rate < 10e6 {
		t.Errorf("a stream in the tunnel over the wire: %.0f bit/s", stream.End.Received.Rate)
	}
}

// receiver is a pod in the second network that receives streams.
func receiver(name, node string) string {
	return fmt.Sprintf(`{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": %q}, "spec": {"nodeName": %q,
"runtimeClassName": %q, "containers": [{"name": "main", "image": %q, "command": ["iperf3", "-s"]}]}}
---
`, name, node, VXLAN, Tools)
}

// fastest is the fastest of some pings.
func fastest(t *testing.T, c *Cluster, from, address string) time.Duration {
	t.Helper()
	out := c.Kubectl("exec", from, "--", "ping", "-c", "5", "-i", "0.2", "-W", "2", address)
	// "round-trip min/avg/max = 0.068/0.083/0.106 ms"
	_, after, ok := strings.Cut(out, "min/avg/max = ")
	var ms float64
	if _, err := fmt.Sscanf(after, "%f/", &ms); !ok || err != nil {
		t.Fatalf("ping: %s", out)
	}
	return time.Duration(ms * float64(time.Millisecond))
}
