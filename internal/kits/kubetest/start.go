//go:build linux

package kubetest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"

	"nearfar/internal/kits/kubetest/tree"
)

// The addresses of a cluster. Each cluster has network namespaces of its own, so that all have the same.
const (
	controlAddress = "10.77.0.1"
	prefixLength   = "/24"
	apiAddress     = controlAddress + ":6443"
	servicePrefix  = "10.96.0.0/16"
	// apiService is the address of the Service of the API server, the first of servicePrefix.
	apiService = "10.96.0.1"
	// podPrefix contains the pods of both networks.
	podPrefix = "10.244.0.0/15"
)

// newNode addresses the number-th node.
func newNode(c *Cluster, o NodeOptions, number int) *Node {
	return &Node{
		Name: o.Name, Address: fmt.Sprint("10.77.0.", 10+number), cluster: c, options: o,
		machine: tree.Node{
			Name: o.Name, Number: number, Root: filepath.Join(c.Folder, "state", o.Name),
			Address: fmt.Sprint("10.77.0.", 10+number, prefixLength), Gateway: controlAddress,
			Routed: fmt.Sprintf("10.244.%d.0/24", number), Tunnelled: fmt.Sprintf("10.245.%d.0/24", number),
			VTEP: fmt.Sprintf("0a:58:0a:f5:%02x:00", number),
		},
	}
}

// start starts everything that depends on nothing else at the same time.
func (c *Cluster) start(o Options) error {
	var names []string
	for i, n := range o.Nodes {
		c.order = append(c.order, newNode(c, n, i+1))
		names = append(names, n.Name)
	}
	if err := c.makeKeys(); err != nil {
		return err
	}
	for _, dir := range []string{"state", "images"} {
		if err := os.Mkdir(filepath.Join(c.Folder, dir), 0o755); err != nil {
			return err
		}
	}
	var err error
	if c.processes, err = startProcesses(c.Folder, names); err != nil {
		return err
	}
	_, err = c.processes.do(tree.Request{ControlPlane: &tree.ControlPlane{
		Folder: c.Folder, State: filepath.Join(c.Folder, "state"), Address: controlAddress + prefixLength,
	}})
	if err != nil {
		return err
	}
	if c.network, err = os.Open(fmt.Sprintf("/proc/%d/ns/net", c.processes.pid)); err != nil {
		return err
	}
	if err := c.checkKernel(); err != nil {
		return err
	}
	err = inNetwork(c.network, func() (err error) {
		c.names, err = (&net.ListenConfig{}).ListenPacket(context.Background(), "udp4", controlAddress+":53")
		return err
	})
	if err != nil {
		return err
	}
	go c.answerNames(c.names)
	archive := make(chan error, 1)
	go func() { archive <- writeTestImages(filepath.Join(c.Folder, "images", "test.tar")) }()
	if err := beside(c.startStore, func() error { return c.eachNode((*Node).prepare) }); err != nil {
		return err
	}
	err = beside(c.startAPIServer, func() error {
		// Nodes read the archive.
		if err := <-archive; err != nil {
			return err
		}
		return c.eachNode((*Node).startContainerd)
	})
	if err != nil {
		return err
	}
	if err := beside(c.startControllers, func() error { return c.eachNode((*Node).startKubelet) }); err != nil {
		return err
	}
	if err := c.apply(classes); err != nil {
		return err
	}
	if err := c.addWires(o.Wires); err != nil {
		return err
	}
	return c.waitReady()
}

// beside runs functions in parallel, and joins their errors.
func beside(all ...func() error) error {
	errs := make([]error, len(all))
	var group sync.WaitGroup
	for i, f := range all {
		group.Go(func() { errs[i] = f() })
	}
	group.Wait()
	return errors.Join(errs...)
}

// eachNode does the same with all nodes, in parallel.
func (c *Cluster) eachNode(f func(*Node) error) error {
	var all []func() error
	for _, n := range c.order {
		all = append(all, func() error {
			if err := f(n); err != nil {
				return fmt.Errorf("node %s: %w", n.Name, err)
			}
			return nil
		})
	}
	return beside(all...)
}

// makeKeys makes the certificates and kubeconfigs of the control plane and of the administrator.
func (c *Cluster) makeKeys() error {
	var err error
	if c.keys, err = newAuthority(); err != nil {
		return err
	}
	keys := filepath.Join(c.Folder, "keys")
	if err := os.Mkdir(keys, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(keys, "ca.crt"), c.keys.pem, 0o644); err != nil {
		return err
	}
	for _, k := range []struct {
		file, user, group string
		names             []string
	}{
		{"api", "kube-apiserver", "", []string{
			controlAddress, "127.0.0.1", apiService, "localhost", "kubernetes.default.svc",
		}},
		{"to-kubelets", "kube-apiserver", "system:masters", nil},
		{"service-accounts", "service-accounts", "", nil},
	} {
		made, err := c.keys.sign(k.user, k.group, k.names...)
		if err == nil {
			err = made.save(keys, k.file)
		}
		if err != nil {
			return err
		}
	}
	if c.admin, err = c.keys.sign("admin", "system:masters"); err != nil {
		return err
	}
	if c.client, err = c.administrator(); err != nil {
		return err
	}
	c.Kubeconfig = filepath.Join(c.Folder, "admin.kubeconfig")
	if err := os.WriteFile(c.Kubeconfig, c.keys.kubeconfig(c.admin), 0o600); err != nil {
		return err
	}
	for _, name := range []string{controllerManager, scheduler} {
		k, err := c.keys.sign("system:"+name, "")
		if err == nil {
			err = os.WriteFile(filepath.Join(keys, name+".kubeconfig"), c.keys.kubeconfig(k), 0o600)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
