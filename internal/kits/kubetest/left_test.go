//go:build linux

package kubetest

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"nearfar/internal/kits/kubetest/tree"
)

// victimVariable tells TestVictim to start a cluster, with so many nodes, and to wait for its end.
const victimVariable = "NEARFAR_KUBETEST_VICTIM"

// left lists what exists of a cluster on the machine: its folder, control groups, processes, mounts, and interfaces
// besides those that were there before.
func left(t *testing.T, folder string, before []string) (all []string) {
	t.Helper()
	name := filepath.Base(folder)
	if _, err := os.Stat(folder); err == nil {
		all = append(all, "folder "+folder)
	}
	for _, pattern := range []string{"/sys/fs/cgroup/" + name, "/sys/fs/cgroup/*/" + name} {
		groups, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, groups...)
	}
	for _, file := range []string{"cmdline", "environ", "mountinfo"} {
		files, err := filepath.Glob("/proc/[0-9]*/" + file)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			b, err := os.ReadFile(path)
			if err != nil || !strings.Contains(string(b), name) {
				continue
			}
			// An environment may hold secrets of the machine's user: the program's name suffices.
			program, err := os.ReadFile(filepath.Join(filepath.Dir(path), "comm"))
			if err == nil {
				all = append(all, fmt.Sprintf("%s of %s", path, strings.TrimSpace(string(program))))
			}
		}
	}
	for _, i := range interfaces(t) {
		if !slices.Contains(before, i) {
			all = append(all, "interface "+i)
		}
	}
	return all
}

func interfaces(t *testing.T) (names []string) {
	t.Helper()
	all, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range all {
		names = append(names, i.Name)
	}
	return names
}

// wantNothingLeft waits until nothing is left of a cluster. It calls again before each look.
func wantNothingLeft(t *testing.T, folder string, before []string, again func()) {
	t.Helper()
	started := time.Now()
	for {
		again()
		found := left(t, folder, before)
		if len(found) == 0 {
			t.Logf("nothing was left %.1f s after", time.Since(started).Seconds())
			return
		}
		if time.Since(started) > time.Minute {
			t.Fatalf("left:\n%s", strings.Join(found, "\n"))
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// readSettings reads settings of the whole machine that a kubelet or kube-proxy changes.
func readSettings(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, path := range []string{
		"vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops", "kernel/keys/root_maxkeys",
		"kernel/keys/root_maxbytes", "net/netfilter/nf_conntrack_max",
	} {
		b, err := os.ReadFile("/proc/sys/" + path)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		fmt.Fprintf(&all, "%s=%s ", path, strings.TrimSpace(string(b)))
	}
	return all.String()
}

// victim starts a cluster in a process of its own, and returns the cluster's folder and what kills the process.
func victim(t *testing.T, nodes int) (folder string, kill func()) {
	t.Helper()
	if testing.Short() {
		t.Skip("a cluster takes seconds")
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestVictim$", "-test.v")
	cmd.Env = append(os.Environ(), victimVariable+"="+strconv.Itoa(nodes))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill = func() {
		_ = cmd.Process.Kill()
		_, _ = cmd.Process.Wait() // it was killed
	}
	var said strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		fmt.Fprintln(&said, lines.Text())
		if _, folder, found := strings.Cut(lines.Text(), victimVariable+" "); found {
			return folder, kill
		}
	}
	kill()
	if !strings.Contains(said.String(), "--- SKIP") {
		t.Fatalf("no cluster: %s", said.String())
	}
	t.Skipf("no cluster: %s", said.String())
	return "", nil
}

// When the process of a test is killed, nothing of its cluster is left either.
func TestOwnerKilled(t *testing.T) {
	t.Parallel()
	before := interfaces(t)
	folder, kill := victim(t, 2)
	kill()
	wantNothingLeft(t, folder, before, func() {})
}

// When the keeper is killed too, all processes end, and the next cluster removes the rest.
func TestKeeperKilled(t *testing.T) {
	t.Parallel()
	before := interfaces(t)
	folder, kill := victim(t, 1)
	defer kill()
	keepers := 0
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(b), "keeper\x00"+folder) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		keepers++
	}
	if keepers != 1 {
		t.Fatalf("keepers of %s: %d", folder, keepers)
	}
	kill()
	// As if a minute had passed: a younger folder may be one that is being made.
	past := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(folder, tree.LockName), past, past); err != nil {
		t.Fatal(err)
	}
	// The keeper holds its lock until it has ended, which can be after its signal.
	wantNothingLeft(t, folder, before, func() {
		if err := tree.Sweep(folder); err != nil {
			t.Fatal(err)
		}
	})
}

// TestVictim is the test that TestOwnerKilled starts and kills. It does nothing otherwise.
func TestVictim(t *testing.T) {
	if os.Getenv(victimVariable) == "" {
		return
	}
	nodes, err := strconv.Atoi(os.Getenv(victimVariable))
	if err != nil {
		t.Fatal(err)
	}
	c := Start(t, Options{Nodes: []NodeOptions{{Name: "n1"}, {Name: "n2"}}[:nodes]})
	c.Apply(pod("one", "n1", "", false))
	ready(c, "one")
	fmt.Println(victimVariable, c.Folder)
	select {}
}
