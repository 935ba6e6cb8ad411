package inside_test

import (
	"encoding/json"
	"net/netip"
	"strings"
	"testing"
	"time"

	"nearfar/internal/declare/inside"
)

func sound() inside.Options {
	return inside.Options{
		Side: inside.Both, Protocol: "udp", Servers: []netip.Addr{netip.MustParseAddr("10.0.0.2")}, Port: 7777,
		Trips: 2000, Warmup: time.Second, Duration: 5 * time.Second,
	}
}

func TestOptionsAreReadAsTheyAreWritten(t *testing.T) {
	data, err := json.Marshal(sound())
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"side":"both","protocol":"udp","servers":["10.0.0.2"],"port":7777,"trips":2000,` +
		`"warmup_ns":1000000000,"duration_ns":5000000000}`
	if string(data) != want {
		t.Errorf("got  %s\nwant %s", data, want)
	}
	if got, err := inside.DecodeOptions(data); err != nil || got.Servers[0] != sound().Servers[0] {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := inside.DecodeOptions(make([]byte, 1<<20)); err == nil {
		t.Error("a megabyte of options is accepted")
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for name, change := range map[string]func(o *inside.Options){
		"side":               func(o *inside.Options) { o.Side = "left" },
		"protocol":           func(o *inside.Options) { o.Protocol = "sctp" },
		"no address":         func(o *inside.Options) { o.Servers = nil },
		"many addresses":     func(o *inside.Options) { o.Servers = make([]netip.Addr, 17) },
		"no valid address":   func(o *inside.Options) { o.Servers = []netip.Addr{{}} },
		"unspecified":        func(o *inside.Options) { o.Servers = []netip.Addr{netip.IPv6Unspecified()} },
		"no port":            func(o *inside.Options) { o.Port = 0 },
		"a port of icmp":     func(o *inside.Options) { o.Protocol = "icmp" },
		"a long node":        func(o *inside.Options) { o.ClientNode = strings.Repeat("n", 65) },
		"no node":            func(o *inside.Options) { o.ServerNode = "\x1b" },
		"no trips":           func(o *inside.Options) { o.Trips = 0 },
		"too many trips":     func(o *inside.Options) { o.Trips = inside.MaxTrips + 1 },
		"a negative warm-up": func(o *inside.Options) { o.Warmup = -1 },
		"no window":          func(o *inside.Options) { o.Duration = 0 },
		"an endless window":  func(o *inside.Options) { o.Duration = 100 * time.Hour },
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
