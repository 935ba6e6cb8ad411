package allow

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"nearfar/internal/onhost/confine"
)

// maxTime bounds every duration. The longest window is a day, and a tool may take a little longer.
const maxTime = 25 * time.Hour

// number accepts decimal digits without a sign.
func number(least, most int) check {
	return func(_ *Policy, s string) error {
		n, err := strconv.ParseUint(s, 10, 63)
		if err != nil || strings.HasPrefix(s, "+") || int64(n) < int64(least) || int64(n) > int64(most) {
			return fmt.Errorf("%.100q: want %d to %d", s, least, most)
		}
		return nil
	}
}

func port() check { return number(1, 65535) }

// seconds are whole seconds.
func seconds() check { return number(1, int(maxTime/time.Second)) }

// fraction accepts a decimal number between two limits.
func fraction(least, most float64) check {
	return func(_ *Policy, s string) error {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil || strings.Trim(s, "0123456789.") != "" || !(v >= least && v <= most) {
			return fmt.Errorf("%.100q: want %v to %v", s, least, most)
		}
		return nil
	}
}

func duration() check {
	return func(_ *Policy, s string) error {
		if d, err := time.ParseDuration(s); err != nil || d < 0 || d > maxTime {
			return fmt.Errorf("%.100q: want a duration of 0s to %v", s, maxTime)
		}
		return nil
	}
}

// bytes accepts a number of bytes in the form of the engine's options: 64B.
func bytes(least, most int) check {
	return func(p *Policy, s string) error {
		digits, ok := strings.CutSuffix(s, "B")
		if !ok {
			return fmt.Errorf("%.100q: want bytes, such as 64B", s)
		}
		return number(least, most)(p, digits)
	}
}

func oneOf(words ...string) check {
	return func(_ *Policy, s string) error {
		if !slices.Contains(words, s) {
			return fmt.Errorf("%.100q: want %s", s, strings.Join(words, ", "))
		}
		return nil
	}
}

// pattern accepts what a regular expression matches as a whole. what says it in words.
func pattern(expression, what string) check {
	whole := regexp.MustCompile(`^(?:` + expression + `)$`)
	return func(_ *Policy, s string) error {
		if len(s) > maxArgv || !whole.MatchString(s) {
			return fmt.Errorf("%.100q: want %s", s, what)
		}
		return nil
	}
}

// several accepts several values, each with its own check, with separators between them. An empty value is accepted if
// its check is nil.
func several(separator string, checks ...check) check {
	return func(p *Policy, s string) error {
		parts := strings.Split(s, separator)
		if len(parts) != len(checks) {
			return fmt.Errorf("%.100q: want %d values with %q between them", s, len(checks), separator)
		}
		for i, part := range parts {
			if checks[i] == nil && part == "" {
				continue
			}
			if checks[i] == nil {
				return fmt.Errorf("%.100q: want nothing before %q", s, separator)
			}
			if err := checks[i](p, part); err != nil {
				return err
			}
		}
		return nil
	}
}

// list accepts 1 to most values with separators between them.
func list(separator string, most int, each check) check {
	return func(p *Policy, s string) error {
		parts := strings.Split(s, separator)
		if len(parts) > most {
			return fmt.Errorf("%.100q: want at most %d values", s, most)
		}
		for _, part := range parts {
			if err := each(p, part); err != nil {
				return err
			}
		}
		return nil
	}
}

// bindAddress accepts an IP address on which to serve.
func bindAddress(_ *Policy, s string) error {
	if ip, err := netip.ParseAddr(s); err != nil || ip.Zone() != "" || ip.IsMulticast() {
		return fmt.Errorf("%.100q: want an IP address", s)
	}
	return nil
}

// peer accepts an IP address with which the policy allows traffic. A host name is refused: looking it up would send
// traffic to a name server.
func peer(p *Policy, s string) error {
	ip, err := netip.ParseAddr(s)
	if err != nil || ip.Zone() != "" || ip.IsMulticast() || ip.IsUnspecified() || ip == broadcast() {
		return fmt.Errorf("%.100q: want the IP address of a host", s)
	}
	if ip = ip.Unmap(); len(p.peers) > 0 && !slices.ContainsFunc(p.peers, func(n netip.Prefix) bool {
		return n.Contains(ip)
	}) {
		return fmt.Errorf("%v is not among the addresses that this agent may measure to: see --peers of "+
			"'nearfar agent'", ip)
	}
	return nil
}

func broadcast() netip.Addr { return netip.AddrFrom4([4]byte{255, 255, 255, 255}) }

// prefixes accepts networks and addresses with commas between them.
func prefixes(_ *Policy, s string) error {
	_, err := confine.ParsePrefixes(s)
	return err
}

// withPort accepts ADDRESS:PORT, the address by another check.
func withPort(address check) check {
	return func(p *Policy, s string) error {
		at, err := netip.ParseAddrPort(s)
		if err != nil || at.Port() == 0 {
			return fmt.Errorf("%.100q: want ADDRESS:PORT", s)
		}
		return address(p, at.Addr().String())
	}
}

// atServer accepts the URL of a server of a trial: http, an address with which the policy allows traffic, and a path
// that matches as a whole. Any other URL would make this host ask whatever service it reaches.
func atServer(path string) check {
	rest := regexp.MustCompile(`^` + path + `$`)
	return func(p *Policy, s string) error {
		at, found := strings.CutPrefix(s, "http://")
		end := strings.IndexByte(at, '/')
		if !found || end < 0 || len(s) > maxArgv || !rest.MatchString(at[end:]) {
			return fmt.Errorf("%.100q: want the URL of a server that nearfar started", s)
		}
		return withPort(peer)(p, at[:end])
	}
}

// plainWord accepts a name of at most most characters that no program can take for an option or a path.
func plainWord(most int) check {
	return pattern(fmt.Sprintf(`[A-Za-z0-9][A-Za-z0-9_.+-]{0,%d}`, most-1), "a name")
}

// sockets accepts what the verb reach takes: tcp/7777,udp/7777.
func sockets() check {
	return list(",", maxSockets, several("/", oneOf("tcp", "udp"), port()))
}

func congestion() check {
	return pattern(`[a-z0-9][a-z0-9_-]{0,14}`, "a congestion control, such as cubic")
}

// anyOf accepts what one of the checks accepts.
func anyOf(checks ...check) check {
	return func(p *Policy, s string) error {
		var failed error
		for _, c := range checks {
			err := c(p, s)
			if err == nil {
				return nil
			}
			failed = errors.Join(failed, err)
		}
		return failed
	}
}
