//go:build linux

package kubetest

import (
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	"nearfar/internal/kits/kubetest/tree"
)

// The programs of the control plane.
const (
	store             = "etcd"
	apiServer         = "kube-apiserver"
	controllerManager = "kube-controller-manager"
	scheduler         = "kube-scheduler"
)

// classes are the objects that each cluster has: the RuntimeClass of the second network.
const classes = `{"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "` + VXLAN + `"},
"handler": "` + VXLAN + `"}`

// collectLater makes Go collect garbage less often. The components live for minutes, and memory is not scarce.
const collectLater = "GOGC=400"

// run starts a program of the control plane, with its log in the cluster's folder.
func (c *Cluster) run(name string, argv ...string) error {
	state := filepath.Join(c.Folder, "state")
	_, err := c.processes.do(tree.Request{Start: &tree.Program{
		Name: name, Argv: argv, Log: c.log(name), Env: []string{"HOME=" + state, "TMPDIR=" + state, collectLater},
	}})
	return err
}

// log is the path of the log of a program of the control plane.
func (c *Cluster) log(name string) string { return filepath.Join(c.Folder, "log", name+".log") }

// component is the path of a program of Kubernetes.
func (c *Cluster) component(name string) string { return filepath.Join(c.programs, name) }

// key is the path of a file of the control plane's keys.
func (c *Cluster) key(name string) string { return filepath.Join(c.Folder, "keys", name) }

func (c *Cluster) startStore() error {
	return c.run(store, store, "--data-dir="+filepath.Join(c.Folder, "state", store), "--unsafe-no-fsync",
		"--listen-client-urls=http://127.0.0.1:2379", "--advertise-client-urls=http://127.0.0.1:2379",
		"--listen-peer-urls=http://127.0.0.1:2380", "--log-level=warn")
}

// startAPIServer starts the API server and waits until it answers. Its default admission plugins include LimitRanger,
// PodSecurity, ResourceQuota, RuntimeClass and ServiceAccount.
func (c *Cluster) startAPIServer() error {
	err := c.run(apiServer, c.component(apiServer),
		"--etcd-servers=http://127.0.0.1:2379", "--advertise-address="+controlAddress, "--secure-port=6443",
		"--service-cluster-ip-range="+servicePrefix, "--allow-privileged=true",
		"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction",
		"--client-ca-file="+c.key("ca.crt"), "--tls-cert-file="+c.key("api.crt"),
		"--tls-private-key-file="+c.key("api.key"),
		"--kubelet-client-certificate="+c.key("to-kubelets.crt"), "--kubelet-client-key="+c.key("to-kubelets.key"),
		"--kubelet-preferred-address-types=InternalIP",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file="+c.key("service-accounts.crt"),
		"--service-account-signing-key-file="+c.key("service-accounts.key"))
	if err != nil {
		return err
	}
	return c.waitAPIServer()
}

func (c *Cluster) waitAPIServer() error {
	return c.wait("the API server answers", startLimit, []string{store, apiServer}, func() error {
		status, _, err := c.get("/readyz")
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("/readyz: %s", http.StatusText(status))
		}
		return err
	})
}

// nodeGrace is after how long a node whose kubelet is silent is no longer ready. Kubelets renew their leases every
// quarter of leaseSeconds.
const (
	nodeGrace    = 16 * time.Second
	leaseSeconds = 12
)

func (c *Cluster) startControllers() error {
	state := filepath.Join(c.Folder, "state")
	err := c.run(controllerManager, c.component(controllerManager),
		"--kubeconfig="+c.key(controllerManager+".kubeconfig"), "--leader-elect=false",
		"--use-service-account-credentials", "--service-account-private-key-file="+c.key("service-accounts.key"),
		"--root-ca-file="+c.key("ca.crt"), "--cert-dir="+filepath.Join(state, controllerManager),
		"--flex-volume-plugin-dir="+filepath.Join(state, controllerManager),
		"--node-monitor-period=1s", "--node-monitor-grace-period="+nodeGrace.String(),
		"--kube-api-qps=200", "--kube-api-burst=400")
	if err != nil {
		return err
	}
	kubeconfig := c.key(scheduler + ".kubeconfig")
	return c.run(scheduler, c.component(scheduler), "--kubeconfig="+kubeconfig, "--leader-elect=false",
		"--authentication-kubeconfig="+kubeconfig, "--authorization-kubeconfig="+kubeconfig)
}

// RestartAPIServer kills the API server, starts it again, and waits until it answers.
func (c *Cluster) RestartAPIServer() {
	c.t.Helper()
	if _, err := c.processes.do(tree.Request{Stop: apiServer}); err != nil {
		c.t.Fatal(err)
	}
	if err := c.startAPIServer(); err != nil {
		c.t.Fatal(err)
	}
}
