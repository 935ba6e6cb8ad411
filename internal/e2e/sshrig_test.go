//go:build linux

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/hosts/lab"
	"nearfar/internal/onhost/host"
)

// An sshRig is hosts in network namespaces, each with a real sshd, and a namespace for nearfar with a link to each
// host. The links between the hosts are those of a lab, so that they can have wires with a known delay. Users, homes
// and /run of the hosts are in mount namespaces of their own: nothing but the test's folder changes.
type sshRig struct {
	t *testing.T
	// dir is the test's folder, config ssh's configuration file with a name for each host.
	dir, config string
	// controller is nearfar's network namespace.
	controller *os.File
	lab        *lab.Lab
	hosts      map[string]*sshHost
	// sessions is in the environment of what ssh sessions start on the hosts, as NAME=VALUE.
	sessions string
	// sshd has further lines of the configuration of each sshd that is started.
	sshd string
}

// An sshHost is a host with an sshd.
type sshHost struct {
	name string
	// control is the address for ssh, data the address that is measured. port is the port of sshd.
	control, data string
	port          int
	space         *os.File
	// home is the home directory of root on the host.
	home string
	sshd *exec.Cmd
	// ended is closed when sshd has ended.
	ended chan struct{}
	// mounts identify the mount namespaces of the sshd that were started.
	mounts []string
	// held are these namespaces: while they are open, the kernel gives their numbers to no other namespace.
	held []*os.File
	// groups are the folders of the control groups in which the host's processes are; none for the test's.
	groups []string
	// ahead is how many seconds the clocks of the host's programs that count from its start are ahead of the kernel's.
	ahead int
}

// sshPair is two hosts and the path between them. placement is where trials run on them, which decides where the wires
// of the path run: experiment.PlacementShared or PlacementSplit.
type sshPair struct {
	client, server string
	path           []experiment.Element
	placement      string
}

// newSSHRig makes the hosts. Tools on them are those of this machine.
func newSSHRig(t *testing.T, pairs ...sshPair) *sshRig {
	t.Helper()
	return newSSHRigWith(t, nil, pairs...)
}

// newSSHRigWith makes hosts some of which have a home directory on a small file system, whose size is given as for
// tmpfs.
func newSSHRigWith(t *testing.T, sizes map[string]string, pairs ...sshPair) *sshRig {
	t.Helper()
	r := emptySSHRig(t)
	r.network(pairs)
	r.accounts()
	for _, h := range r.hosts {
		if size := sizes[h.name]; size != "" {
			r.save("small-"+h.name, size)
		}
		r.serve(h)
	}
	return r
}

// emptySSHRig is a rig without hosts and networks.
func emptySSHRig(t *testing.T) *sshRig {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("sshd serves root only as root")
	}
	need(t, "openssh-server", "/usr/sbin/sshd")
	r := &sshRig{t: t, dir: workspace(t), hosts: map[string]*sshHost{}}
	r.config = filepath.Join(r.dir, "ssh_config")
	own := fmt.Sprintf("%s-%d", strings.ReplaceAll(t.Name(), "/", "-"), os.Getpid())
	r.sessions = marker + "=" + own + "-on-hosts"
	t.Cleanup(r.close)
	return r
}

// must fails the test.
func (r *sshRig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// machines are the rig's hosts as the machines that a cloud has made.
func (r *sshRig) machines() map[string]map[string]string {
	machines := map[string]map[string]string{}
	for name, h := range r.hosts {
		machines[name] = map[string]string{"ssh": name, "address": h.data}
	}
	return machines
}

// onThread runs f on a new thread, which ends with f: f may leave the thread in any namespace.
func onThread(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked
		done <- f()
	}()
	return <-done
}

// inSpace runs f in a network namespace.
func inSpace(space *os.File, f func() error) error {
	return onThread(func() error {
		if err := unix.Setns(int(space.Fd()), unix.CLONE_NEWNET); err != nil {
			return err
		}
		return f()
	})
}

// network makes the namespaces and the links.
func (r *sshRig) network(pairs []sshPair) {
	r.t.Helper()
	r.must(onThread(func() (err error) {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return err
		}
		if r.controller, err = os.Open("/proc/thread-self/ns/net"); err != nil {
			return err
		}
		lo, err := netlink.LinkByName("lo")
		if err != nil {
			return err
		}
		return netlink.LinkSetUp(lo)
	}))
	var err error
	r.lab, err = lab.Open(r.t.Context(), lab.Options{Program: program})
	r.must(err)
	for i, p := range pairs {
		arm := fmt.Sprint("pair", i)
		client, server, err := r.lab.Build(r.t.Context(), arm, experiment.Lab{Path: p.path})
		r.must(err)
		clientCPUs, serverCPUs, err := r.lab.Machines(arm).CPUs(experiment.Placement{Kind: p.placement})
		r.must(err)
		r.add(p.client, client, clientCPUs)
		r.add(p.server, server, serverCPUs)
	}
}

// sshPort is the port of sshd on hosts that have an address of their own.
const sshPort = 22

// add takes a host of the lab over. A process runs there until the end, on the CPUs on which agents will start theirs:
// it holds the namespace, and the lab's wires are as awake as for a process of the lab.
func (r *sshRig) add(name string, h host.Host, cpus []int) {
	r.t.Helper()
	h2 := &sshHost{
		name: name, data: h.Endpoint().Dial.V4.String(), home: filepath.Join(r.dir, "home-"+name), port: sshPort,
	}
	n := len(r.hosts) + 1
	r.hosts[name], h2.control = h2, fmt.Sprintf("10.78.%d.2", n)
	holder := r.sessions + "-holder-" + name
	_, err := h.Start(context.WithoutCancel(r.t.Context()), host.Cmd{
		Argv: []string{"sleep", "infinity"}, Env: []string{holder}, CPUs: cpus,
	})
	r.must(err)
	found := waitUntil(r.t, "the holder of "+name, func() []markedProcess { return marked(r.t, holder) })
	h2.space, err = os.Open(fmt.Sprintf("/proc/%d/ns/net", found[0].pid))
	r.must(err)
	device := func(link, address string) error {
		l, err := netlink.LinkByName(link)
		if err != nil {
			return err
		}
		a, err := netlink.ParseAddr(address)
		if err != nil {
			return err
		}
		if err := netlink.AddrAdd(l, a); err != nil {
			return err
		}
		return netlink.LinkSetUp(l)
	}
	r.must(inSpace(r.controller, func() error {
		attributes := netlink.NewLinkAttrs()
		attributes.Name = controlLink(n)
		err := netlink.LinkAdd(&netlink.Veth{
			LinkAttrs: attributes, PeerName: "control", PeerNamespace: netlink.NsFd(h2.space.Fd()),
		})
		if err != nil {
			return err
		}
		return device(controlLink(n), fmt.Sprintf("10.78.%d.1/24", n))
	}))
	r.must(inSpace(h2.space, func() error { return device("control", h2.control+"/24") }))
}

func controlLink(n int) string { return fmt.Sprint("control", n) }

// setControl sets the control link of a host up or down.
func (r *sshRig) setControl(name string, up bool) {
	r.t.Helper()
	n := strings.Split(r.hosts[name].control, ".")[2]
	r.must(inSpace(r.controller, func() error {
		l, err := netlink.LinkByName("control" + n)
		if err != nil {
			return err
		}
		if up {
			return netlink.LinkSetUp(l)
		}
		return netlink.LinkSetDown(l)
	}))
}

// rigUsers are the names under which root of a host can log in. Labs log in with the names that images of clouds have.
func rigUsers() []string { return []string{"root", "azureuser", "ec2-user", "nearfar"} }

// accounts makes keys, and the files of nearfar's side and of the hosts.
func (r *sshRig) accounts() {
	r.t.Helper()
	for _, name := range []string{"hostkey", "key"} {
		out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "rig", "-f",
			filepath.Join(r.dir, name)).CombinedOutput()
		if err != nil {
			r.t.Fatalf("ssh-keygen: %v: %s", err, out)
		}
	}
	public, err := os.ReadFile(filepath.Join(r.dir, "hostkey.pub"))
	r.must(err)
	config, known := "", ""
	for _, h := range r.hosts {
		config += fmt.Sprintf("Host %s\n\tHostName %s\n\tPort %d\n\tHostKeyAlias %[1]s\n", h.name, h.control, h.port)
		known += h.name + " " + string(public)
		r.must(os.Mkdir(h.home, 0o700))
		// As whom PostgreSQL runs.
		accounts := "sshd:*:5000:5000::/run/sshd:/bin/false\nnobody:*:65534:65534::/nonexistent:/bin/false\n"
		for _, name := range rigUsers() {
			accounts += fmt.Sprintf("%s:*:0:0::%s:/bin/sh\n", name, h.home)
		}
		r.save("passwd-"+h.name, accounts)
	}
	config += fmt.Sprintf(`Host *
	User root
	IdentityFile %[1]s/key
	IdentitiesOnly yes
	IdentityAgent none
	UserKnownHostsFile %[1]s/known_hosts
	GlobalKnownHostsFile none
`, r.dir)
	r.save("ssh_config", config)
	r.save("known_hosts", known)
	r.save("nsswitch", "passwd: files\ngroup: files\nshadow: files\nhosts: files\n")
}

// save writes a file into the test's folder.
func (r *sshRig) save(name, content string) {
	r.t.Helper()
	r.must(os.WriteFile(filepath.Join(r.dir, name), []byte(content), 0o644))
}

// serve starts the sshd of a host, and waits until it listens.
func (r *sshRig) serve(h *sshHost) {
	r.t.Helper()
	file := filepath.Join(r.dir, "sshd-"+h.name)
	r.save(filepath.Base(file), fmt.Sprintf(`ListenAddress %s
Port %d
HostKey %s/hostkey
PidFile none
AuthorizedKeysFile %[3]s/key.pub
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin yes
SetEnv %[4]s
%[5]s`, h.control, h.port, r.dir, r.sessions, r.sshd))
	log, err := os.OpenFile(file+".log", os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	r.must(err)
	defer func() { _ = log.Close() }()
	h.sshd = exec.Command("sh", "-c", `
set -e
for group in $3; do echo $$ >"$group/cgroup.procs"; done
mount --make-rprivate /
mount -t tmpfs -o mode=755 none /run
mkdir /run/sshd
mount --bind "$1/passwd-$2" /etc/passwd
mount --bind "$1/nsswitch" /etc/nsswitch.conf
# The folder is replaced, and not the file: nearfar takes a host with a mount over the file for a container, and does not
# identify a machine by the boot id of a container.
if [ -e "$1/boot-$2" ]; then
	mount -t tmpfs none /proc/sys/kernel/random
	ln -s "$1/boot-$2" /proc/sys/kernel/random/boot_id
fi
if [ -e "$1/firmware-$2" ]; then
	mkdir "$1/class-$2"
	mount --rbind /sys/class "$1/class-$2"
	mount -t tmpfs none /sys/class
	for class in "$1/class-$2"/*; do
		name=${class##*/}
		if [ "$name" = dmi ]; then continue; fi
		mkdir "/sys/class/$name"
		mount --bind "$class" "/sys/class/$name"
	done
	mkdir -p /sys/class/dmi/id
	cp "$1/firmware-$2"/* /sys/class/dmi/id
fi
if [ -e "$1/small-$2" ]; then mount -t tmpfs -o "size=$(cat "$1/small-$2")" none "$1/home-$2"; fi
if [ "$4" != 0 ]; then ahead="unshare --time --monotonic $4 --boottime $4 --"; fi
exec $ahead /usr/sbin/sshd -D -e -f "$1/sshd-$2"`,
		"sh", r.dir, h.name, strings.Join(h.groups, " "), fmt.Sprint(h.ahead))
	h.sshd.Stderr = log
	h.sshd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Unshareflags: unix.CLONE_NEWNS}
	r.must(inSpace(h.space, h.sshd.Start))
	ended := make(chan struct{})
	h.ended = ended
	go func() {
		_ = h.sshd.Wait()
		close(ended)
	}()
	space := fmt.Sprintf("/proc/%d/ns/mnt", h.sshd.Process.Pid)
	mounts, err := os.Readlink(space)
	r.must(err)
	h.mounts = append(h.mounts, mounts)
	held, err := os.Open(space)
	r.must(err)
	h.held = append(h.held, held)
	waitUntil(r.t, "sshd of "+h.name, func() []bool {
		var c net.Conn
		err := inSpace(r.controller, func() (err error) {
			c, err = net.DialTimeout("tcp4", fmt.Sprintf("%s:%d", h.control, h.port), time.Second)
			return err
		})
		if err == nil {
			_ = c.Close()
			return []bool{true}
		}
		select {
		case <-ended:
			b, _ := os.ReadFile(file + ".log")
			r.t.Fatalf("sshd of %s ended: %s", h.name, b)
		default:
		}
		return nil
	})
}

// command is nearfar in the rig's namespace, and the mark of all that it starts on this side.
func (r *sshRig) command(args ...string) (cmd *exec.Cmd, mark string) {
	r.t.Helper()
	argv := append([]string{
		fmt.Sprintf("--net=/proc/%d/fd/%d", os.Getpid(), r.controller.Fd()), "--", program,
	}, args...)
	cmd = exec.Command("nsenter", argv...)
	cmd.Dir = r.dir
	own := fmt.Sprintf("%s=%s-%d-controller", marker, strings.ReplaceAll(r.t.Name(), "/", "-"), os.Getpid())
	cmd.Env = append(os.Environ(), "HOME="+r.dir, own)
	return cmd, own
}

// run is the command line for a run with the rig's hosts.
func (r *sshRig) run(file string, args ...string) (cmd *exec.Cmd, mark string) {
	r.t.Helper()
	return r.command(append([]string{
		"run", "--force", "--progress", "plain", "-f", "json", "--ssh-config", r.config, file,
	}, args...)...)
}

// addressed puts the data addresses of the hosts in place of their names in capitals.
func (r *sshRig) addressed(text string) string {
	for name, h := range r.hosts {
		text = strings.ReplaceAll(text, strings.ToUpper(name), h.data)
	}
	return text
}

// placed puts placements in place of ONE and TWO: one CPU for both sides and two CPUs, as a lab's placements "shared"
// and "split".
func (r *sshRig) placed(text string) string {
	r.t.Helper()
	words := func(kind string) string {
		client, server, err := r.lab.CPUs(experiment.Placement{Kind: kind})
		r.must(err)
		return fmt.Sprintf("{client: [%d], server: [%d]}", client[0], server[0])
	}
	return strings.NewReplacer(
		"ONE", words(experiment.PlacementShared), "TWO", words(experiment.PlacementSplit)).Replace(text)
}

// clients are nearfar's ssh processes.
func (r *sshRig) clients(mark string) (pids []int) {
	for _, p := range marked(r.t, mark) {
		if strings.HasPrefix(p.line, "ssh ") {
			pids = append(pids, p.pid)
		}
	}
	return pids
}

// onHosts lists the processes on all hosts whose command line contains the text.
func (r *sshRig) onHosts(text string) (found []markedProcess) {
	for _, p := range marked(r.t, r.sessions) {
		if strings.Contains(p.line, text) {
			found = append(found, p)
		}
	}
	return found
}

// left lists what is left on the hosts: processes that sessions started, files in the homes, ports.
func (r *sshRig) left() (all []string) {
	for _, p := range marked(r.t, r.sessions) {
		all = append(all, fmt.Sprintf("process %d %s", p.pid, p.line))
	}
	for _, h := range r.hosts {
		for _, pattern := range []string{"/*", "/.*/*"} {
			for _, name := range glob(r.t, r.inside(h.name)+pattern) {
				all = append(all, "file "+name)
			}
		}
		_ = inSpace(h.space, func() error {
			for _, table := range []string{"tcp", "tcp6", "udp", "udp6"} {
				data, err := os.ReadFile("/proc/thread-self/net/" + table)
				if err != nil {
					continue
				}
				for _, line := range strings.Split(string(data), "\n")[1:] {
					fields := strings.Fields(line)
					listens := len(fields) > 3 && (fields[3] == "0A" || strings.HasPrefix(table, "udp"))
					if listens && !strings.HasSuffix(fields[1], ":0016") { // sshd
						all = append(all, fmt.Sprintf("%s socket %s on %s", table, fields[1], h.name))
					}
				}
			}
			return nil
		})
	}
	return all
}

// holder is a process in the mount namespace of a host; 0 if none is left.
func (r *sshRig) holder(h *sshHost) int {
	select {
	case <-h.ended:
		return os.Getpid()
	default:
		return h.sshd.Process.Pid
	}
}

// wantNothingLeft waits at most so long until nothing is left on any host.
func (r *sshRig) wantNothingLeft(within time.Duration) {
	r.t.Helper()
	started := time.Now()
	for {
		looked := time.Now()
		left := r.left()
		if len(left) == 0 {
			r.t.Logf("nothing was left on any host %.1f s after", time.Since(started).Seconds())
			return
		}
		if time.Since(started) > within {
			r.t.Fatalf("left on the hosts after %v: %q", within, left)
		}
		rest(looked)
	}
}

// of lists the processes on a host whose program's name begins with a text. sshd overwrites its environment, so that
// a mark in it would not be seen.
func (r *sshRig) of(h *sshHost, program string) (pids []int) {
	for _, pid := range machinePIDs(r.t) {
		space, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/mnt", pid))
		if err != nil || !slices.Contains(h.mounts, space) {
			continue
		}
		exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
		if err == nil && strings.HasPrefix(filepath.Base(exe), program) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// killSSHD ends the sshd of a host with the processes of its sessions, but not what these started.
func (r *sshRig) killSSHD(h *sshHost) {
	_ = h.sshd.Process.Kill()
	<-h.ended
	for _, pid := range r.of(h, "sshd") {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// close ends all remaining parts of the rig.
func (r *sshRig) close() {
	for _, h := range r.hosts {
		if h.ended == nil {
			continue
		}
		r.killSSHD(h)
		for _, pid := range r.of(h, "") {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	if r.lab != nil {
		if err := r.lab.Close(); err != nil {
			r.t.Error(err)
		}
	}
	for _, h := range r.hosts {
		for _, space := range h.held {
			_ = space.Close()
		}
		_ = h.space.Close()
	}
	if r.controller != nil {
		_ = r.controller.Close()
	}
}

// answered runs a command that must succeed, and returns its answer.
func (r *sshRig) answered(cmd *exec.Cmd) (stdout []byte, said string) {
	r.t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		for name := range r.hosts {
			b, _ := os.ReadFile(filepath.Join(r.dir, "sshd-"+name+".log"))
			r.t.Logf("sshd of %s: %s", name, b)
		}
		r.t.Fatalf("%v\n%s", err, errs.Bytes())
	}
	return out.Bytes(), errs.String()
}
