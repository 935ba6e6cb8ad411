//go:build linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"nearfar/internal/kits/kubetest"
)

// sshOnNodes makes hosts that ssh reaches in the network namespaces of the cluster's nodes: n1 and n2 for processes
// beside Kubernetes, and g1 and g2 for processes in the control groups of a pod. nearfar reaches them from the network
// namespace of the control plane (startInside).
func (r *kubeRig) sshOnNodes() *sshRig {
	r.t.Helper()
	hosts := emptySSHRig(r.t)
	var err error
	hosts.controller, err = os.Open(r.Network())
	hosts.must(err)
	groups := r.groupsOfPods()
	for i, node := range r.Nodes() {
		for _, h := range []*sshHost{
			{name: fmt.Sprint("n", i+1), port: sshPort},
			{name: fmt.Sprint("g", i+1), port: sshPort + 2000, groups: groups[node.Name]},
		} {
			h.control, h.data, h.home = node.Address, node.Address, filepath.Join(hosts.dir, "home-"+h.name)
			h.space, err = os.Open(node.Network())
			hosts.must(err)
			hosts.hosts[h.name] = h
		}
	}
	hosts.accounts()
	for _, h := range hosts.hosts {
		hosts.serve(h)
	}
	return hosts
}

// groupsOfPods starts an idle pod on each node, and returns the folders of the control groups of its container, by the
// node's name. The pod is BestEffort, as pods with `resources: {}` are. It ends with the cluster.
func (r *kubeRig) groupsOfPods() map[string][]string {
	r.t.Helper()
	all := map[string][]string{}
	for _, node := range r.Nodes() {
		name := "groups-" + node.Name
		r.Apply(fmt.Sprintf(`{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": %q}, "spec": {"nodeName": %q,
"hostNetwork": true, "terminationGracePeriodSeconds": 0,
"containers": [{"name": "main", "image": %q, "command": ["sleep", "86400"]}]}}`, name, node.Name, kubetest.Busybox))
	}
	for _, node := range r.Nodes() {
		pod := "pod/groups-" + node.Name
		r.Kubectl("wait", "--for=condition=Ready", "--timeout=60s", pod)
		of := strings.Fields(r.Kubectl("get", pod, "-o",
			"jsonpath={.metadata.uid} {.status.containerStatuses[0].containerID}"))
		if len(of) != 2 {
			r.t.Fatalf("%s: %q", pod, of)
		}
		// One folder for each hierarchy of version 1, or one for version 2.
		group := filepath.Join(filepath.Base(r.Folder), node.Name, "kubepods/besteffort/pod"+of[0],
			strings.TrimPrefix(of[1], "containerd://"))
		found := append(glob(r.t, "/sys/fs/cgroup/*/"+group), glob(r.t, "/sys/fs/cgroup/"+group)...)
		if len(found) == 0 {
			r.t.Fatalf("no control group %s", group)
		}
		all[node.Name] = found
	}
	return all
}
