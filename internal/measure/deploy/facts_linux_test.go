package deploy

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"nearfar/internal/declare/check"
)

// of is the facts of some hosts of a deployment, each with a text of a length.
func of(deployment, hosts, length int) (all []HostFacts) {
	for i := range hosts {
		all = append(all, HostFacts{
			Deployment: deployment, Host: fmt.Sprintf("h%d", i), Facts: &check.Facts{OS: strings.Repeat("x", length)},
		})
	}
	return all
}

// TestKeptFacts: facts of each deployment are kept, up to a bound, and a deployment that is read again replaces itself.
func TestKeptFacts(t *testing.T) {
	var k keptFacts
	k.add(1, of(1, 2, 10))
	k.add(2, of(2, 2, 10))
	k.add(2, of(2, 3, 20))
	if len(k.kept) != 5 || k.kept[4].Deployment != 2 || len(k.kept[4].Facts.OS) != 20 || k.leftOut != 0 {
		t.Errorf("%+v", k)
	}
	for deployment := 3; deployment < 30; deployment++ {
		k.add(deployment, of(deployment, 2, 100_000))
	}
	data, err := json.Marshal(k.kept)
	if err != nil {
		t.Fatal(err)
	}
	if len(data) > maxAll+maxAll/100 || len(k.kept) < 20 || len(k.kept)+k.leftOut != 5+2*27 {
		t.Errorf("%d hosts in %d bytes are kept, %d are left out", len(k.kept), len(data), k.leftOut)
	}
}

// TestTrim: the devices of the path are kept first, then hardware, and no facts that are too long.
func TestTrim(t *testing.T) {
	h := of(0, 1, 10)[0]
	for i := range 100 {
		h.Facts.Devices = append(h.Facts.Devices, check.Device{
			Link: check.Link{Name: fmt.Sprint("veth", i), Index: i + 1, Kind: "veth"},
		})
	}
	h.Facts.Devices[60].Kind = ""
	h.Facts.Path = &check.Path{Route: check.Route{Device: "veth80"}}
	h.trim()
	d := h.Facts.Devices
	if len(d) != keptDevices || d[0].Name != "veth80" || d[1].Name != "veth60" || len(h.Facts.Missing) != 1 {
		t.Errorf("%+v", h.Facts)
	}
	long := of(0, 1, maxHost)[0]
	if long.trim(); long.Facts != nil || long.Problem == "" {
		t.Errorf("%d bytes are kept", long.size())
	}
}

// TestReadFacts: the facts of all hosts are read and kept with the sides that the hosts are.
func TestReadFacts(t *testing.T) {
	d := deployed(t, "a b")
	facts := d.ReadFacts(t.Context(), 3)["arm0"]
	for side, f := range map[string]*check.Facts{"client": facts.Client, "server": facts.Server} {
		if f == nil || f.Kernel == "" || f.Path == nil {
			t.Fatalf("%s: %+v", side, f)
		}
		t.Logf("%s: %.0f ms", side, 1000*f.Seconds)
	}
	var record Record
	if err := json.Unmarshal(d.Facts(t.Context()), &record); err != nil {
		t.Fatal(err)
	}
	if len(record.Facts) != 2 || record.Facts[0].Deployment != 3 || record.Facts[0].Sides[0] != "arm0/client" ||
		record.Facts[1].Facts.Kernel != facts.Server.Kernel {
		t.Errorf("%+v", record.Facts)
	}
	again := deployed(t, "a b")
	again.Inherit(d)
	again.ReadFacts(t.Context(), 4)
	if len(again.facts.kept) != 4 || len(d.facts.kept) != 2 {
		t.Errorf("%d and %d are kept", len(again.facts.kept), len(d.facts.kept))
	}
	resumed := deployed(t, "a b")
	resumed.Resume(again.Facts(t.Context()), 1)
	if len(resumed.facts.kept) != 4 {
		t.Errorf("%d are kept", len(resumed.facts.kept))
	}
}
