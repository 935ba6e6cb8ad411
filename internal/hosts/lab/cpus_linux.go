package lab

import (
	"nearfar/internal/declare/experiment"
	"nearfar/internal/onhost/machine"
)

// CPUs resolves a placement to CPU numbers of this machine (machine.Place). The lab's own work and its user-space wires
// run on the lowest.
func (l *Lab) CPUs(p experiment.Placement) (client, server []int, err error) {
	if client, server, err = machine.Place(l.Facts().CPUs, p); err != nil {
		return nil, nil, errorf("%w", err)
	}
	return client, server, nil
}
