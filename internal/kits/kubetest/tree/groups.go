//go:build linux

package tree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// groupRoot is where the control groups are mounted.
const groupRoot = "/sys/fs/cgroup"

// groupOf is the name of a cluster's control group, in each hierarchy.
func groupOf(folder string) string { return filepath.Base(folder) }

// Group is the name of a node's control group, below the root of each hierarchy.
func Group(folder, node string) string { return "/" + groupOf(folder) + "/" + node }

// isUnified says whether a folder is the root of the single hierarchy of version 2.
func isUnified(folder string) bool {
	var st unix.Statfs_t
	return unix.Statfs(folder, &st) == nil && st.Type == unix.CGROUP2_SUPER_MAGIC
}

// hierarchies are the folders in which control groups are mounted: one for version 2, one for each controller for
// version 1.
func hierarchies() ([]string, error) {
	if isUnified(groupRoot) {
		return []string{groupRoot}, nil
	}
	entries, err := os.ReadDir(groupRoot)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, e := range entries {
		if e.IsDir() { // not for a link such as cpu,cpuacct
			found = append(found, filepath.Join(groupRoot, e.Name()))
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("no control groups are mounted in %s", groupRoot)
	}
	return found, nil
}

// makeGroups makes a group for a cluster and one below for each node, in all hierarchies.
func makeGroups(cluster string, nodes []string) error {
	roots, err := hierarchies()
	if err != nil {
		return err
	}
	for _, root := range roots {
		if err := makeGroup(root, cluster); err != nil {
			return err
		}
		if err := giveWeight(filepath.Join(root, cluster)); err != nil {
			return err
		}
		for _, node := range nodes {
			if err := makeGroup(root, cluster+"/"+node); err != nil {
				return err
			}
		}
	}
	return nil
}

// makeGroup makes one group. A new group of the cpuset controller of version 1 has no CPUs, and a group of version 2 no
// controllers, until they are given.
func makeGroup(root, name string) error {
	dir := filepath.Join(root, name)
	if isUnified(root) {
		if err := delegate(filepath.Dir(dir)); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	if filepath.Base(root) != "cpuset" {
		return nil
	}
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		b, err := os.ReadFile(filepath.Join(root, file))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, file), b, 0)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// giveWeight lets a cluster's group weigh as much as eight processes beside the cluster, in the hierarchy that has
// weights of CPU time: about as many measure in its pods at once. Else all pods together weigh as much as one, and can
// be without a CPU for a whole trial. A process weighs 100 in the files of version 2
// (https://docs.kernel.org/admin-guide/cgroup-v2.html) and 1024 in those of version 1.
func giveWeight(dir string) error {
	for file, weight := range map[string]string{"cpu.weight": "800", "cpu.shares": "8192"} {
		f, err := os.OpenFile(filepath.Join(dir, file), os.O_WRONLY, 0)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			_, err = f.WriteString(weight)
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// delegate gives the groups below a group of version 2 all controllers that the group has.
func delegate(dir string) error {
	has, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	if err != nil {
		return err
	}
	control := filepath.Join(dir, "cgroup.subtree_control")
	gives, err := os.ReadFile(control)
	if err != nil {
		return err
	}
	for controller := range strings.FieldsSeq(string(has)) {
		if slices.Contains(strings.Fields(string(gives)), controller) {
			continue
		}
		if err := os.WriteFile(control, []byte("+"+controller), 0); err != nil {
			return fmt.Errorf("giving the controller %s to the groups of %s: %w", controller, dir, err)
		}
	}
	return nil
}

// RemoveGroups removes a control group and all below it in every hierarchy, as of a cluster or a container that was
// killed. It waits until the kernel has freed the last processes. A group that does not exist is no error.
func RemoveGroups(name string) error {
	roots, err := hierarchies()
	if err != nil {
		return err
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		var failed error
		for _, root := range roots {
			if err := removeTree(filepath.Join(root, name)); err != nil {
				failed = err
			}
		}
		if failed == nil || time.Now().After(deadline) {
			return failed
		}
	}
}

// removeTree removes a group and all below it, those inside first.
func removeTree(dir string) error {
	var groups []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, os.ErrNotExist):
			return nil
		case err != nil:
			return err
		case e.IsDir():
			groups = append(groups, path)
		}
		return nil
	})
	for _, group := range slices.Backward(groups) {
		if removeErr := unix.Rmdir(group); removeErr != nil && !errors.Is(removeErr, unix.ENOENT) {
			err = errors.Join(err, fmt.Errorf("removing %s: %w", group, removeErr))
		}
	}
	return err
}
