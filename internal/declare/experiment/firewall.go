package experiment

// How an element handles the packets that pass the firewall next to it.
const (
	noIP     = iota // it forwards frames and looks at no IP header
	routesIP        // it forwards IP packets
	endsIP          // IP packets begin and end there
)

// FirewallAt says where the firewall at index i of a path filters packets: at the neighbour with the returned index,
// towards that neighbour. -1 is the client, len(path) the server. Several firewalls in a row have the same neighbours.
//
// If both neighbours handle IP packets, one where packets end comes first (a host, or a VTEP towards its underlay),
// because a distributed firewall guards a host's port; then the neighbour towards the client. ok is false if neither
// handles any: the kernel's bridges have no connection tracking on many machines.
func FirewallAt(path []Element, i int) (neighbour int, ok bool) {
	left, right := i-1, i+1
	for left >= 0 && path[left].Kind == Firewall {
		left--
	}
	for right < len(path) && path[right].Kind == Firewall {
		right++
	}
	l, r := ipBeside(path, left, i), ipBeside(path, right, i)
	switch {
	case l == noIP && r == noIP:
		return 0, false
	case r > l:
		return right, true
	}
	return left, true
}

// ipBeside says how the element at index n handles packets on its side towards index i.
func ipBeside(path []Element, n, i int) int {
	if n < 0 || n == len(path) {
		return endsIP
	}
	switch path[n].Kind {
	case Router, DLR:
		return routesIP
	case VTEP:
		opens := true // VTEPs open and close tunnels in turn
		for _, e := range path[:n] {
			if e.Kind == VTEP {
				opens = !opens
			}
		}
		if opens == (i > n) { // towards the underlay
			return endsIP
		}
	}
	return noIP
}
