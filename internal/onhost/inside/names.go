package inside

import (
	"cmp"
	"strconv"

	declared "nearfar/internal/declare/inside"
)

// names are the names of network namespaces, as far as they are known before the trial.
type names struct {
	places map[uint32]string
	// clientNode and serverNode are the machines of pods; see declared.Options.
	clientNode, serverNode string
}

func namesOf(o declared.Options) names {
	n := names{places: map[uint32]string{}, clientNode: o.ClientNode, serverNode: o.ServerNode}
	for _, p := range o.Places {
		n.places[p.Namespace] = p.Name
	}
	return n
}

// namer gives namespaces and devices their names.
type namer struct {
	*sightings
	// ends are the namespaces where requests and replies begin, nodes those that they enter next.
	ends, nodes map[uint32]string
	numbers     map[uint32]int
}

// newNamer names the namespaces where requests and replies begin client and server, unless they have names. Where a
// pod's packets leave the pod, they are on its machine.
func newNamer(s *sightings) *namer {
	n := &namer{
		sightings: s, numbers: map[uint32]int{}, ends: map[uint32]string{}, nodes: map[uint32]string{},
	}
	for _, one := range s.slots {
		var begun event
		node := "" // whose packet leaves its namespace next
		for _, e := range one.events {
			switch {
			case e.kind == evRequest:
				n.ends[e.space] = declared.Client
				begun, node = e, s.names.clientNode
			case e.kind == evReply:
				n.ends[e.space] = declared.Server
				begun, node = e, s.names.serverNode
			case node != "" && e.isAtDevice() && e.space != begun.space:
				n.nodes[e.space] = node
				node = ""
			}
		}
	}
	return n
}

func (n *namer) place(space uint32) string {
	if name := cmp.Or(n.names.places[space], n.ends[space], n.nodes[space]); name != "" {
		return name
	}
	at, known := n.numbers[space]
	if !known {
		at = len(n.numbers) + 1
		n.numbers[space] = at
	}
	return "namespace " + strconv.Itoa(at)
}
