package check

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
)

const inNamespace = "NEARFAR_TEST_NAMESPACE"

// inside runs the rest of a test in a network namespace of its own, in a process of its own. It is true there.
func inside(t *testing.T) bool {
	t.Helper()
	if os.Getenv(inNamespace) == t.Name() {
		lo, err := netlink.LinkByName("lo")
		if err == nil {
			err = netlink.LinkSetUp(lo)
		}
		if err != nil {
			t.Fatal(err)
		}
		return true
	}
	t.Parallel()
	pattern := "^" + strings.ReplaceAll(t.Name(), "/", "$/^") + "$"
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", pattern, "-test.v", "-test.timeout=60s")
	cmd.Env = append(os.Environ(), inNamespace+"="+t.Name(),
		"HTTP_PROXY=http://127.0.0.1:9", "http_proxy=http://127.0.0.1:9")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		t.Skipf("no network namespace can be made here: %v", err)
	}
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("in the namespace: %v\n%s", err, out)
	}
	return false
}

// hole makes a device with the route to the metadata service.
func hole(t *testing.T) netlink.Link {
	t.Helper()
	link := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "cloud0"}, PeerName: "cloud1"}
	if err := netlink.LinkAdd(link); err != nil {
		t.Fatal(err)
	}
	made, err := netlink.LinkByName("cloud0")
	if err != nil {
		t.Fatal(err)
	}
	peer, err := netlink.LinkByName("cloud1")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range []netlink.Link{made, peer} {
		quietIPv6(l.Attrs().Name)
		if err := netlink.LinkSetUp(l); err != nil {
			t.Fatal(err)
		}
	}
	a, _ := netlink.ParseAddr("169.254.1.1/16")
	if err := netlink.AddrAdd(made, a); err != nil {
		t.Fatal(err)
	}
	// With a neighbour that is known, packets leave without a question. The peer drops them: they are for another host.
	neighbour := &netlink.Neigh{
		LinkIndex: made.Attrs().Index, State: netlink.NUD_PERMANENT, IP: net.IPv4(169, 254, 169, 254),
		HardwareAddr: net.HardwareAddr{2, 0, 0, 0, 0, 1},
	}
	if err := netlink.NeighAdd(neighbour); err != nil {
		t.Fatal(err)
	}
	return made
}

// quietIPv6 stops the packets that IPv6 sends by itself on a device. Without IPv6 there is no such file.
func quietIPv6(device string) {
	_ = os.WriteFile("/proc/sys/net/ipv6/conf/"+device+"/disable_ipv6", []byte("1"), 0)
}

// sent is how many packets left a device.
func sent(t *testing.T, l netlink.Link) uint64 {
	t.Helper()
	now, err := netlink.LinkByIndex(l.Attrs().Index)
	if err != nil {
		t.Fatal(err)
	}
	return now.Attrs().Statistics.TxPackets
}

// serve answers at the metadata address in this namespace.
func serve(t *testing.T, h http.Handler) {
	t.Helper()
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		t.Fatal(err)
	}
	a, _ := netlink.ParseAddr("169.254.169.254/32")
	if err := netlink.AddrAdd(lo, a); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp4", metadataAddress)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: time.Second}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
}

func TestMetadata(t *testing.T) {
	group := "perf"
	none := ""
	for name, want := range map[string]Where{
		"azure-mlx5": {
			Cloud: CloudAzure, InstanceID: "02aab8a4-74ef-476e-8182-f6d2ba4166a6", InstanceType: "Standard_D4s_v5",
			Region: "westeurope", Zone: "2", Account: "8d10da13-8125-4ba9-a717-bf7490507b3d", FaultDomain: "36",
			UpdateDomain: "0", ScaleSetGroup: "f67c14ab-e92c-408c-ae2d-da15866ec79a",
			ResourceID: "/subscriptions/8d10da13-8125-4ba9-a717-bf7490507b3d/resourceGroups/perf/providers/" +
				"Microsoft.Compute/virtualMachines/vm",
		},
		"aws-ena-express": {
			Cloud: CloudAWS, InstanceID: "i-1234567890abcdef0", InstanceType: "c7gn.16xlarge", Region: "eu-west-1",
			Zone: "eu-west-1a", ZoneID: "euw1-az3", Account: "123456789012", PlacementGroup: &group,
		},
		"aws-ena": {
			Cloud: CloudAWS, InstanceID: "i-0598c7d356eba48d7", InstanceType: "m5.large", Region: "eu-west-1",
			Zone: "eu-west-1b", ZoneID: "euw1-az1", Account: "123456789012", PlacementGroup: &none,
		},
		"gcp-gvnic": {
			Cloud: CloudGCP, InstanceID: "2520251811742103616", InstanceType: "a3-ultragpu-8g", Region: "us-central1",
			Zone: "us-central1-a", Account: "perf-tests", Name: "vm",
			Topology: &Topology{
				Cluster: "europe-west1-cluster-jfhb", Block: "3e3056e23cf91a5cb4a8621b6a52c100",
				Subblock: "1fc18636cbd4abd623553784ca2c174e", Host: "2326279b5ecdfc545fd5e39167698168",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if !inside(t) {
				return
			}
			s, r := readRecorded(t, name)
			serve(t, replay(want.Cloud, r.Service))
			got := s.Read(Options{}).Firmware.locate(t.Context())
			if diff := cmp.Diff(&want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestMetadataBlackHole: a service that does not answer costs at most a second, whether its packets vanish or it
// accepts connections and is silent.
func TestMetadataBlackHole(t *testing.T) {
	for _, cloud := range []string{"azure-mlx5", "aws-ena", "gcp-gvnic"} {
		for name, prepare := range map[string]func(t *testing.T){
			"vanish": func(t *testing.T) { hole(t) },
			"silent": func(t *testing.T) {
				serve(t, http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) { <-q.Context().Done() }))
			},
			"refused": func(*testing.T) {},
		} {
			t.Run(cloud+"-"+name, func(t *testing.T) {
				if !inside(t) {
					return
				}
				prepare(t)
				s, _ := readRecorded(t, cloud)
				f := s.Read(Options{}).Firmware
				// A busy machine can only add to the time, so the fastest of a few attempts counts.
				fastest := time.Hour
				for attempt := 0; attempt < 3 && fastest > metadataLimit+200*time.Millisecond; attempt++ {
					begun := time.Now()
					w := f.locate(t.Context())
					took := time.Since(begun)
					if w == nil || w.Problem == "" || w.InstanceID != "" {
						t.Fatalf("got %+v, want a problem", w)
					}
					t.Logf("%v: %s", took, w.Problem)
					fastest = min(fastest, took)
				}
				if fastest > metadataLimit+200*time.Millisecond {
					t.Errorf("it took %v", fastest)
				}
			})
		}
	}
}

// TestMetadataNotAsked: without a cloud's strings no packet leaves. A request on the same machine proves that it would
// be counted.
func TestMetadataNotAsked(t *testing.T) {
	if !inside(t) {
		return
	}
	device := hole(t)
	before := sent(t, device)
	for _, f := range []Firmware{
		{}, {Vendor: "QEMU", Product: "Standard PC (Q35 + ICH9, 2009)"},
		{Vendor: "Microsoft Corporation", Product: "Virtual Machine"}, // Hyper-V, not Azure
		{Vendor: "Xen", Xen: "a1b2c3d4-0000-0000-0000-000000000000"},
		{Vendor: "Google", Product: "Pixelbook"},
	} {
		if w := f.locate(t.Context()); w != nil {
			t.Errorf("%+v: got %+v", f, w)
		}
	}
	if now := sent(t, device); now != before {
		t.Errorf("%d packets left", now-before)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	Firmware{Vendor: "Amazon EC2"}.locate(ctx)
	if now := sent(t, device); now == before {
		t.Error("a request was not counted: the test shows nothing")
	}
}

// TestMetadataRedirect: a redirect to another address is not followed.
func TestMetadataRedirect(t *testing.T) {
	if !inside(t) {
		return
	}
	var elsewhere atomic.Int64
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	other := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(
		func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) })}
	go func() { _ = other.Serve(l) }()
	defer func() { _ = other.Close() }()
	serve(t, http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		http.Redirect(w, q, "http://"+l.Addr().String()+"/", http.StatusFound)
	}))
	w := Firmware{Vendor: "Google", Product: "Google Compute Engine"}.locate(t.Context())
	if w == nil || !strings.Contains(w.Problem, "302") {
		t.Errorf("got %+v", w)
	}
	if elsewhere.Load() != 0 {
		t.Error("the redirect was followed")
	}
}

// TestMetadataTooLong: an endless answer is given up.
func TestMetadataTooLong(t *testing.T) {
	if !inside(t) {
		return
	}
	serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for chunk := make([]byte, 64<<10); ; {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}))
	w := Firmware{Vendor: "Amazon EC2"}.locate(t.Context())
	if w == nil || !strings.Contains(w.Problem, "sent too much") {
		t.Errorf("got %+v", w)
	}
}
