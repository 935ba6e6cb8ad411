// Package beside has what programs share that look at a trial from a host while it runs: those that watch the kernel
// (package inside) and those that capture packets (package packets).
package beside

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"

	"nearfar/internal/base/clean"
)

// The sides whose machine a program looks at.
const (
	Both   = "both"
	Client = "client"
	Server = "server"
)

// IsSide says whether a text is one of the sides.
func IsSide(text string) bool { return slices.Contains([]string{Both, Client, Server}, text) }

// MaxOptions is how many bytes the options of a program have at most.
const MaxOptions = 64 << 10

// Decode reads the options that a program gets as JSON on its standard input, and refuses those that Check does not
// accept.
func Decode[T interface{ Check() error }](data []byte) (options T, err error) {
	if len(data) > MaxOptions {
		return options, fmt.Errorf("%d bytes of options, at most %d", len(data), MaxOptions)
	}
	var read T
	if err := json.Unmarshal(data, &read); err != nil {
		return options, err
	}
	return read, read.Check()
}

// CheckFlow says what is wrong with a side, and with the protocol and the server's port of the packets of a trial.
func CheckFlow(side, protocol string, port uint16) error {
	switch {
	case !IsSide(side):
		return fmt.Errorf("unknown side %.40q", side)
	case !slices.Contains([]string{"udp", "tcp", "icmp"}, protocol):
		return fmt.Errorf("unknown protocol %.40q", protocol)
	case (port == 0) != (protocol == "icmp"):
		return fmt.Errorf("port %d for %s", port, protocol)
	}
	return nil
}

// CheckAddresses says which address cannot be that of one machine; of says whose they should be.
func CheckAddresses(addresses []netip.Addr, of string) error {
	for _, a := range addresses {
		if !a.IsValid() || a.IsUnspecified() || a.IsMulticast() {
			return fmt.Errorf("%v is no address of a %s", a, of)
		}
	}
	return nil
}

// maxName is how many bytes a name has at most.
const maxName = 64

// IsName says that a text can be the name of a place, a device or a machine: it is short, and can be printed.
func IsName(text string) bool { return text != "" && len(text) <= maxName && clean.Line(text) == text }
