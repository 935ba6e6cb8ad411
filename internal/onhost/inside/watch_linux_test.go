package inside

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	declared "nearfar/internal/declare/inside"
)

// options are for a watch of all trips to the server.
func (x *exchange) options(trips int) declared.Options {
	return declared.Options{
		Side: declared.Both, Protocol: x.protocol, Servers: []netip.Addr{x.at}, Port: x.port(), Trips: trips,
		Duration: time.Duration(trips), // all are due
	}
}

// watch begins to watch in a namespace.
func (s *space) watch(o declared.Options) *Watch {
	s.t.Helper()
	var w *Watch
	var err error
	s.do(func() { w, err = Begin(o) })
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(w.Close)
	return w
}

// end is what the watch recorded.
func end(t testing.TB, w *Watch) *declared.Recording {
	t.Helper()
	r, err := w.End()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// path is the path that nearly all trips took.
func path(t *testing.T, r *declared.Recording, least int) declared.Path {
	t.Helper()
	if r.Complete < least || len(r.Paths) == 0 || len(r.Paths[0].Trips) < least {
		t.Fatalf("of %d trips %d were followed to their end, on %d paths; want %d on one", r.Sampled, r.Complete,
			len(r.Paths), least)
	}
	return r.Paths[0]
}

// medians are the median times of a path's steps in nanoseconds.
func medians(p declared.Path) []int64 {
	all := make([]int64, len(p.Steps))
	for i := range p.Steps {
		var spans []int64
		for _, t := range p.Trips {
			spans = append(spans, t.Spans[i])
		}
		slices.Sort(spans)
		all[i] = spans[len(spans)/2]
	}
	return all
}

// words writes a path's steps: "request send client, request queue client eth0".
func words(p declared.Path) string {
	var all []string
	for _, s := range p.Steps {
		all = append(all, strings.TrimSpace(strings.Join([]string{s.Way, string(s.Kind), s.Place, s.Device}, " ")))
	}
	return strings.Join(all, "\n")
}

// bridgedPath is the path of a request and a reply through a bridge.
const bridgedPath = `request send client
request queue client eth0
request device client eth0
request softirq bridge b0
request bridge bridge b0
request queue bridge b1
request device bridge b1
request softirq server eth0
request deliver server
request wake server
request run-queue server
request read server
request return server
request program server
reply send server
reply queue server eth0
reply device server eth0
reply softirq bridge b1
reply bridge bridge b1
reply queue bridge b0
reply device bridge b0
reply softirq client eth0
reply deliver client
reply wake client
reply run-queue client
reply read client
reply return client`

// Each round trip is seen at every element of its path, and the times of the steps are the time of the trip.
func TestPath(t *testing.T) {
	for _, c := range []struct{ protocol, client, server string }{
		{"udp", "10.9.0.1/24", "10.9.0.2/24"}, {"tcp", "10.9.0.1/24", "10.9.0.2/24"},
		{"udp", "fd00::1/64", "fd00::2/64"}, {"tcp", "fd00::1/64", "fd00::2/64"},
	} {
		t.Run(c.protocol+" "+c.client, func(t *testing.T) {
			client, bridge, server := bridged(t, c.client, c.server)
			x := serve(t, c.protocol, client, server, c.server, nil)
			x.trips(100)
			o := x.options(1000)
			o.Places = []declared.Place{{Namespace: bridge.id, Name: "bridge"}}
			w := client.watch(o)
			trips := x.trips(1000)
			seen, err := w.read()
			if err != nil {
				t.Fatal(err)
			}
			r := seen.recording(slowShare)
			p := path(t, r, 990)
			if got := words(p); got != bridgedPath {
				t.Errorf("the path is\n%s\nwant\n%s", got, bridgedPath)
			}
			if r.Lost != 0 {
				t.Errorf("%d trips were lost", r.Lost)
			}
			checkSums(t, seen, trips)
		})
	}
}

// checkSums compares the times of the trips that were followed with those that the client measured. The client's have
// the way into the kernel and out of it besides, and they are never shorter.
func checkSums(t *testing.T, seen *sightings, measured []trip) {
	t.Helper()
	n := newNamer(seen)
	var beyond []int64
	for _, s := range seen.slots {
		trace := n.follow(s)
		if !trace.whole {
			continue
		}
		var sum int64
		for _, span := range trace.spans {
			sum += span
		}
		begin := int64(trace.begin.at)
		i, _ := slices.BinarySearchFunc(measured, begin+1000, func(m trip, at int64) int { return int(m.begun - at) })
		if i == 0 {
			t.Fatal("a trip was followed that began before all that were measured")
		}
		m := measured[i-1]
		if sum > m.took {
			t.Fatalf("a trip that took %d ns has steps of %d ns", m.took, sum)
		}
		beyond = append(beyond, m.took-sum)
	}
	slices.Sort(beyond)
	took := make([]int64, 0, len(measured))
	for _, m := range measured {
		took = append(took, m.took)
	}
	slices.Sort(took)
	t.Logf("of a trip of %d ns, %d ns are outside of the steps (median; p99 %d)", took[len(took)/2],
		beyond[len(beyond)/2], beyond[len(beyond)*99/100])
	if share := float64(beyond[len(beyond)/2]) / float64(took[len(took)/2]); share > 0.1 {
		t.Errorf("%.0f %% of the trip are outside of the steps", 100*share)
	}
}

// A packet that is put into a tunnel and taken out of it stays the same trip.
func TestTunnel(t *testing.T) {
	for _, c := range []struct{ name, device, underlay, number string }{
		{"vxlan", "type vxlan id 7 dstport 4789 local %s remote %s dev eth0", "10.1.0.%d/24", "VNI 7"},
		{
			"vxlan over IPv6",
			"type vxlan id 7 dstport 4789 local %s remote %s dev eth0 udp6zerocsumtx udp6zerocsumrx", "fd01::%d/64",
			"VNI 7",
		},
		{"geneve", "type geneve id 70000 remote %[2]s%.0[1]s", "10.1.0.%d/24", "VNI 70000"},
		{"ipip", "type ipip local %s remote %s", "10.1.0.%d/24", ""},
		{"gre", "type gre local %s remote %s", "10.1.0.%d/24", ""},
		{"gre with a key", "type gre local %s remote %s key 7", "10.1.0.%d/24", "key 7"},
		{"gre with all", "type gre local %s remote %s key 70000 csum seq", "10.1.0.%d/24", "key 70000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			client, server := newSpace(t), newSpace(t)
			join(client, "eth0", server, "eth0")
			for i, s := range []*space{client, server} {
				own, other := fmt.Sprintf(c.underlay, i+1), fmt.Sprintf(c.underlay, 2-i)
				nodad := ""
				if strings.Contains(own, ":") {
					nodad = " nodad"
				}
				s.ip("addr add " + own + " dev eth0" + nodad)
				lacks(t, c.device, s.try("link add tun7 "+fmt.Sprintf(c.device, address(own), address(other))))
				s.ip(fmt.Sprintf("addr add 10.9.0.%d/24 dev tun7", i+1))
				s.ip("link set tun7 up")
			}
			x := serve(t, "udp", client, server, "10.9.0.2/24", nil)
			x.trips(100)
			w := client.watch(x.options(500))
			x.trips(500)
			p := path(t, end(t, w), 490)
			want := []string{
				"request queue client tun7", "request encapsulate client tun7", "request queue client eth0",
				"request decapsulate server eth0", "reply encapsulate server tun7", "reply decapsulate client eth0",
			}
			for _, step := range want {
				if !slices.Contains(strings.Split(words(p), "\n"), step) {
					t.Errorf("there is no %q in\n%s", step, words(p))
				}
			}
			wantNumber(t, p, c.number)
		})
	}
}

// wantNumber wants the elements of tunnels, and no others, to name the tunnel's number.
func wantNumber(t *testing.T, p declared.Path, number string) {
	t.Helper()
	for _, s := range p.Steps {
		want := ""
		if s.Kind == declared.Encapsulate || s.Kind == declared.Decapsulate {
			want = number
		}
		if s.Tunnel != want {
			t.Errorf("%s %s of %s is in the tunnel %q, want %q", s.Way, s.Kind, s.Place, s.Tunnel, want)
		}
	}
}

// Another lab on the machine has the same addresses and ports. Its packets are not the trial's.
func TestSecondLab(t *testing.T) {
	for _, protocol := range []string{"udp", "tcp"} {
		client, _, server := bridged(t, "10.9.0.1/24", "10.9.0.2/24")
		x := serve(t, protocol, client, server, "10.9.0.2/24", nil)
		otherClient, _, otherServer := bridged(t, "10.9.0.1/24", "10.9.0.2/24")
		other := serve(t, protocol, otherClient, otherServer, "10.9.0.2/24", nil)
		x.trips(100)
		w := client.watch(x.options(500))
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			other.trips(500)
		}()
		x.trips(500)
		<-ended
		if p := path(t, end(t, w), 475); strings.Contains(words(p), "wire") {
			t.Errorf("%s: a packet of the other lab was followed:\n%s", protocol, words(p))
		}
	}
}

// lacks skips the test if the kernel does not have the kind of device.
func lacks(t *testing.T, kind string, err error) {
	t.Helper()
	if err == nil {
		return
	}
	if strings.Contains(err.Error(), "Unknown device type") {
		t.Skipf("this kernel has no device of %.12s: %v", kind, err)
	}
	t.Fatal(err)
}

// The server's machine alone sees what happens on it, and so does the client's.
func TestSides(t *testing.T) {
	client, _, server := bridged(t, "10.9.0.1/24", "10.9.0.2/24")
	for _, protocol := range []string{"udp", "tcp"} {
		x := serve(t, protocol, client, server, "10.9.0.2/24", nil)
		x.trips(100)
		o := x.options(500)
		o.Side = declared.Server
		ofServer := server.watch(o)
		x.trips(501) // the last one ends with the next
		r := end(t, ofServer)
		p := path(t, r, 490)
		if got, want := words(p), "request softirq server eth0\nrequest deliver server"; !strings.HasPrefix(got, want) {
			t.Errorf("%s: the server's path is\n%s\nwant it to begin with\n%s", protocol, got, want)
		}
		if got := words(p); strings.Contains(got, "client") || !strings.Contains(got, "reply send server") {
			t.Errorf("%s: the server's path is\n%s", protocol, got)
		}
	}
}

// Who may not watch is told which rights are missing.
func TestProblem(t *testing.T) {
	if err := rights(fmt.Errorf("load: %w", errPermission)); !strings.Contains(err.Error(), "CAP_BPF") {
		t.Errorf("%v does not name the rights", err)
	}
}
