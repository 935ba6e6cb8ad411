//go:build linux

package kubetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if Inside() {
		return
	}
	// Clusters work with any TMPDIR. This one is a folder that nodes do not have, and that the control plane has anew; the
	// tests of other packages use the default.
	if err := os.Setenv("TMPDIR", "/var/tmp"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// pod is a pod that serves its own name by HTTP on port 8080, on a node, in a network.
func pod(name, node, class string, hostNetwork bool) string {
	serve := "mkdir /www && echo " + name + " > /www/index.html && exec httpd -f -p 8080 -h /www"
	spec := object{
		"nodeName": node, "hostNetwork": hostNetwork, "terminationGracePeriodSeconds": 0,
		"containers": []object{{"name": "main", "image": Busybox, "command": []string{"sh", "-c", serve}}},
	}
	if class != "" {
		spec["runtimeClassName"] = class
	}
	b, _ := json.Marshal(object{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": object{"name": name, "labels": object{"app": name}}, "spec": spec,
	})
	return string(b) + "\n---\n"
}

// service is a Service of the kind NodePort for a pod.
func service(name string, port int) string {
	return fmt.Sprintf(`{"apiVersion": "v1", "kind": "Service", "metadata": {"name": %q}, "spec": {"type": "NodePort",
"selector": {"app": %[1]q}, "ports": [{"port": 80, "targetPort": 8080, "nodePort": %d}]}}
---
`, name, port)
}

// fetched waits until a pod has fetched the page of another one, and returns it.
func fetched(t *testing.T, c *Cluster, from, address string) string {
	t.Helper()
	var page string
	err := c.wait(from+" fetches from "+address, time.Minute, nil, func() error {
		// Debian's busybox has a wget that crashes.
		ask := `printf 'GET / HTTP/1.0\r\n\r\n' | nc -w 2 ` + strings.ReplaceAll(address, ":", " ")
		reply, err := c.Try("exec", from, "--", "sh", "-c", ask)
		if err != nil {
			return err
		}
		var found bool
		if _, page, found = strings.Cut(reply, "\r\n\r\n"); !found {
			return fmt.Errorf("the reply is %q", reply)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(page)
}

// podIP is the address of a pod.
func podIP(c *Cluster, name string) string {
	return c.Kubectl("get", "pod", name, "-o", "jsonpath={.status.podIP}")
}

// TestClusterOfTheKit runs all that does not kill a cluster in one, because a cluster takes many seconds of CPU time to
// start. The subtests run one after the other, and later ones use the pods of earlier ones. When the cluster has ended,
// nothing is left of it. While it runs, the machine's own network is as before.
func TestClusterOfTheKit(t *testing.T) {
	t.Parallel()
	before, folder := interfaces(t), ""
	settings := readSettings(t)
	t.Run("cluster", func(t *testing.T) {
		c := Start(t, Options{
			Nodes: []NodeOptions{
				{Name: "n1", Zone: "z", Labels: map[string]string{"pool": "x"}}, {Name: "n2"}, {Name: "n3"}, {Name: "n4"},
			},
			Wires: []Wire{{A: "n3", B: "n4", Delay: wireDelay}},
		})
		folder = c.Folder
		for _, test := range []struct {
			name string
			run  func(*testing.T, *Cluster)
		}{
			{"pods reach each other", podsReachEachOther}, {"node", node}, {"names", names}, {"user", user},
			{"admission", admission}, {"image", loadImage}, {"wire", wire}, {"stops and starts", stopsAndStarts},
		} {
			t.Run(test.name, func(t *testing.T) { test.run(t, c.For(t)) })
		}
		if found := left(t, folder, before); len(found) < 10 {
			t.Errorf("only these were found of a running cluster: %q", found)
		}
	})
	if folder == "" {
		t.SkipNow() // as the subtest was, or it failed
	}
	if found := left(t, folder, before); len(found) > 0 {
		t.Errorf("left:\n%s", strings.Join(found, "\n"))
	}
	if now := readSettings(t); now != settings {
		t.Errorf("settings of the machine: %s; before: %s", now, settings)
	}
}

// ready waits until pods are ready.
func ready(c *Cluster, names ...string) {
	args := []string{"wait", "--for=condition=Ready", "--timeout=120s"}
	for _, name := range names {
		args = append(args, "pod/"+name)
	}
	c.Kubectl(args...)
}

// Pods reach each other on the same node and on another one, in both networks, by their own address, the address of a
// Service, and the port of a node. The API copies logs and runs commands.
func podsReachEachOther(t *testing.T, c *Cluster) {
	started := time.Now()
	c.Apply(pod("one", "n1", "", false) + pod("beside", "n1", "", false) + pod("two", "n2", "", false) +
		pod("tunnelled-one", "n1", VXLAN, false) + pod("tunnelled-two", "n2", VXLAN, false) +
		pod("host-two", "n2", "", true) + service("one", 30001) + service("two", 30002))
	ready(c, "one", "beside", "two", "tunnelled-one", "tunnelled-two", "host-two")
	t.Logf("six pods were ready after %.1f s", time.Since(started).Seconds())
	ip := func(name string) string { return podIP(c, name) + ":8080" }
	cluster := func(name string) string {
		return c.Kubectl("get", "service", name, "-o", "jsonpath={.spec.clusterIP}") + ":80"
	}
	for _, w := range []struct{ from, address, want string }{
		{"one", ip("two"), "two"},
		{"two", ip("one"), "one"},
		{"beside", ip("one"), "one"},
		{"tunnelled-one", ip("tunnelled-two"), "tunnelled-two"},
		{"tunnelled-two", ip("tunnelled-one"), "tunnelled-one"},
		{"tunnelled-one", ip("two"), "two"},
		{"one", ip("host-two"), "host-two"},
		{"host-two", ip("one"), "one"},
		{"one", cluster("two"), "two"},
		{"beside", cluster("one"), "one"},
		{"one", cluster("one"), "one"},
		{"host-two", cluster("one"), "one"},
		{"one", c.Node("n2").Address + ":30002", "two"},
		{"one", c.Node("n2").Address + ":30001", "one"},
	} {
		if got := fetched(t, c, w.from, w.address); got != w.want {
			t.Errorf("from %s, %s is %q; want %q", w.from, w.address, got, w.want)
		}
	}
	for name, mtu := range map[string]string{"one": "1500", "tunnelled-one": "1450"} {
		if got := strings.TrimSpace(c.Kubectl("exec", name, "--", "cat", "/sys/class/net/eth0/mtu")); got != mtu {
			t.Errorf("MTU of %s: %s; want %s", name, got, mtu)
		}
	}
	c.Apply(`{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "speaker"}, "spec": {"restartPolicy": "Never",
"containers": [{"name": "main", "image": "` + Tools + `",
"command": ["sh", "-c", "sockperf --version; echo spoken"]}]}}`)
	c.Kubectl("wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/speaker", "--timeout=60s")
	if got := c.Kubectl("logs", "speaker"); !strings.Contains(got, "spoken") || !strings.Contains(got, "sockperf") {
		t.Errorf("logs: %q", got)
	}
}

// The zone and the labels of the options are on the node, and commands run in its namespaces.
func node(t *testing.T, c *Cluster) {
	got := c.Kubectl("get", "nodes", "-l", "topology.kubernetes.io/zone=z,pool=x", "-o",
		"jsonpath={.items[*].metadata.name} {.items[*].status.addresses[?(@.type=='InternalIP')].address}")
	if want := "n1 " + c.Node("n1").Address; got != want {
		t.Errorf("nodes: %q; want %q", got, want)
	}
	ctx, cancel := context.WithTimeout(t.Context(), answer)
	defer cancel()
	out, err := c.Node("n1").Command(ctx, "hostname").Output()
	if err != nil || string(out) != "n1\n" {
		t.Errorf("hostname on the node: %q, %v", out, err)
	}
}

// A container runs from an image of an archive.
func loadImage(t *testing.T, c *Cluster) {
	l := newLayer()
	if err := l.shell(); err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(t.TempDir(), "image.tar")
	f, err := os.Create(archive)
	if err != nil {
		t.Fatal(err)
	}
	const name = "example.com/loaded:1"
	if err := errors.Join(writeImages(f, []image{{name, []string{"/bin/echo", "loaded"}, l}}), f.Close()); err != nil {
		t.Fatal(err)
	}
	c.LoadImage(archive)
	c.Kubectl("run", "loaded", "--image="+name, "--restart=Never")
	c.Kubectl("wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/loaded", "--timeout=60s")
	if got := c.Kubectl("logs", "loaded"); got != "loaded\n" {
		t.Errorf("logs: %q", got)
	}
}
