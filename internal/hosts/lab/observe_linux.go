package lab

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/vishvananda/netlink"
)

// observe reads the counters of an arm's elements, in the order of the path.
func (s *initServer) observe(arm string) ([]ElementFacts, error) {
	a, err := s.arm(arm)
	if err != nil {
		return nil, err
	}
	var wires map[int]*WireStats
	if a.wires != nil {
		if wires, err = a.wires.stats(); err != nil {
			return nil, err
		}
	}
	byElement := map[int]ElementFacts{}
	for i := range a.plan.Spaces {
		sp := &a.plan.Spaces[i]
		if len(sp.Elements) == 0 {
			continue
		}
		err := a.namespaces[i].do(func(h *netlink.Handle) error {
			for j, e := range sp.Elements {
				counters, err := sp.elementCounters(h, e, sp.Kinds[j])
				if err != nil {
					return err
				}
				byElement[e] = ElementFacts{
					Element: e, Kind: sp.Kinds[j], Namespace: sp.Name, Counters: counters, Wire: wires[e],
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	elements := make([]ElementFacts, 0, len(byElement))
	for e := range len(byElement) {
		elements = append(elements, byElement[e])
	}
	return elements, nil
}

// elementCounters reads the counters of one element: of its namespace's ports and of its kind.
func (s *space) elementCounters(h *netlink.Handle, element int, kind string) (map[string]uint64, error) {
	for i := range s.Firewalls {
		if s.Firewalls[i].Element == element {
			return s.Firewalls[i].counters()
		}
	}
	counters := map[string]uint64{}
	if err := s.portCounters(h, counters); err != nil {
		return nil, err
	}
	if s.Tunnel != nil {
		if err := deviceCounters(h, s.Tunnel.Name, counters); err != nil {
			return nil, err
		}
	}
	if s.Forward {
		forwarded, err := forwardedPackets()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", kind, err)
		}
		counters["forwarded"] = forwarded
	}
	return counters, nil
}

func (s *space) portCounters(h *netlink.Handle, counters map[string]uint64) error {
	for _, p := range []port{s.Left, s.Right} {
		if p.Name == "" {
			continue
		}
		if err := deviceCounters(h, p.Name, counters); err != nil {
			return err
		}
	}
	return nil
}

func deviceCounters(h *netlink.Handle, device string, counters map[string]uint64) error {
	l, err := h.LinkByName(device)
	if err != nil {
		return fmt.Errorf("%s: %w", device, err)
	}
	if st := l.Attrs().Statistics; st != nil {
		counters[device+".rx_packets"] = st.RxPackets
		counters[device+".tx_packets"] = st.TxPackets
		counters[device+".rx_bytes"] = st.RxBytes
		counters[device+".tx_bytes"] = st.TxBytes
		counters[device+".dropped"] = st.RxDropped + st.TxDropped
	}
	return nil
}

// forwardedPackets reads how many IPv4 and IPv6 packets the calling thread's namespace has forwarded.
func forwardedPackets() (uint64, error) {
	b, err := os.ReadFile("/proc/thread-self/net/snmp")
	if err != nil {
		return 0, err
	}
	forwarded, err := parseForwarded(string(b))
	if err != nil {
		return 0, err
	}
	b, err = os.ReadFile("/proc/thread-self/net/snmp6")
	if errors.Is(err, os.ErrNotExist) {
		return forwarded, nil // a kernel without IPv6
	}
	if err != nil {
		return 0, err
	}
	forwarded6, err := parseForwarded6(string(b))
	return forwarded + forwarded6, err
}

// parseForwarded6 finds Ip6OutForwDatagrams in /proc/net/snmp6, which has a line with name and value for each counter.
func parseForwarded6(snmp6 string) (uint64, error) {
	for line := range strings.Lines(snmp6) {
		if fields := strings.Fields(line); len(fields) == 2 && fields[0] == "Ip6OutForwDatagrams" {
			return strconv.ParseUint(fields[1], 10, 64)
		}
	}
	return 0, errors.New("no Ip6OutForwDatagrams in /proc/net/snmp6")
}

// parseForwarded finds ForwDatagrams in /proc/net/snmp, which has a line of names and a line of values, both with "Ip:"
// first.
func parseForwarded(snmp string) (uint64, error) {
	var names []string
	for line := range strings.Lines(snmp) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] != "Ip:" {
			continue
		}
		if names == nil {
			names = fields
			continue
		}
		for i, n := range names {
			if n == "ForwDatagrams" && i < len(fields) {
				return strconv.ParseUint(fields[i], 10, 64)
			}
		}
	}
	return 0, fmt.Errorf("no ForwDatagrams in /proc/net/snmp")
}
