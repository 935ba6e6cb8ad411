package lab

import (
	"errors"
	"fmt"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nearfar/internal/declare/experiment"
)

// Features of the kernel that a lab may need.
const (
	featureBridge   = "bridge"
	featureVXLAN    = "vxlan"
	featureFirewall = "nftables"
	featureNetem    = "netem"
	featureTBF      = "tbf"
)

// probeFeatures tries each feature in a new namespace. The namespace is kept until the lab ends, because freeing it
// takes the kernel's network lock for up to a second, and building arms needs that lock. An error says that no
// namespace can be made.
func probeFeatures() (map[string]bool, *namespace, error) {
	ns, err := newNamespace("probe")
	if err != nil {
		return nil, nil, err
	}
	features := map[string]bool{}
	err = ns.do(func(h *netlink.Handle) error {
		attrs := netlink.NewLinkAttrs()
		attrs.Name = leftPort
		veth := netlink.NewVeth(attrs)
		veth.PeerName = rightPort
		if err := h.LinkAdd(veth); err != nil {
			return fmt.Errorf("making a veth pair: %w", err)
		}
		left, err := h.LinkByName(leftPort)
		if err != nil {
			return err
		}
		b := bridge{Name: bridgeDevice, MTU: experiment.DefaultMTU, Ports: []string{leftPort}}
		features[featureBridge] = b.add(h) == nil
		attrs = netlink.NewLinkAttrs()
		attrs.Name = tunnelDevice
		features[featureVXLAN] = h.LinkAdd(&netlink.Vxlan{LinkAttrs: attrs, VxlanId: 1, Port: vxlanPort}) == nil
		stateful := firewall{Device: leftPort}
		features[featureFirewall] = stateful.add() == nil
		shaped := wire{Delay: time.Millisecond}
		features[featureNetem] = shaped.shape(h, left) == nil
		right, err := h.LinkByName(rightPort)
		if err != nil {
			return err
		}
		features[featureTBF] = addTBF(h, right, netlink.HANDLE_ROOT, 1e9) == nil
		features[featureIPv6] = addIPv6(h, right, (&plan{}).segment6(0, 1)) == nil
		if features[featureIPv6] && features[featureFirewall] {
			// Without nftables for IPv6 no arm has IPv6, so that arms with and without a firewall have the same
			// addresses.
			both := firewall{Element: 1, Device: rightPort, IPv6: true}
			features[featureIPv6] = both.add() == nil
		}
		return nil
	})
	if errors.Is(err, unix.EPERM) {
		err = fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	return features, ns, err
}
