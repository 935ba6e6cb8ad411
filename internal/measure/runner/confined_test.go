package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/hosts/fake"
	"nearfar/internal/measure/tool"
	"nearfar/internal/onhost/confine"
	"nearfar/internal/onhost/host"
)

// echoing is netperf on a host that prints its whole command line, with the passphrase, wherever it can.
func echoing(support confine.Support) fake.Program {
	return func(ctx context.Context, argv []string, _ []byte, out, err io.Writer) int {
		at := slices.Index(argv, "--")
		switch {
		case argv[1] != confine.Verb:
			return 0
		case at < 0:
			_ = json.NewEncoder(out).Encode(support)
			return 0
		}
		own := argv[at+1:]
		fmt.Fprintln(out, own)
		fmt.Fprintln(err, own)
		if own[0] != "netserver" {
			return 1
		}
		port, _ := strconv.Atoi(own[slices.Index(own, "-p")+1])
		if failed := fake.Listen(ctx, "tcp", port); failed != nil {
			fmt.Fprintln(err, failed)
			return 1
		}
		<-ctx.Done()
		return 0
	}
}

func netperfRunner(support confine.Support) (*Runner, *fake.Host) {
	programs := map[string]fake.Program{host.Self: echoing(support), "netperf": prints("Netperf version 2.7.0")}
	client, server := fake.New("client", programs), fake.New("server", programs)
	e := twoArms(1)
	e.Arms[1].Client, e.Arms[1].Server = "x", "y" // not a lab's
	e.Arms[0].Client, e.Arms[0].Server = "x", "y"
	e.Workloads[0] = experiment.Workload{Name: "w", Tool: "netperf", Mode: experiment.RR, Protocol: experiment.TCP,
		Request: 1, Response: 1, Duration: time.Second}
	hosts := map[string]host.Hosts{}
	for _, arm := range e.Arms {
		hosts[arm.Name] = host.Hosts{Client: client, Server: server, Machines: (&scene{}).pair("x").Machines}
	}
	return New(e, tools{tool.NewNetperf()}, hosts, DefaultLimits(), nil), server
}

// TestPassphraseIsInNoRecord: netperf's passphrase is in nothing that is kept, though both sides print it. Servers are
// confined to the addresses that were found.
func TestPassphraseIsInNoRecord(t *testing.T) {
	r, server := netperfRunner(confine.Support{})
	if err := r.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	peers := []netip.Prefix{netip.MustParsePrefix("192.0.2.7/32")}
	r.SetPeers(map[string][]netip.Prefix{"a": peers, "b": peers})
	k := &kept{raw: map[string]string{}}
	if err := r.Run(t.Context(), k, nil); err != nil {
		t.Fatal(err)
	}
	var secrets []string
	for _, c := range server.Started() {
		if at := slices.Index(c.Argv, "-Z"); at > 0 && slices.Contains(c.Argv, "netserver") {
			secrets = append(secrets, c.Argv[at+1])
			words := strings.Join(c.Argv, " ")
			if !strings.HasPrefix(words, "nearfar confine --peers 192.0.2.7/32 --ports ") ||
				!strings.Contains(words, " --strict ") {
				t.Errorf("started %s", words)
			}
		}
	}
	slices.Sort(secrets)
	if n := len(secrets); n < 2 || len(slices.Compact(slices.Clone(secrets))) != n || len(secrets[0]) < 20 {
		t.Fatalf("passphrases %q", secrets)
	}
	all, err := json.Marshal(k.trials)
	if err != nil {
		t.Fatal(err)
	}
	text := string(all)
	for _, raw := range k.raw {
		text += raw
	}
	for _, secret := range secrets {
		if strings.Contains(text, secret) {
			t.Errorf("%s is in the record: %s", secret, text)
		}
	}
	if strings.Count(text, tool.Redacted) < 4 {
		t.Errorf("little is redacted: %s", text)
	}
}

// TestFileServersAreRefused: a host whose kernel cannot keep netserver from files does not run it. One that cannot keep
// others from it is said.
func TestFileServersAreRefused(t *testing.T) {
	r, _ := netperfRunner(confine.Support{Files: "no Landlock"})
	if err := r.Prepare(t.Context()); err == nil || !strings.Contains(err.Error(), "server: netserver gives its client") ||
		!strings.Contains(err.Error(), "no Landlock") {
		t.Errorf("%v", err)
	}
	r, _ = netperfRunner(confine.Support{Peers: "an old kernel"})
	if err := r.Prepare(t.Context()); err != nil {
		t.Error(err)
	}
	if got := r.Unprotected(); len(got) != 1 || !strings.Contains(got[0], "netserver serves whoever reaches its ports") {
		t.Errorf("%q", got)
	}
}
