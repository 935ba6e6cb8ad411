package capture

import (
	"errors"
	"net/netip"
	"slices"
)

// Ends are the addresses between which a trial's packets travel.
type Ends struct {
	// Own are the addresses of the side at whose device packets are watched, Peer the addresses of the other side. A
	// side can have several: the address that its server binds, and the address that the client dials.
	Own, Peer []netip.Addr
}

// maxAddresses bounds the addresses of one side.
const maxAddresses = 8

// tidy drops invalid addresses and duplicates.
func (e Ends) tidy() (Ends, error) {
	e.Own, e.Peer = tidy(e.Own), tidy(e.Peer)
	switch {
	case len(e.Own) == 0 || len(e.Peer) == 0:
		return e, errors.New("the addresses of the trial are not known")
	case len(e.Own) > maxAddresses || len(e.Peer) > maxAddresses:
		return e, errors.New("the trial has too many addresses")
	}
	return e, nil
}

func tidy(all []netip.Addr) []netip.Addr {
	var valid []netip.Addr
	for _, a := range all {
		if a = a.Unmap().WithZone(""); a.IsValid() && !a.IsUnspecified() && !slices.Contains(valid, a) {
			valid = append(valid, a)
		}
	}
	return valid
}

// match says whether a header has the addresses, in either direction.
func (e Ends) match(l Layer) bool {
	return slices.Contains(e.Own, l.Source) && slices.Contains(e.Peer, l.Destination) ||
		slices.Contains(e.Peer, l.Source) && slices.Contains(e.Own, l.Destination)
}

// of are the addresses of one version of IP.
func of(all []netip.Addr, v4 bool) (some []netip.Addr) {
	for _, a := range all {
		if a.Is4() == v4 {
			some = append(some, a)
		}
	}
	return some
}
