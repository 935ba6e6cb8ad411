//go:build linux

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/retry"
)

// fakeAzure is the variable with the file of the fake Azure. The test's own program is `az` then.
const fakeAzure = "NEARFAR_E2E_AZURE"

// An azure is the fake of Azure: node pools whose nodes are nodes of a test cluster. What is fake: machines are not
// made and deleted, but free nodes get and lose the labels of a pool; a change takes as many calls of az as Steps says;
// and a scale set says what Accelerated says. The keys of a pool and the flags are those of the real az.
type azure struct {
	Kubeconfig string
	// Free are nodes that no pool has. They are cordoned, so that nothing runs on them.
	Free  []string
	Pools []*azurePool
	// Steps is how many times a pool is asked for until a change is made.
	Steps       int
	Accelerated bool
	// Calls are all command lines.
	Calls []string
}

type azurePool struct {
	Name              string            `json:"name"`
	ProvisioningState string            `json:"provisioningState"`
	Count             int               `json:"count"`
	OSType            string            `json:"osType"`
	VMSize            string            `json:"vmSize"`
	MaxPods           int               `json:"maxPods"`
	Mode              string            `json:"mode"`
	Version           string            `json:"currentOrchestratorVersion"`
	Tags              map[string]string `json:"tags"`
	// Nodes and Left are the fake's own. az does not print them.
	Nodes []string `json:"nodes,omitempty"`
	Left  int      `json:"left,omitempty"`
}

// isAz says that this process was started as az.
func isAz() bool { return filepath.Base(os.Args[0]) == "az" && os.Getenv(fakeAzure) != "" }

// runAz is the fake az. It returns the exit code.
func runAz() int {
	file := os.Getenv(fakeAzure)
	lock, err := os.OpenFile(file+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err == nil {
		err = unix.Flock(int(lock.Fd()), unix.LOCK_EX)
	}
	var a *azure
	if err == nil {
		a, err = readAzure(file)
	}
	if err == nil {
		err = a.do(os.Args[1:])
	}
	if err == nil {
		err = a.write(file)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "ERROR:", err)
		return 1
	}
	return 0
}

func readAzure(file string) (*azure, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var a azure
	return &a, json.Unmarshal(data, &a)
}

// write replaces the file as a whole, because az can be killed.
func (a *azure) write(file string) error {
	data, err := json.MarshalIndent(a, "", " ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(file+".new", data, 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

// do does what a command line says.
func (a *azure) do(args []string) error {
	a.Calls = append(a.Calls, strings.Join(args, " "))
	flag := func(name string) string {
		if at := slices.Index(args, name); at >= 0 && at+1 < len(args) {
			return args[at+1]
		}
		return ""
	}
	verb := strings.Join(args[:min(3, len(args))], " ")
	known := flag("--resource-group") == "rg" && flag("--cluster-name") == "kube"
	if strings.HasPrefix(verb, "aks nodepool ") && !known {
		return fmt.Errorf("(ResourceNotFound) %q", args)
	}
	switch verb {
	case "aks nodepool list":
		if err := a.proceed(); err != nil {
			return err
		}
		shown := []azurePool{}
		for _, p := range a.Pools {
			copied := *p
			copied.Nodes, copied.Left = nil, 0
			shown = append(shown, copied)
		}
		return json.NewEncoder(os.Stdout).Encode(shown)
	case "aks nodepool add":
		old := a.Pools[0]
		p := &azurePool{
			Name: flag("--name"), ProvisioningState: "Creating", Count: 1, OSType: flag("--os-type"),
			Mode: flag("--mode"), VMSize: flag("--node-vm-size"), Version: flag("--kubernetes-version"), Left: a.Steps,
			MaxPods: old.MaxPods,
			Tags:    map[string]string{},
		}
		for _, o := range a.Pools {
			if o.Name == p.Name {
				return fmt.Errorf("node pool %s already exists", p.Name)
			}
		}
		if !slices.Contains(args, "--no-wait") || p.OSType != old.OSType || p.VMSize == "" || p.Version != old.Version {
			return fmt.Errorf("unexpected: %q", args)
		}
		key, value, _ := strings.Cut(flag("--tags"), "=")
		p.Tags[key] = value
		a.Pools = append(a.Pools, p)
		return nil
	case "aks nodepool delete":
		for _, p := range a.Pools {
			if p.Name == flag("--name") {
				p.ProvisioningState, p.Left = "Deleting", a.Steps
				return nil
			}
		}
		return fmt.Errorf("(ResourceNotFound) %q", args)
	}
	if strings.HasPrefix(verb, "vmss show ") {
		return json.NewEncoder(os.Stdout).Encode(map[string]any{"virtualMachineProfile": map[string]any{
			"networkProfile": map[string]any{"networkInterfaceConfigurations": []any{
				map[string]any{"name": flag("--name"), "enableAcceleratedNetworking": a.Accelerated},
			}},
		}})
	}
	return fmt.Errorf("'%s' is misspelled or not recognized by the system", verb)
}

// proceed lets some time pass for the pools that change.
func (a *azure) proceed() error {
	for _, p := range slices.Clone(a.Pools) {
		if p.Left--; p.Left > 0 {
			continue
		}
		switch p.ProvisioningState {
		case "Creating":
			if len(a.Free) == 0 {
				p.ProvisioningState = "Failed"
				continue
			}
			p.Nodes, a.Free = a.Free[:1], a.Free[1:]
			p.ProvisioningState = "Succeeded"
			if err := a.label(p.Nodes, p.Name); err != nil {
				return err
			}
		case "Deleting":
			if err := a.label(p.Nodes, ""); err != nil {
				return err
			}
			a.Free = append(a.Free, p.Nodes...)
			a.Pools = slices.DeleteFunc(a.Pools, func(o *azurePool) bool { return o == p })
		}
	}
	return nil
}

// label makes nodes those of a pool, or free ones.
func (a *azure) label(nodes []string, pool string) error {
	client, err := kubeClient(a.Kubeconfig)
	if err != nil {
		return err
	}
	ctx := context.Background()
	for _, name := range nodes {
		err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			n, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			setPool(n, pool)
			_, err = client.CoreV1().Nodes().Update(ctx, n, metav1.UpdateOptions{})
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func setPool(n *corev1.Node, pool string) {
	for _, key := range []string{"agentpool", "kubernetes.azure.com/agentpool"} {
		if delete(n.Labels, key); pool != "" {
			n.Labels[key] = pool
		}
	}
	n.Spec.Unschedulable = pool == ""
}

func kubeClient(file string) (*kubernetes.Clientset, error) {
	config, err := clientcmd.BuildConfigFromFlags("", file)
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = 100, 200
	return kubernetes.NewForConfig(config)
}

// newAzure makes a fake az, and puts it before the PATH. The first node is the pool linpool, and the others are free.
func newAzure(t *testing.T, r *kubeRig) (file, path string) {
	t.Helper()
	a := &azure{Kubeconfig: r.kubeconfig, Steps: 2, Accelerated: true}
	for i, n := range r.Nodes() {
		pool := ""
		if i == 0 {
			pool = "linpool"
			a.Pools = append(a.Pools, &azurePool{
				Name: pool, ProvisioningState: "Succeeded", Count: 1, OSType: "Linux", VMSize: "Standard_D2s_v3",
				MaxPods: 30, Mode: "System", Version: "1.34.4", Nodes: []string{n.Name},
			})
		} else {
			a.Free = append(a.Free, n.Name)
		}
		if err := a.label([]string{n.Name}, pool); err != nil {
			t.Fatal(err)
		}
	}
	file = filepath.Join(r.dir, "azure.json")
	if err := a.write(file); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(r.dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(bin, "az")); err != nil {
		t.Fatal(err)
	}
	return file, bin
}
