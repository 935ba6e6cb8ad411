//go:build linux

package kubetest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// startLimit bounds each step of the start. It is long, because tests run in parallel.
const startLimit = 90 * time.Second

// wait calls check until it returns nil. It ends early if one of the named programs has ended, and then the error has
// the last lines of its log.
func (c *Cluster) wait(what string, limit time.Duration, programs []string, check func() error) error {
	for deadline := time.Now().Add(limit); ; {
		looked := time.Now()
		err := check()
		if err == nil {
			return nil
		}
		if name, ended := c.processes.failed(programs...); ended != nil {
			return fmt.Errorf("%s: %w%s", what, ended, c.tail(logOf(name)))
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("not within %v: %s: %w", limit, what, err)
		}
		// Looking takes a fifth of a CPU at most. The programs that are waited for need the rest.
		time.Sleep(min(max(4*time.Since(looked), 50*time.Millisecond), 500*time.Millisecond))
	}
}

// logOf is the log of a program, below the folder of logs.
func logOf(key string) string {
	name, node, _ := strings.Cut(key, " on ")
	return filepath.Join(node, name+".log")
}

// tail is the end of a log.
func (c *Cluster) tail(log string) string {
	const lines = 12
	b, err := os.ReadFile(filepath.Join(c.Folder, "log", log))
	if err != nil || len(b) == 0 {
		return ""
	}
	last := strings.Split(strings.TrimRight(string(b), "\n"), "\n")
	return fmt.Sprintf("\n--- %s\n%s", log, strings.Join(last[max(0, len(last)-lines):], "\n"))
}

// tails are the ends of all logs.
func (c *Cluster) tails() string {
	var all strings.Builder
	logs := filepath.Join(c.Folder, "log")
	for _, pattern := range []string{"*.log", "*/*.log"} {
		files, _ := filepath.Glob(filepath.Join(logs, pattern)) // the pattern is right
		for _, file := range files {
			if name, err := filepath.Rel(logs, file); err == nil {
				all.WriteString(c.tail(name))
			}
		}
	}
	return all.String()
}

// waitReady waits until all nodes are ready, and until pods can be made in the namespace default.
func (c *Cluster) waitReady() error {
	if err := c.eachNode((*Node).waitReady); err != nil {
		return err
	}
	return c.wait("the namespace default has its ServiceAccount", startLimit, []string{apiServer, controllerManager},
		func() error {
			found, err := c.read("/api/v1/namespaces/default/serviceaccounts/default", &struct{}{})
			if err == nil && !found {
				err = errors.New("it does not exist")
			}
			return err
		})
}

func (n *Node) waitReady() error {
	programs := []string{apiServer, controllerManager, scheduler}
	for _, name := range []string{containerd, kubelet, kubeProxy} {
		programs = append(programs, programKey(n.Name, name))
	}
	return n.cluster.wait("node "+n.Name+" is ready", startLimit, programs, func() error {
		var node struct {
			Spec struct {
				Taints []struct{ Key string }
			}
			Status struct {
				Conditions []struct{ Type, Status, Message string }
			}
		}
		if _, err := n.cluster.read("/api/v1/nodes/"+n.Name, &node); err != nil {
			return err
		}
		for _, condition := range node.Status.Conditions {
			if condition.Type == "Ready" && condition.Status == "True" && len(node.Spec.Taints) == 0 {
				return nil
			}
		}
		return fmt.Errorf("%+v", node)
	})
}
