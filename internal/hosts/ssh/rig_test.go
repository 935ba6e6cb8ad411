//go:build linux

package ssh

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nearfar/internal/onhost/agent"
	"nearfar/internal/onhost/host"
)

// patience is how long tests wait for what must happen. It is long, so that a busy machine passes.
const patience = 60 * time.Second

// Addresses of the rig. The tests run on the controller, which has a link to each of the first four hosts.
const (
	plainAddress  = "10.77.1.2"
	jumpAddress   = "10.77.2.2"
	sixAddress    = "fd77:3::2"
	singleAddress = "10.77.4.2"
	behindAddress = "10.77.5.2" // known to the jump host alone

	// Addresses of links between two hosts, which are measured.
	plainData  = "10.77.6.1"
	behindData = "10.77.6.2"
	singleData = "fd77:7::1"
	sixData    = "fd77:7::2"

	ordinaryPort = 2222 // of an sshd that runs as an ordinary user, on plain
	droppedPort  = 2223 // on plain, whose firewall drops packets to it
	silentPort   = 2224 // on plain, where something listens that is no sshd
)

// A rig is hosts in network namespaces, each with a real sshd.
type rig struct {
	dir string
	// config is a configuration file for ssh, with a name for each host.
	config  string
	program Program
	mu      sync.Mutex
	sshd    map[string]*exec.Cmd // by the name of the host
	spaces  map[string]*os.File  // network namespaces
	silent  net.Listener
}

// theRig makes the rig for the first test that asks for it. It stays until the test binary ends.
var theRig = sync.OnceValues(newRig)

// useRig returns the rig.
func useRig(t *testing.T) *rig {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("sshd serves several users only as root")
	}
	r, err := theRig()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func newRig() (*rig, error) {
	r := &rig{dir: os.Getenv(rigVariable), sshd: map[string]*exec.Cmd{}, spaces: map[string]*os.File{}}
	r.config = filepath.Join(r.dir, "config")
	for _, step := range []func() error{r.network, r.keys, r.files, r.servers, r.packProgram} {
		if err := step(); err != nil {
			return nil, fmt.Errorf("making the rig: %w", err)
		}
	}
	return r, nil
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

// in runs f in the network namespace of a host; "" is the controller's.
func (r *rig) in(name string, f func() error) error {
	return onThread(func() error {
		if space := r.spaces[name]; space != nil {
			if err := unix.Setns(int(space.Fd()), unix.CLONE_NEWNET); err != nil {
				return err
			}
		}
		return f()
	})
}

// network makes the hosts' namespaces and the links between them.
func (r *rig) network() error {
	loopback := func() error {
		lo, err := netlink.LinkByName("lo")
		if err != nil {
			return err
		}
		return netlink.LinkSetUp(lo)
	}
	if err := r.in("", loopback); err != nil {
		return err
	}
	for _, name := range []string{"plain", "jump", "six", "single", "behind"} {
		err := onThread(func() error {
			if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
				return err
			}
			var err error
			if r.spaces[name], err = os.Open("/proc/thread-self/ns/net"); err != nil {
				return err
			}
			return loopback()
		})
		if err != nil {
			return err
		}
	}
	for _, l := range []struct{ from, to, net, address string }{
		{"", "plain", "10.77.1.1/24", plainAddress + "/24"},
		{"", "jump", "10.77.2.1/24", jumpAddress + "/24"},
		{"", "six", "fd77:3::1/64", sixAddress + "/64"},
		{"", "single", "10.77.4.1/24", singleAddress + "/24"},
		{"jump", "behind", "10.77.5.1/24", behindAddress + "/24"},
		{"plain", "behind", plainData + "/24", behindData + "/24"},
		{"single", "six", singleData + "/64", sixData + "/64"},
	} {
		if err := r.link(l.from, l.to, l.net, l.address); err != nil {
			return fmt.Errorf("link to %s: %w", l.to, err)
		}
	}
	return r.in("plain", func() error { return drop(droppedPort) })
}

// link makes a pair of devices between two namespaces.
func (r *rig) link(from, to, fromAddress, toAddress string) error {
	up := func(device, address string) error {
		l, err := netlink.LinkByName(device)
		if err != nil {
			return err
		}
		a, err := netlink.ParseAddr(address)
		if err != nil {
			return err
		}
		if a.IP.To4() == nil {
			a.Flags = unix.IFA_F_NODAD
		}
		if err := netlink.AddrAdd(l, a); err != nil {
			return err
		}
		return netlink.LinkSetUp(l)
	}
	err := r.in(from, func() error {
		attributes := netlink.NewLinkAttrs()
		attributes.Name = to
		veth := &netlink.Veth{
			LinkAttrs: attributes, PeerName: "to-" + from, PeerNamespace: netlink.NsFd(r.spaces[to].Fd()),
		}
		if err := netlink.LinkAdd(veth); err != nil {
			return err
		}
		return up(to, fromAddress)
	})
	if err != nil {
		return err
	}
	return r.in(to, func() error { return up("to-"+from, toAddress) })
}

// drop adds a firewall to the thread's namespace, which drops TCP packets to a port.
func drop(port uint16) error {
	c, err := nftables.New()
	if err != nil {
		return err
	}
	table := c.AddTable(&nftables.Table{Family: nftables.TableFamilyIPv4, Name: "drop"})
	chain := c.AddChain(&nftables.Chain{Name: "input", Table: table, Type: nftables.ChainTypeFilter,
		Hooknum: nftables.ChainHookInput, Priority: nftables.ChainPriorityFilter})
	c.AddRule(&nftables.Rule{Table: table, Chain: chain, Exprs: []expr.Any{
		&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: 1},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: []byte{unix.IPPROTO_TCP}},
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseTransportHeader, Offset: 2, Len: 2},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: binary.BigEndian.AppendUint16(nil, port)},
		&expr.Verdict{Kind: expr.VerdictDrop},
	}})
	return c.Flush()
}

// keys makes the keys of hosts and users.
func (r *rig) keys() error {
	for _, name := range []string{"hostkey", "ordinarykey", "key", "wrongkey"} {
		if err := keygen(filepath.Join(r.dir, name), ""); err != nil {
			return err
		}
	}
	if err := keygen(filepath.Join(r.dir, "lockedkey"), "a passphrase"); err != nil {
		return err
	}
	var allowed []byte
	for _, name := range []string{"key.pub", "lockedkey.pub"} {
		b, err := os.ReadFile(filepath.Join(r.dir, name))
		if err != nil {
			return err
		}
		allowed = append(allowed, b...)
	}
	if err := os.Chown(filepath.Join(r.dir, "ordinarykey"), 5001, 5001); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.dir, "authorized"), allowed, 0o644)
}

func keygen(file, passphrase string) error {
	out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-C", "rig", "-f", file).
		CombinedOutput()
	if err != nil {
		return fmt.Errorf("ssh-keygen: %w: %s", err, out)
	}
	return nil
}

// files writes ssh's configuration and known_hosts, and what the accounts need.
func (r *rig) files() error {
	public := func(name string) string {
		b, err := os.ReadFile(filepath.Join(r.dir, name+".pub"))
		if err != nil {
			return err.Error()
		}
		return string(b)
	}
	host, ordinary := public("hostkey"), public("ordinarykey")
	known := ""
	for _, a := range []string{plainAddress, jumpAddress, sixAddress, singleAddress, behindAddress} {
		known += a + " " + host
	}
	known += fmt.Sprintf("[%s]:%d %s", plainAddress, ordinaryPort, ordinary)
	config := `
Host plain plain-*
	HostName ` + plainAddress + `
Host jump
	HostName ` + jumpAddress + `
Host behind
	HostName ` + behindAddress + `
	ProxyJump jump
Host six
	HostName ` + sixAddress + `
Host single
	HostName ` + singleAddress + `
Host ordinary
	HostName ` + plainAddress + `
	Port ` + fmt.Sprint(ordinaryPort) + `
	User ordinary
Host * !keyless-*
	IdentityFile ` + r.dir + `/key
Host *
	User root
	IdentitiesOnly yes
	IdentityAgent none
	UserKnownHostsFile ` + r.dir + `/known_hosts
	GlobalKnownHostsFile none
`
	executable := func(lines string) string { return "#!/bin/sh\n" + lines }
	for path, content := range map[string]string{
		"config":              config,
		"known_hosts":         known,
		"known_hosts_changed": plainAddress + " " + ordinary,
		"home/bash/.bashrc":   "echo Welcome to this machine\nprintf 'no newline'\n",
		"bin/other/uname":     executable("[ \"$1\" = -s ] && echo Linux || echo riscv64\n"),
		"bin/msys/uname":      executable("[ \"$1\" = -s ] && echo MINGW64_NT-10.0-19045 || echo x86_64\n"),
		"bin/sudo/sudo":       executable("echo 'sudo: a password is required' >&2; exit 1\n"),
		"bin/rootsudo/sudo":   executable("shift 2; SUDO=1 exec \"$@\"\n"),
		"shell/cmd": executable(
			"echo \"'exec' is not recognized as an internal or external command,\" >&2; exit 1\n"),
		"shell/busybox": executable("exec busybox sh \"$@\"\n"),
		"shell/endless": executable("while :; do echo and on and on and on and on; done\n"),
		"shell/silent":  executable("exec sleep 1000\n"),
	} {
		file := filepath.Join(r.dir, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		mode := os.FileMode(0o644)
		if strings.HasPrefix(content, "#!") {
			mode = 0o755
		}
		if err := os.WriteFile(file, []byte(content), mode); err != nil {
			return err
		}
	}
	return r.bareTools()
}

// bareTools makes a folder with the programs that the script needs, and no others.
func (r *rig) bareTools() error {
	dir := filepath.Join(r.dir, "bin/bare")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, name := range []string{"sh", "head", "uname", "tr", "mkdir", "wc", "cat", "chmod", "rm", "mv", "id"} {
		path, err := exec.LookPath(name)
		if err != nil {
			return err
		}
		if err := os.Symlink(path, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// servers starts an sshd on each host, and one that runs as an ordinary user.
func (r *rig) servers() error {
	for _, name := range []string{"plain", "jump", "six", "single", "behind", "ordinary"} {
		if err := r.serve(name); err != nil {
			return fmt.Errorf("sshd on %s: %w", name, err)
		}
	}
	return r.in("plain", func() error {
		// It accepts connections, and says nothing.
		var err error
		r.silent, err = net.Listen("tcp4", fmt.Sprintf("%s:%d", plainAddress, silentPort))
		return err
	})
}

// serve starts the sshd of a host, and waits until it listens.
func (r *rig) serve(name string) error {
	space, address, port, key, sessions := name, "", 22, "hostkey", 10
	switch name {
	case "plain":
		address = plainAddress
	case "jump":
		address = jumpAddress
	case "six":
		address = sixAddress
	case "single":
		address, sessions = singleAddress, 1
	case "behind":
		address = behindAddress
	case "ordinary":
		space, address, port, key = "plain", plainAddress, ordinaryPort, "ordinarykey"
	}
	config := fmt.Sprintf(`
Port %d
ListenAddress %s
HostKey %s/%s
PidFile none
AuthorizedKeysFile %[3]s/authorized
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin yes
MaxStartups 100
MaxSessions %[5]d
Match User noexec
	SetEnv TMPDIR=%[3]s/noexec XDG_CACHE_HOME=%[3]s/noexec
Match User other
	SetEnv PATH=%[3]s/bin/other:/usr/bin:/bin
Match User msys
	SetEnv PATH=%[3]s/bin/msys:/usr/bin:/bin
Match User sudo
	SetEnv PATH=%[3]s/bin/sudo:/usr/bin:/bin
Match User rootsudo
	SetEnv PATH=%[3]s/bin/rootsudo:/usr/bin:/bin
Match User bare
	SetEnv PATH=%[3]s/bin/bare
Match User forced
	ForceCommand %[3]s/placed/nearfar-agent --stdio
`, port, address, r.dir, key, sessions)
	file := filepath.Join(r.dir, "sshd-"+name)
	if err := os.WriteFile(file, []byte(config), 0o644); err != nil {
		return err
	}
	log, err := os.OpenFile(file+".log", os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command("/usr/sbin/sshd", "-D", "-e", "-f", file)
	cmd.Stderr = log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if name == "ordinary" {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: 5001, Gid: 5001}
	}
	ended := make(chan struct{})
	err = r.in(space, func() error {
		if err := cmd.Start(); err != nil {
			return err
		}
		go func() {
			_ = cmd.Wait()
			close(ended)
		}()
		for end := time.Now().Add(patience); time.Now().Before(end); {
			c, err := net.Dial("tcp", net.JoinHostPort(address, fmt.Sprint(port)))
			if err == nil {
				return c.Close()
			}
			select {
			case <-ended:
				b, _ := os.ReadFile(file + ".log")
				return fmt.Errorf("it ended: %s", b)
			case <-time.After(10 * time.Millisecond):
			}
		}
		return fmt.Errorf("it does not listen on %s port %d", address, port)
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sshd[name] = cmd
	return err
}

// standIn stands in for nearfar-agent. With --stdio it says hello with its folder, and then sends back what it gets. It
// reads the introduction, and no byte beyond it.
const standIn = `#!/bin/sh
case $1 in
version) echo stand-in ;;
--stdio)
	read -r introduction || exit 1
	echo "hello from $3 $(id -u) sudo:$SUDO"
	exec cat
	;;
esac
exit
`

// standInSize is more than a pipe, and the rig's small file system, hold.
const standInSize = 3 << 20

// packProgram compresses the stand-in, with random bytes at its end.
func (r *rig) packProgram() (err error) {
	random := make([]byte, standInSize-len(standIn))
	_, _ = rand.NewChaCha8([32]byte{}).Read(random) // never fails
	r.program, err = pack(append([]byte(standIn), random...))
	return err
}

func pack(program []byte) (Program, error) {
	hash := sha256.Sum256(program)
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	if err != nil {
		return Program{}, err
	}
	if _, err := w.Write(program); err != nil {
		return Program{}, err
	}
	if err := w.Close(); err != nil {
		return Program{}, err
	}
	return Program{SHA256: hex.EncodeToString(hash[:]), Size: int64(len(program)), Gzip: packed.Bytes()}, nil
}

// agents is Options.Agents for hosts of this machine's kind.
func (r *rig) agents(s host.System) (Program, error) {
	if s != (host.System{OS: runtime.GOOS, Arch: runtime.GOARCH}) {
		return Program{}, fmt.Errorf("there is no agent for %s/%s", s.OS, s.Arch)
	}
	return r.program, nil
}

// options are the options for a name of the rig's configuration.
func (r *rig) options(name string) Options {
	return Options{
		Agent: agent.Options{Name: name, Session: agent.NewSession()},
		Name:  name, Config: r.config, Agents: r.agents,
	}
}
