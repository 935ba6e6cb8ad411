//go:build linux

package kubetest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/vishvananda/netlink"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/hosts/lab"
	"nearfar/internal/kits/kubetest/tree"
	"nearfar/internal/onhost/host"
)

// holderVariable is in the environment of the process that holds a namespace of the lab.
const holderVariable = "NEARFAR_KUBETEST_WIRE"

// addWires makes the links of their own between pairs of nodes. They are paths of a lab, whose ends are moved to the
// nodes.
func (c *Cluster) addWires(wires []Wire) error {
	if len(wires) == 0 {
		return nil
	}
	var err error
	if c.lab, err = lab.Open(context.Background(), lab.Options{}); err != nil {
		return err
	}
	for i, w := range wires {
		if err := c.addWire(i, w); err != nil {
			return fmt.Errorf("wire between %s and %s: %w", w.A, w.B, err)
		}
	}
	return nil
}

func (c *Cluster) addWire(number int, w Wire) error {
	a, b := c.find(w.A), c.find(w.B)
	if a == nil || b == nil || a == b {
		return errors.New("it needs two nodes of the cluster")
	}
	arm := fmt.Sprint("wire", number)
	first, second, err := c.lab.Build(context.Background(), arm, experiment.Lab{
		Path: []experiment.Element{{Kind: experiment.Wire, Delay: w.Delay, Rate: w.Rate, Loss: w.Loss}},
	})
	if err != nil {
		return err
	}
	one, two, err := c.lab.Machines(arm).CPUs(experiment.Placement{Kind: experiment.PlacementSplit})
	if err != nil {
		return err
	}
	device := fmt.Sprint("wire", number)
	if err := c.moveEnd(first, device, a, one); err != nil {
		return err
	}
	if err := c.moveEnd(second, device, b, two); err != nil {
		return err
	}
	single := c.lab.Facts().Wire == lab.WireUser
	if err := a.useWire(device, b, single); err != nil {
		return err
	}
	return b.useWire(device, a, single)
}

// find finds a node; nil for none.
func (c *Cluster) find(name string) *Node {
	for _, n := range c.order {
		if n.Name == name {
			return n
		}
	}
	return nil
}

// moveEnd moves the interface of a lab's host to a node. A process stays in the host's namespace: the lab's wires keep
// its CPUs awake, as for a process of the lab.
func (c *Cluster) moveEnd(h host.Host, device string, to *Node, cpus []int) error {
	mark := holderVariable + "=" + filepath.Base(c.Folder) + "-" + device + "-" + to.Name
	_, err := h.Start(context.Background(), host.Cmd{
		Argv: []string{"sleep", "infinity"}, Env: []string{mark}, CPUs: cpus,
	})
	if err != nil {
		return err
	}
	holder, err := findMarked(mark)
	if err != nil {
		return err
	}
	space, err := os.Open(fmt.Sprintf("/proc/%s/ns/net", holder))
	if err != nil {
		return err
	}
	defer func() { _ = space.Close() }()
	return inNetwork(space, func() error {
		links, err := netlink.LinkList()
		if err != nil {
			return err
		}
		for _, l := range links {
			if l.Attrs().Flags&net.FlagLoopback != 0 {
				continue
			}
			if err := netlink.LinkSetDown(l); err != nil {
				return err
			}
			if err := netlink.LinkSetName(l, device); err != nil {
				return err
			}
			return netlink.LinkSetNsFd(l, int(to.network.Fd()))
		}
		return fmt.Errorf("no interface in the lab's host %s", h.Endpoint().Name)
	})
}

// findMarked finds the process that has an entry in its environment.
func findMarked(entry string) (string, error) {
	for deadline := time.Now().Add(answer); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		entries, err := os.ReadDir("/proc")
		if err != nil {
			return "", err
		}
		for _, e := range entries {
			b, err := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
			if err == nil && strings.Contains("\x00"+string(b), "\x00"+entry+"\x00") {
				return e.Name(), nil
			}
		}
	}
	return "", fmt.Errorf("no process with %s within %v", entry, answer)
}

// useWire sends packets for a peer and for its pods over a wire. The tunnel's packets follow, because they are
// addressed to the peer. With single, the tunnel of the node gets no super-packets: a wire in user space cannot
// describe one that is inside a tunnel, and the kernel would drop it.
func (n *Node) useWire(device string, peer *Node, single bool) error {
	return inNetwork(n.network, func() error {
		l, err := netlink.LinkByName(device)
		if err != nil {
			return err
		}
		// A lab's host asks for no hardware addresses.
		if err := netlink.LinkSetARPOn(l); err != nil {
			return err
		}
		if err := netlink.LinkSetUp(l); err != nil {
			return err
		}
		if single {
			tunnel, err := netlink.LinkByName(tree.TunnelDevice)
			if err == nil {
				err = netlink.LinkSetGSOMaxSegs(tunnel, 1)
			}
			if err != nil {
				return err
			}
		}
		to := net.ParseIP(peer.Address)
		err = netlink.RouteReplace(&netlink.Route{
			LinkIndex: l.Attrs().Index, Scope: netlink.SCOPE_LINK, Src: net.ParseIP(n.Address),
			Dst: &net.IPNet{IP: to, Mask: net.CIDRMask(32, 32)},
		})
		if err != nil {
			return fmt.Errorf("route to %s: %w", peer.Name, err)
		}
		_, pods, err := net.ParseCIDR(peer.machine.Routed)
		if err != nil {
			return err
		}
		return netlink.RouteReplace(&netlink.Route{
			LinkIndex: l.Attrs().Index, Dst: pods, Gw: to, Flags: int(netlink.FLAG_ONLINK),
		})
	})
}
