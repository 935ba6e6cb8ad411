package confine

import (
	"encoding/binary"
	"net/netip"

	"golang.org/x/sys/unix"
)

// The classic BPF programs of this package (Documentation/networking/filter.rst of the kernel).

// Offsets from the start of a packet's network header (SKF_NET_OFF of linux/filter.h).
const (
	networkHeader = -0x100000
	version       = networkHeader      // its high 4 bits are the version of IP
	source4       = networkHeader + 12 // RFC 791
	source6       = networkHeader + 8  // RFC 8200
)

const (
	take = 0xffffffff
	drop = 0
)

func load(size uint16, at int32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_ABS | size, K: uint32(at)}
}

func ret(k uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k} }

// jump jumps by JA, whose distance has 32 bits: those of comparisons have 8.
func jump(by int) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JA, K: uint32(by)}
}

// equal skips the next yes instructions if the accumulator is k, else the next no.
func equal(k uint32, yes, no uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: yes, Jf: no, K: k}
}

// peerFilter takes packets whose source is in one network of each list. An empty list has all.
func peerFilter(lists ...[]netip.Prefix) []unix.SockFilter {
	v4, v6 := sourceFilter(4, lists), sourceFilter(6, lists)
	program := []unix.SockFilter{
		load(unix.BPF_B, version),
		{Code: unix.BPF_ALU | unix.BPF_RSH | unix.BPF_K, K: 4},
		equal(4, 0, 1),
		jump(3), // to v4
		equal(6, 0, 1),
		jump(1 + len(v4)), // to v6
		ret(drop),
	}
	program = append(program, v4...)
	return append(program, v6...)
}

// sourceFilter is the part for one version of IP. Each network is a block of comparisons; a match goes to the next
// list.
func sourceFilter(ip int, lists [][]netip.Prefix) []unix.SockFilter {
	var program []unix.SockFilter
	for _, list := range lists {
		if len(list) == 0 {
			continue
		}
		var blocks [][]unix.SockFilter
		for _, p := range list {
			p = unmapped(p)
			if (ip == 4) == p.Addr().Is4() {
				blocks = append(blocks, matches(p))
			}
		}
		left := 1 // instructions from the end of a block to the next list
		for i := len(blocks) - 1; i >= 0; i-- {
			blocks[i] = append(blocks[i], jump(left))
			left += len(blocks[i])
		}
		for _, b := range blocks {
			program = append(program, b...)
		}
		program = append(program, ret(drop))
	}
	return append(program, ret(take))
}

// unmapped is the network of IPv4 that a network of mapped addresses (::ffff:a.b.c.d) stands for.
func unmapped(p netip.Prefix) netip.Prefix {
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		return netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p.Masked()
}

// matches compares the source with a network, word by word. Without a match it jumps behind its own jump, which the
// caller adds.
func matches(p netip.Prefix) []unix.SockFilter {
	first := int32(source6)
	if p.Addr().Is4() {
		first = source4
	}
	address, bits := p.Masked().Addr().AsSlice(), p.Bits()
	words := (bits + 31) / 32
	var block []unix.SockFilter
	for w := range words {
		mask := ^uint32(0)
		if n := bits - 32*w; n < 32 {
			mask <<= 32 - n
		}
		block = append(block, load(unix.BPF_W, first+int32(4*w)),
			unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: mask},
			equal(binary.BigEndian.Uint32(address[4*w:]), 0, uint8(3*(words-1-w)+1)))
	}
	return block
}
