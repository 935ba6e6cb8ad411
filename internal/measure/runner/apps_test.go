package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/hosts/fake"
	"nearfar/internal/measure/tool"
	"nearfar/internal/onhost/agent/binaries"
	"nearfar/internal/onhost/host"
)

// withoutDatabase makes a host whose PostgreSQL cannot be found.
func withoutDatabase(name, release string) *elsewhere {
	self := func(_ context.Context, argv []string, _ []byte, _, stderr io.Writer) int {
		if slices.Equal(argv[1:], []string{"engine", "database", "--version"}) {
			fmt.Fprintln(stderr, "nearfar-agent: PostgreSQL is not installed")
			return 1
		}
		return 0
	}
	h := fake.New(name, map[string]fake.Program{host.Self: self})
	endpoint := h.Endpoint()
	endpoint.System, endpoint.Release = host.System{OS: "linux", Arch: "amd64"}, release
	return &elsewhere{h, endpoint}
}

// TestAppNeedsADatabase: a run without PostgreSQL is refused before anything is measured, with how to install it, and
// optional workloads are left out. Only the server's host needs one.
func TestAppNeedsADatabase(t *testing.T) {
	if _, err := binaries.Front(host.System{OS: "linux", Arch: "amd64"}); errors.Is(err, binaries.ErrMissing) {
		t.Skip(err)
	}
	e := &experiment.Experiment{
		Name: "x", Arms: []experiment.Arm{{Name: "a", Lab: &experiment.Lab{}}},
		Workloads: []experiment.Workload{{
			Name: "page", Tool: tool.AppName, Mode: experiment.App, Protocol: experiment.TCP, IP: 4, Response: 10,
			Duration: time.Second, Pages: experiment.Pages{Queries: 1, Parallel: 1},
			Web: experiment.Web{Concurrency: 1},
		}},
	}
	hosts := map[string]host.Hosts{"a": {Client: withoutDatabase("vm-a", "ID=debian\n"),
		Server: withoutDatabase("vm-b", "ID=debian\n"), Machines: &scene{}}}
	prepare := func() (*Runner, error) {
		r := New(e, tools{tool.NewApp("secret")}, hosts, DefaultLimits(), nil)
		return r, r.Prepare(t.Context())
	}
	_, err := prepare()
	if err == nil || !strings.Contains(err.Error(), "vm-b: PostgreSQL is not installed (needed by page)") ||
		!strings.Contains(err.Error(), "vm-b: sudo apt-get install postgresql") || strings.Contains(err.Error(), "vm-a") {
		t.Errorf("%v", err)
	}
	e.Workloads[0].Optional = true
	r, err := prepare()
	if err != nil || r.Skipped()["page"] != "vm-b: PostgreSQL is not installed" {
		t.Errorf("%v, %q", err, r.Skipped())
	}
}
