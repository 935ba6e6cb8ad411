package runner

import (
	"net/netip"
	"reflect"
	"testing"
	"time"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/hosts/fake"
	"nearfar/internal/measure/tool"
	"nearfar/internal/onhost/host"
)

// Traffic has the sockets of all workloads and backgrounds of an arm, each once; ping needs none.
func TestTraffic(t *testing.T) {
	rr := experiment.Workload{Name: "rr", Tool: "sockperf", Mode: "rr", Protocol: "udp", Request: 64,
		Response: 64, Duration: time.Second}
	twice, tcp, ping := rr, rr, experiment.Workload{Name: "ping", Tool: "ping", Mode: "ping", Duration: time.Second,
		Request: 56}
	twice.Name, tcp.Name, tcp.Protocol = "twice", "tcp", "tcp"
	six := tcp
	six.Name, six.Tool, six.IP = "six", "netperf", 6
	e := &experiment.Experiment{
		Arms:      []experiment.Arm{{Name: "a", Client: "one", Server: "two"}},
		Workloads: []experiment.Workload{rr, twice, tcp, ping, six},
	}
	endpoint := func(name string, last byte) host.Host {
		h := fake.New(name, nil)
		return addressed{h, host.Endpoint{Name: name, Port: 9000, Dial: host.Addresses{
			V4: netip.AddrFrom4([4]byte{10, 0, 0, last}), V6: netip.AddrFrom16([16]byte{0xfd, 15: last}),
		}}}
	}
	hosts := map[string]host.Hosts{"a": {Client: endpoint("one", 1), Server: endpoint("two", 2)}}
	got := New(e, tools{tool.NewSockperf(), tool.NewPing(), tool.NewNetperf()}, hosts, DefaultLimits(), nil).Traffic()
	want := []host.Traffic{
		{Arm: "a", Bind: netip.IPv4Unspecified(), Dial: netip.AddrFrom4([4]byte{10, 0, 0, 2}), Sockets: []host.Socket{
			{Protocol: "udp", Port: 9000}, {Protocol: "tcp", Port: 9000},
		}},
		{Arm: "a", Bind: netip.IPv6Unspecified(), Dial: netip.AddrFrom16([16]byte{0xfd, 15: 2}), Sockets: []host.Socket{
			{Protocol: "tcp", Port: 9001}, {Protocol: "tcp", Port: 9000},
		}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}

// addressed is a host with another endpoint.
type addressed struct {
	host.Host
	endpoint host.Endpoint
}

func (a addressed) Endpoint() host.Endpoint { return a.endpoint }
