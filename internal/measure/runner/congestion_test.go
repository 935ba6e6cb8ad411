package runner

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/hosts/fake"
	"nearfar/internal/onhost/host"
)

// TestCongestionIsAskedFor: a congestion control that a client's kernel lacks is refused before anything is measured. A
// host that does not know the question is not.
func TestCongestionIsAskedFor(t *testing.T) {
	answering := func(name string, lacks ...string) host.Host {
		return fake.New(name, map[string]fake.Program{
			host.Self: func(_ context.Context, argv []string, _ []byte, stdout, _ io.Writer) int {
				if slices.Equal(argv[1:3], []string{"absent", "--congestion"}) && slices.Contains(lacks, argv[3]) {
					fmt.Fprintln(stdout, argv[3])
				}
				return 0
			},
		})
	}
	old := fake.New("old", map[string]fake.Program{
		host.Self: func(_ context.Context, argv []string, _ []byte, _, stderr io.Writer) int {
			fmt.Fprintln(stderr, "unknown flag: --congestion", argv[3])
			return 2
		},
	})
	e := &experiment.Experiment{
		Name: "x", Arms: []experiment.Arm{{Name: "usual", Client: "a", Server: "b"}, {Name: "lab", Lab: &experiment.Lab{}}},
		Workloads: []experiment.Workload{
			{Name: "bulk", Tool: "native", Mode: experiment.Stream, Protocol: experiment.TCP, Socket: experiment.Socket{Congestion: "bbr3"}},
			{Name: "maybe", Tool: "native", Mode: experiment.Stream, Protocol: experiment.TCP, Socket: experiment.Socket{Congestion: "x"}, Optional: true},
		},
	}
	for _, c := range []struct {
		client host.Host
		want   string
	}{
		{answering("vm-a", "bbr3", "x"), "vm-a: its kernel does not have the congestion control bbr3 (arm usual, workload bulk)"},
		{answering("vm-a"), ""},
		{old, ""},
	} {
		hosts := host.Hosts{Client: c.client, Server: answering("vm-b", "bbr3")}
		r := New(e, nil, map[string]host.Hosts{"usual": hosts, "lab": hosts}, DefaultLimits(), nil)
		err := r.checkCongestion(t.Context())
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want+"\n") {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}
