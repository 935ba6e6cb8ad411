// Package confine runs a measuring program with fewer rights than its starter has: as a user of its own without rights,
// without the machine's files, and with sockets that take packets of given addresses only.
//
// What a measuring program can be told to do by its peer is part of what its starter allows: netserver sends the
// content of files that its client names, and most servers serve anybody. The kernel enforces the limits, whatever the
// program does: Landlock for files and ports, filters on sockets for addresses. docs/security.md has the table of
// programs.
package confine

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// The hidden verbs of nearfar that run a program confined, and that make the sockets of such a program.
const (
	Verb        = "confine"
	SocketsVerb = "confine-sockets"
)

// Options say what is left to a program. The zero value leaves the network, the system's own files and no rights.
type Options struct {
	// Peers and Within are the addresses from which the program's sockets take packets: those in both lists. An empty
	// list limits nothing. Peers is what the starter expects, and Within what the owner of the machine set: the program
	// runs without Peers where the kernel cannot enforce them, and does not run without Within.
	Peers, Within []netip.Prefix
	// Ports are the TCP ports that the program may open, if it is a server; it may then connect to nothing over TCP.
	// Kernels before Linux 6.7 do not enforce this. Empty for a client.
	Ports []int
	// Strict leaves only the system's libraries of all files, and refuses to run the program where the kernel cannot
	// enforce that. It is for programs that read files for their peers.
	Strict bool
	// Scratch lets the program make files in the folder for temporary files.
	Scratch bool
	// Congestion is the congestion control that the program sets; empty for none. Some need a right (CAP_NET_ADMIN),
	// which the program then keeps if it had it.
	Congestion string
}

// The limits of Options.
const (
	maxPrefixes = 64
	maxPorts    = 512
)

func (o Options) check() error {
	switch {
	case len(o.Peers) > maxPrefixes || len(o.Within) > maxPrefixes:
		return fmt.Errorf("more than %d addresses", maxPrefixes)
	case len(o.Ports) > maxPorts:
		return fmt.Errorf("more than %d ports", maxPorts)
	}
	return nil
}

// Args are the options as words of a command line that starts with Verb and ends before the program's own words.
func (o Options) Args() []string {
	args := []string{Verb}
	value := func(name, value string) {
		if value != "" {
			args = append(args, name, value)
		}
	}
	flag := func(name string, set bool) {
		if set {
			args = append(args, name)
		}
	}
	value("--peers", JoinPrefixes(o.Peers))
	value("--within", JoinPrefixes(o.Within))
	value("--ports", join(o.Ports))
	flag("--strict", o.Strict)
	flag("--scratch", o.Scratch)
	value("--congestion", o.Congestion)
	return append(args, "--")
}

// JoinPrefixes writes a list as ParsePrefixes reads it.
func JoinPrefixes(all []netip.Prefix) string { return join(all) }

func join[T any](all []T) string {
	var words []string
	for _, one := range all {
		words = append(words, fmt.Sprint(one))
	}
	return strings.Join(words, ",")
}

// ParsePrefixes reads a list as Args writes it: networks and addresses with commas between them.
func ParsePrefixes(text string) ([]netip.Prefix, error) {
	if text == "" {
		return nil, nil
	}
	var all []netip.Prefix
	for word := range strings.SplitSeq(text, ",") {
		p, err := ParsePrefix(word)
		if err != nil {
			return nil, fmt.Errorf("%.60q: want a network such as 10.0.0.0/24, or an address", word)
		}
		all = append(all, p)
	}
	return all, nil
}

// ParsePrefix reads a network, or an address as the network that has only it.
func ParsePrefix(word string) (netip.Prefix, error) {
	if ip, err := netip.ParseAddr(word); err == nil && ip.Zone() == "" {
		return netip.PrefixFrom(ip, ip.BitLen()), nil
	}
	return netip.ParsePrefix(word)
}

// ParsePorts reads a list of ports as Args writes it.
func ParsePorts(text string) ([]int, error) {
	if text == "" {
		return nil, nil
	}
	var all []int
	for word := range strings.SplitSeq(text, ",") {
		n, err := strconv.ParseUint(word, 10, 16)
		if err != nil || n == 0 {
			return nil, fmt.Errorf("%.20q: want a port", word)
		}
		all = append(all, int(n))
	}
	return all, nil
}

// Support says what this machine's kernel enforces for a program of this user. Each reason is empty if it does.
type Support struct {
	// Files, Peers and User say why files, the addresses of peers, and a user of its own cannot be enforced.
	Files string `json:"files,omitempty"`
	Peers string `json:"peers,omitempty"`
	User  string `json:"user,omitempty"`
}

// ErrUnsupported is wrapped by Run's error where the kernel cannot enforce what was asked for.
var ErrUnsupported = errors.New("this machine cannot confine the program")
