package captures

import (
	"io"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
)

// TestRecorded reads what tcpdump and dumpcap wrote between four namespaces with VXLAN over IPv6, while nearfar's
// engine ran 120 transactions. The times were worked out from the same files by tshark: medians from request to reply.
func TestRecorded(t *testing.T) {
	file := func(name, device string) []File {
		return []File{{Path: filepath.Join("testdata", "vtep", name), Interface: device}}
	}
	points := []Point{
		{Name: "client", Files: file("client.pcap", "")},
		{Name: "a-before", Clock: "a", Files: file("a-before.pcap", "")},
		{Name: "a-behind", Clock: "a", Files: file("a-behind.pcap", "")},
		{Name: "b-behind", Files: file("b.pcapng", "ul0")},
		{Name: "b-before", Files: file("b.pcapng", "p0")},
	}
	r, err := Read(t.Context(), Options{Points: points,
		Open: func(path string) (io.ReadCloser, error) { return os.Open(path) }})
	if err != nil {
		t.Fatal(err)
	}
	if r.Matched != 120 || r.Port != 5000 || r.Server != "10.1.1.2" {
		t.Errorf("%+v", r)
	}
	for i, want := range []float64{22.0, 19.649, 15.0325, 12.028, 8.112} {
		p := r.Points[i]
		if math.Abs(p.Turnaround.P50*1e6-want) > 0.0006 || p.Exchanges != 120 || len(p.Unmatched) > 0 {
			t.Errorf("%+v %+v, want %g", p, p.Turnaround, want)
		}
		carried := "plain"
		if i == 2 || i == 3 {
			carried = "vxlan 257"
		}
		if p.Carried[carried] != p.Own {
			t.Errorf("%s: %v", p.Point, p.Carried)
		}
		// Where both points have one clock, there and back are known.
		s := r.Segments[i]
		if (s.There != nil) != (i == 1 || i == 3) || s.There != nil && (s.There.P50 < 1e-6 || s.Back.P50 < 1e-6) {
			t.Errorf("%+v", s)
		}
	}
	control, err := Read(t.Context(), Options{
		Points: points, Server: Server{Address: netip.MustParseAddr("10.1.1.2"), Port: 7777},
		Open: func(path string) (io.ReadCloser, error) { return os.Open(path) }})
	if err != nil || control.Port != 7777 || control.Matched == 0 {
		t.Errorf("%+v %v", control, err)
	}
}
