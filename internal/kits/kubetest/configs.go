//go:build linux

package kubetest

import (
	"cmp"

	"nearfar/internal/kits/kubetest/tree"
)

// object is an object of a configuration in JSON.
type object = map[string]any

// containerdConfig has a second runtime, for pods of the RuntimeClass VXLAN: it differs in the network alone. A process
// without CAP_SYS_RESOURCE may not lower OOM scores, which runc would do.
const containerdConfig = `version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "` + pauseImage + `"
  disable_hugetlb_controller = true
  disable_apparmor = true
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "` + nodePlugins + `"
    conf_dir = "` + defaultNetwork + `"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.` + VXLAN + `]
    runtime_type = "io.containerd.runc.v2"
    cni_conf_dir = "` + vxlanNetwork + `"
`

// network is a network of pods on one node, for containerd. Each pod has a link of its own to the node, which routes
// all its packets, also those to pods of the same node: only so does kube-proxy see the replies of a Service.
func network(name, prefix string, mtu int) object {
	return object{"cniVersion": "1.0.0", "name": name, "plugins": []object{{
		"type": "ptp", "mtu": mtu,
		"ipam": object{
			"type": "host-local", "ranges": [][]object{{{"subnet": prefix}}},
			"routes": []object{{"dst": "0.0.0.0/0"}},
		},
	}}}
}

func (n *Node) kubeletConfig() object {
	return object{
		"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
		"authentication": object{
			"anonymous": object{"enabled": false}, "webhook": object{"enabled": true},
			"x509": object{"clientCAFile": authorityFile},
		},
		"authorization":            object{"mode": "Webhook"},
		"cgroupDriver":             "cgroupfs",
		"cgroupRoot":               tree.Group(n.cluster.Folder, n.Name),
		"failCgroupV1":             false,
		"failSwapOn":               false,
		"containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
		"providerID":               cmp.Or(n.options.ProviderID, "kubetest:///"+n.options.Zone+"/"+n.Name),
		"volumePluginDir":          "/var/lib/kubelet/volumeplugins",
		"clusterDNS":               []string{controlAddress},
		"clusterDomain":            clusterDomain,
		"resolvConf":               "/etc/resolv.conf",
		"nodeLeaseDurationSeconds": leaseSeconds,
		// No image is ever collected: none can be pulled.
		"imageGCHighThresholdPercent": 100,
		"evictionHard": object{
			"memory.available": "100Mi", "nodefs.available": "1%", "nodefs.inodesFree": "1%", "imagefs.available": "1%",
		},
	}
}

func (n *Node) proxyConfig() object {
	return object{
		"apiVersion": "kubeproxy.config.k8s.io/v1alpha1", "kind": "KubeProxyConfiguration",
		"clientConnection": object{"kubeconfig": proxyKey},
		"hostnameOverride": n.Name,
		"mode":             "nftables",
		"clusterCIDR":      podPrefix,
		// Settings of the whole machine, which stay as they are.
		"conntrack": object{
			"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s",
		},
	}
}
