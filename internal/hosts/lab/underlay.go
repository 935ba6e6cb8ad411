package lab

// A place is a device of a namespace of the path.
type place struct {
	space  int
	device string
}

// underlay are the devices by which each side's packets leave its end of the path: the uplinks of the outermost
// hypervisors (the namespaces of tunnels). Without tunnels they are the far ports of the first and the last namespace
// between the hosts, or the hosts' own devices if there is no namespace between them.
func (p *plan) underlay() (client, server place) {
	last := len(p.Spaces) - 1
	client, server = place{0, hostDevice}, place{last, hostDevice}
	if last > 1 {
		client, server = place{1, p.Spaces[1].Right.Name}, place{last - 1, p.Spaces[last-1].Left.Name}
	}
	found := false
	for i := range p.Spaces {
		s := &p.Spaces[i]
		if s.Tunnel == nil {
			continue
		}
		if !found {
			client, found = place{i, s.underlayPort()}, true
		}
		server = place{i, s.underlayPort()}
	}
	return client, server
}
