package capture

import (
	"cmp"
	"slices"

	"nearfar/internal/declare/check"
)

// A seen packet is the headers of a packet, from the IP header on, and the packet's length.
type seen struct {
	headers []byte
	length  int
}

// A class is the packets that one filter let through: how many there were, and the first of them.
type class struct {
	kind  int
	total uint64
	first []seen
}

// The classes.
const (
	plain = iota
	tunnel
	hidden
)

// key has the properties that are equal for packets that were carried in the same way.
type key struct {
	encapsulation string
	id            uint32
	port          int
}

// carried sums up a class. The shares of the first packets are taken as the shares of all packets: rest is how many
// packets were counted but not decoded.
func (c class) carried(e Ends) (all []check.Carried, rest uint64) {
	sums := map[key]*check.Carried{}
	for _, p := range c.first {
		k, ttl, ok := c.judge(p, e)
		if !ok {
			continue
		}
		s := sums[k]
		if s == nil {
			s = &check.Carried{Encapsulation: k.encapsulation, ID: k.id, Port: k.port, TTL: ttl}
			sums[k] = s
		}
		s.Packets++
		s.Bytes += uint64(max(p.length, 0))
		if ttl > 0 && (s.TTL == 0 || ttl < s.TTL) {
			s.TTL = ttl
		}
	}
	looked := uint64(len(c.first))
	if c.total > looked {
		rest = c.total - looked
	}
	for _, s := range sums {
		if rest > 0 {
			s.Bytes = scaled(s.Bytes, c.total, looked)
			s.Packets = scaled(s.Packets, c.total, looked)
		}
		all = append(all, *s)
	}
	return all, rest
}

func scaled(n, total, of uint64) uint64 { return uint64(float64(n) / float64(of) * float64(total)) }

// judge says how a packet was carried; false if it is not the trial's.
func (c class) judge(p seen, e Ends) (k key, ttl int, ok bool) {
	layers, encrypted := Decode(p.headers)
	if len(layers) == 0 {
		return key{}, 0, false
	}
	switch c.kind {
	case plain:
		return key{encapsulation: check.PlainPackets}, layers[0].TTL, e.match(layers[0])
	case hidden:
		return key{encapsulation: encrypted}, 0, encrypted != ""
	}
	// The header that is carried directly: the innermost with the trial's addresses.
	for i := len(layers) - 1; i > 0; i-- {
		if l := layers[i]; e.match(l) {
			return key{l.In, l.ID, l.Port}, l.TTL, true
		}
	}
	return key{}, 0, false
}

// sum makes the record of the classes.
func sum(device string, arriving bool, classes []class, e Ends) check.Wire {
	w := check.Wire{Device: device, Arriving: arriving}
	for _, c := range classes {
		all, rest := c.carried(e)
		w.Carried = append(w.Carried, all...)
		w.Lost += rest
	}
	slices.SortFunc(w.Carried, func(a, b check.Carried) int {
		switch {
		case a.Packets != b.Packets:
			return cmp.Compare(b.Packets, a.Packets)
		case a.Encapsulation != b.Encapsulation:
			return cmp.Compare(a.Encapsulation, b.Encapsulation)
		case a.ID != b.ID:
			return cmp.Compare(a.ID, b.ID)
		}
		return cmp.Compare(a.Port, b.Port)
	})
	if len(w.Carried) > maxCarried {
		w.Carried = w.Carried[:maxCarried]
	}
	return w
}

// maxCarried bounds the record: a trial's packets are carried in one way or two.
const maxCarried = 16
