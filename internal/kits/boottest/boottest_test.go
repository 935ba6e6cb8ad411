//go:build linux

// Package boottest starts machines with real systemd, cloud-init and sshd in containers, for tests: what a cloud's
// image does when it starts for the first time. scripts/boot-root.sh makes their roots before. Machines are in a
// network namespace of the test, and nothing else is reachable from there.
package boottest

import (
	"bufio"
	"context"
	_ "embed" // start.sh
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"nearfar/internal/kits/kubetest/tree"
	"nearfar/internal/kits/moduleroot"
)

//go:embed start.sh
var startScript string

// bridge is the device that connects the machines of a network. gateway is its address.
const bridge, gateway = "machines", "10.55.0.1"

// A Network is a network namespace with a bridge, to which machines are connected. The test has 10.55.0.1 in it.
type Network struct {
	t testing.TB
	// holder is a process in the namespace, which does nothing.
	holder int
	last   int
	// metadata is the metadata service, once there is a machine of a cloud.
	metadata *metadataService
}

// NewNetwork makes a network. It skips the test for users other than root, and with -short.
func NewNetwork(t testing.TB) *Network {
	t.Helper()
	switch {
	case os.Getuid() != 0:
		t.Skip("only root can start systemd in a container")
	case testing.Short():
		t.Skip("a machine takes seconds to start")
	}
	script := "ip link set lo up; ip link add " + bridge + " type bridge; " +
		"ip address add " + gateway + "/24 dev " + bridge + "; ip link set " + bridge + " up; echo ready; exec sleep infinity"
	cmd := exec.CommandContext(context.Background(), "unshare", "--net", "--", "sh", "-e", "-c", script)
	ready, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	start(t, cmd)
	if line, err := bufio.NewReader(ready).ReadString('\n'); err != nil {
		t.Fatalf("no namespace for machines: %q, %v", line, err)
	}
	return &Network{t: t, holder: cmd.Process.Pid, last: 1}
}

// start starts a program that ends with the test, also if the test is killed.
func start(t testing.TB, cmd *exec.Cmd) {
	t.Helper()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	ended := make(chan struct{})
	go func() {
		// The kernel sends the signal when the thread ends that started the program.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // it is killed
			close(ended)
		}
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // it may have ended
		<-ended
	})
}

// Command runs a program in the network, as on a machine beside the others.
func (n *Network) Command(ctx context.Context, argv ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "nsenter", append([]string{"--net=" + n.namespace(), "--"}, argv...)...)
}

func (n *Network) namespace() string { return fmt.Sprintf("/proc/%d/ns/net", n.holder) }

// An Image says what a machine starts with.
type Image struct {
	// System is debian or ubuntu.
	System string
	// UserData is what the machine gets from the cloud.
	UserData string
	// Key is a public key with which the system's user can log in: debian or ubuntu. It may be empty.
	Key string
	// Cloud is the cloud whose data source the machine has; nil for NoCloud.
	Cloud *Cloud
	// Files are put into the machine before it starts, by their paths.
	Files map[string]string
	// Before is a shell script that runs in the machine's root before it starts.
	Before string
}

// A Machine is a container with systemd.
type Machine struct {
	t       testing.TB
	network *Network
	number  int
	// Address is its address in the network.
	Address string
	// Started is when it was started.
	Started time.Time
	// folder has its files on this machine, and pid is the process that holds it.
	folder string
	pid    int
}

// Start starts a machine, and does not wait for it. It is gone after the test.
func (n *Network) Start(image Image) *Machine {
	n.t.Helper()
	root, err := moduleroot.Built("boot-"+image.System, "scripts/boot-"+image.System+".txt")
	if err != nil {
		n.t.Fatalf("%v: scripts/boot-root.sh %s makes it", err, image.System)
	}
	n.last++
	m := &Machine{
		t: n.t, network: n, number: n.last, Address: fmt.Sprintf("10.55.0.%d", n.last), Started: time.Now(),
		folder: n.t.TempDir(),
	}
	files := maps.Clone(image.Files)
	if files == nil {
		files = map[string]string{}
	}
	if image.Cloud != nil {
		maps.Copy(files, n.inCloud(m, image))
	} else {
		maps.Copy(files, n.noCloud(m, image))
	}
	for file, text := range files {
		m.write(filepath.Join("files", file), text)
	}
	m.write("start.sh", startScript)
	if image.Before != "" {
		m.write("before", image.Before)
	}
	group := fmt.Sprintf("nearfar-boot-%d-%d", n.holder, n.last)
	n.t.Cleanup(func() {
		if err := tree.RemoveGroups(group); err != nil {
			n.t.Error(err)
		}
	})
	// A process namespace: all of the machine ends with the process that holds it, also if that is killed.
	cmd := n.Command(context.Background(), "unshare", "--mount", "--propagation", "private", "--pid", "--fork",
		"--kill-child", "--mount-proc", "--", "sh",
		filepath.Join(m.folder, "start.sh"), root, m.folder, group, bridge)
	console, err := os.Create(filepath.Join(m.folder, "console"))
	if err != nil {
		n.t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = console, console
	start(n.t, cmd)
	_ = console.Close() // the machine has it
	m.pid = cmd.Process.Pid
	return m
}

// noCloud are the files of a machine whose data source is NoCloud, and whose address is fixed.
func (n *Network) noCloud(m *Machine, image Image) map[string]string {
	name := fmt.Sprintf("machine-%d", n.last)
	meta := fmt.Sprintf("instance-id: %s\nlocal-hostname: %[1]s\n", name)
	if image.Key != "" {
		meta += fmt.Sprintf("public-keys: [%q]\n", image.Key)
	}
	return map[string]string{
		"var/lib/cloud/seed/nocloud/user-data": image.UserData,
		"var/lib/cloud/seed/nocloud/meta-data": meta,
		"etc/cloud/cloud.cfg.d/99-test.cfg":    "datasource_list: [NoCloud]\nnetwork: {config: disabled}\n" + testConfig,
		"etc/systemd/network/10-host0.network": "[Match]\nName=host0\n[Network]\nAddress=" + m.Address +
			"/24\nGateway=" + gateway + "\n",
	}
}

// testConfig is cloud-init's configuration in all machines: packages come from the folder in the root.
const testConfig = "apt: {preserve_sources_list: true}\nlocale: C.UTF-8\n"

// write writes a file into the folder of the machine.
func (m *Machine) write(name, text string) {
	m.t.Helper()
	file := filepath.Join(m.folder, name)
	mode := os.FileMode(0o644)
	if strings.HasPrefix(text, "#!") {
		mode = 0o755
	}
	err := os.MkdirAll(filepath.Dir(file), 0o755)
	if err == nil {
		err = os.WriteFile(file, []byte(text), mode)
	}
	if err != nil {
		m.t.Fatal(err)
	}
}

// Run runs a program inside of the machine, and gives what it prints.
func (m *Machine) Run(argv ...string) (string, error) {
	init, err := m.init()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	inside := []string{
		"--target", strconv.Itoa(init), "--mount", "--uts", "--ipc", "--net", "--pid", "--root", "--wd=/", "--",
	}
	cmd := exec.CommandContext(ctx, "nsenter", append(inside, argv...)...)
	cmd.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// init is the process 1 of the machine, as this machine sees it.
func (m *Machine) init() (int, error) {
	// The holder's child starts the machine: systemd is below it.
	starter, err := childOf(m.pid)
	if err != nil {
		return 0, err
	}
	return childOf(starter)
}

// childOf is a child of a process.
func childOf(parent int) (int, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", parent))
	if err != nil {
		return 0, err
	}
	for field := range strings.FieldsSeq(string(text)) {
		if pid, err := strconv.Atoi(field); err == nil {
			return pid, nil
		}
	}
	return 0, errors.New("the machine has not started yet")
}

// Gone says whether the machine has ended.
func (m *Machine) Gone() bool {
	_, err := m.init()
	return err != nil
}

// Wait waits until something is true, and fails the test with what the machine says if it is not within a time.
func (m *Machine) Wait(what string, within time.Duration, ready func() bool) {
	m.t.Helper()
	for deadline := time.Now().Add(within); !ready(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			m.t.Fatalf("%s: not within %v\n%s", what, within, m.state())
		}
	}
}

// Listens says whether a port answers.
func (m *Machine) Listens(port int) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	script := fmt.Sprintf("exec 3<>/dev/tcp/%s/%d", m.Address, port)
	return m.network.Command(ctx, "bash", "-c", script).Run() == nil
}

// state is what a machine is doing, for a failed test.
func (m *Machine) state() string {
	var text strings.Builder
	console, _ := os.ReadFile(filepath.Join(m.folder, "console")) // it may be empty
	text.Write(console)
	for _, argv := range [][]string{
		{"systemctl", "list-jobs", "--no-pager"}, {"ps", "-eo", "pid,etime,args"}, {"cloud-init", "status", "--long"},
		{"tail", "-n", "40", "/var/log/cloud-init-output.log"},
	} {
		out, err := m.Run(argv...)
		fmt.Fprintf(&text, "$ %s\n%s", strings.Join(argv, " "), out)
		if err != nil {
			fmt.Fprintln(&text, err)
		}
	}
	return text.String()
}
