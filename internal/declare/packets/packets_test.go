package packets_test

import (
	"encoding/json"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"nearfar/internal/declare/beside"
	"nearfar/internal/declare/packets"
)

func sound() packets.Options {
	return packets.Options{
		Side: packets.Both, Protocol: "udp", Servers: []netip.Addr{netip.MustParseAddr("10.0.0.2")}, Port: 7777,
		Places: []packets.Place{{Name: "client", File: "/proc/1/fd/7"}}, Comment: "trial 7", Longest: time.Minute,
	}
}

func TestOptionsAreReadAsTheyAreWritten(t *testing.T) {
	data, err := json.Marshal(sound())
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"side":"both","protocol":"udp","servers":["10.0.0.2"],"port":7777,` +
		`"places":[{"name":"client","file":"/proc/1/fd/7"}],"comment":"trial 7","longest_ns":60000000000}`
	if string(data) != want {
		t.Errorf("got  %s\nwant %s", data, want)
	}
	if got, err := packets.DecodeOptions(data); err != nil || got.Places[0] != sound().Places[0] {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, wrong := range [][]byte{make([]byte, beside.MaxOptions+1), []byte("{"), []byte("{}")} {
		if _, err := packets.DecodeOptions(wrong); err == nil {
			t.Errorf("%d bytes are accepted", len(wrong))
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for name, change := range map[string]func(o *packets.Options){
		"side":             func(o *packets.Options) { o.Side = "left" },
		"protocol":         func(o *packets.Options) { o.Protocol = "sctp" },
		"no address":       func(o *packets.Options) { o.Servers = nil },
		"many addresses":   func(o *packets.Options) { o.Servers = make([]netip.Addr, 9) },
		"many clients":     func(o *packets.Options) { o.Clients = make([]netip.Addr, 9) },
		"no valid address": func(o *packets.Options) { o.Servers = []netip.Addr{{}} },
		"unspecified":      func(o *packets.Options) { o.Clients = []netip.Addr{netip.IPv6Unspecified()} },
		"no port":          func(o *packets.Options) { o.Port = 0 },
		"a port of icmp":   func(o *packets.Options) { o.Protocol = "icmp" },
		"no place":         func(o *packets.Options) { o.Places = nil },
		"many places":      func(o *packets.Options) { o.Places = make([]packets.Place, packets.MaxPoints+1) },
		"a nameless place": func(o *packets.Options) { o.Places[0].Name = "" },
		"a long name":      func(o *packets.Options) { o.Places[0].Name = strings.Repeat("x", 65) },
		"a hostile name":   func(o *packets.Options) { o.Places[0].Name = "\x1b[2J" },
		"a long file":      func(o *packets.Options) { o.Places[0].File = strings.Repeat("x", 5000) },
		"two lines":        func(o *packets.Options) { o.Comment = "a\nb" },
		"a long comment":   func(o *packets.Options) { o.Comment = strings.Repeat("x", 1001) },
		"no end":           func(o *packets.Options) { o.Longest = 0 },
		"a late end":       func(o *packets.Options) { o.Longest = 100 * time.Hour },
	} {
		o := sound()
		change(&o)
		if o.Check() == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	if err := sound().Check(); err != nil {
		t.Error(err)
	}
}

func TestCapturesAreChecked(t *testing.T) {
	good := func() packets.Capture {
		return packets.Capture{Side: packets.Client, File: "raw/x.pcapng", Points: []packets.Point{
			{Name: packets.PointName("client", "eth0"), Packets: 4096, Dropped: 1 << 40},
		}}
	}
	for name, change := range map[string]func(c *packets.Capture){
		"side":           func(c *packets.Capture) { c.Side = "" },
		"a long problem": func(c *packets.Capture) { c.Problem = strings.Repeat("x", 1001) },
		"many points":    func(c *packets.Capture) { c.Points = make([]packets.Point, packets.MaxPoints+1) },
		"no name":        func(c *packets.Capture) { c.Points[0].Name = "" },
		"a hostile name": func(c *packets.Capture) { c.Points[0].Name = "a\x1b[2Jb" },
		"many packets":   func(c *packets.Capture) { c.Points[0].Packets = packets.MaxAll + 1 },
		"fewer than 0":   func(c *packets.Capture) { c.Points[0].Packets = -1 },
	} {
		c := good()
		change(&c)
		if c.Check() == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	for _, c := range []packets.Capture{
		good(), packets.Unknown(packets.Both, errors.New(strings.Repeat("no\x1b ", 1000))),
	} {
		if err := c.Check(); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if got := packets.PointName("client", "a\x1bb"); got != `client.a\u001bb` {
		t.Errorf("a point is called %s", got)
	}
}
