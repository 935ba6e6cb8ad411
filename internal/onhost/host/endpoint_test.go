package host

import (
	"net/netip"
	"strings"
	"testing"
)

func TestPairAddresses(t *testing.T) {
	v4, v6 := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")
	inside := Addresses{V4: netip.MustParseAddr("10.0.0.1")}
	both, only4, only6 := Addresses{V4: v4, V6: v6}, Addresses{V4: v4}, Addresses{V6: v6}
	for name, c := range map[string]struct {
		client, bind, dial Addresses
		version            int
		wantBind, wantDial string
		wantError          string
	}{
		"both, any version":            {both, both, both, 0, "192.0.2.1", "192.0.2.1", ""},
		"both, IPv6":                   {both, both, both, 6, "2001:db8::1", "2001:db8::1", ""},
		"a client of IPv6 alone":       {only6, both, both, 0, "2001:db8::1", "2001:db8::1", ""},
		"a server of IPv6 alone":       {both, only6, only6, 0, "2001:db8::1", "2001:db8::1", ""},
		"a client of no known address": {Addresses{}, both, both, 6, "2001:db8::1", "2001:db8::1", ""},
		"behind translation":           {both, inside, only4, 0, "10.0.0.1", "192.0.2.1", ""},
		"nothing to bind":              {both, Addresses{}, both, 0, "0.0.0.0", "192.0.2.1", ""},
		"nothing to bind of IPv6":      {both, inside, both, 6, "::", "2001:db8::1", ""},
		"a server without IPv6":        {both, only4, only4, 6, "", "", "the server has no IPv6 address"},
		"a client without IPv6":        {only4, both, both, 6, "", "", "the client has no IPv6 address"},
		"nothing in common":            {only4, only6, only6, 0, "", "", "the client has no IPv6 address"},
		"a server without addresses":   {both, Addresses{}, Addresses{}, 0, "", "", "the server has no IPv4 address"},
	} {
		pair := Pair{Client: Endpoint{Name: "the client", Dial: c.client},
			Server: Endpoint{Name: "the server", Bind: c.bind, Dial: c.dial}}
		bind, dial, err := pair.Addresses(c.version)
		if c.wantError != "" {
			if err == nil || !strings.Contains(err.Error(), c.wantError) {
				t.Errorf("%s: %v, want %q", name, err, c.wantError)
			}
			continue
		}
		if err != nil || bind.String() != c.wantBind || dial.String() != c.wantDial {
			t.Errorf("%s: bind %v, dial %v, %v; want %s and %s", name, bind, dial, err, c.wantBind, c.wantDial)
		}
	}
}

func TestPorts(t *testing.T) {
	if got, want := (Endpoint{}).Ports(), (Ports{7777, 7778, 7779, 7780}); got != want {
		t.Errorf("the default ports are %+v, want %+v", got, want)
	}
	if got, want := (Endpoint{Port: 40000}).Ports(), (Ports{40000, 40001, 40002, 40003}); got != want {
		t.Errorf("the ports are %+v, want %+v", got, want)
	}
}
