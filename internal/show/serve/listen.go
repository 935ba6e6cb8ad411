package serve

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// DefaultAddress is the loopback address with a port that the system chooses.
const DefaultAddress = "127.0.0.1:0"

// CheckAddress returns an error if the text is not a loopback address with a port, such as 127.0.0.1:8080, [::1]:8080
// or localhost:8080. With port 0 the system chooses one.
func CheckAddress(text string) error {
	_, err := loopback(text)
	return err
}

// loopback reads the address to listen on. It does not resolve names: "localhost" is always 127.0.0.1.
func loopback(text string) (netip.AddrPort, error) {
	i := strings.LastIndexByte(text, ':')
	if i < 0 {
		return netip.AddrPort{}, fmt.Errorf("%q is no address with a port: write 127.0.0.1:8080", text)
	}
	host, digits := text[:i], text[i+1:]
	port, err := strconv.ParseUint(digits, 10, 16)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("%q: the port must be a number from 0 to 65535, as in 127.0.0.1:8080", text)
	}
	if host == "" {
		return netip.AddrPort{}, fmt.Errorf("%q would listen on every network of this machine; "+
			"the pages are for this machine only: write 127.0.0.1:%d", text, port)
	}
	if host == "localhost" {
		host = "127.0.0.1"
	}
	if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		host = host[1 : len(host)-1]
	} else if strings.Contains(host, ":") {
		return netip.AddrPort{}, fmt.Errorf("%q: an IPv6 address goes in brackets, as in [::1]:%d", text, port)
	}
	address, err := netip.ParseAddr(host)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("%q: %q is not a loopback address: write 127.0.0.1:%d", text, host, port)
	}
	if address = address.Unmap(); !address.IsLoopback() || address.Zone() != "" {
		return netip.AddrPort{}, fmt.Errorf("%q can be reached from other machines; "+
			"the pages are for this machine only: write 127.0.0.1:%d, and use ssh -L from another machine", text, port)
	}
	return netip.AddrPortFrom(address, uint16(port)), nil
}
