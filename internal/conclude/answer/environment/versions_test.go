package environment

import (
	"strings"
	"testing"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

func TestVersionWarnings(t *testing.T) {
	same := map[string]string{"sockperf": "3.7", "native": "1.0"}
	newer := map[string]string{"sockperf": "3.10", "native": "1.0"}
	all := map[string]result.HostVersions{"a": {Client: same, Server: same}, "b": {Client: same, Server: newer}}
	got := VersionWarnings(all)
	if len(got) != 1 || got[0].Code != "tool-versions-differ" ||
		!strings.Contains(got[0].Message, "versions of sockperf") ||
		!strings.Contains(got[0].Message, "3.10 on b/server; 3.7 on a/client, a/server, b/client") {
		t.Errorf("%+v", got)
	}
	delete(all, "b")
	if got := VersionWarnings(all); len(got) > 0 {
		t.Errorf("the versions are the same: %+v", got)
	}
}

func TestEngineDiffers(t *testing.T) {
	e := &experiment.Experiment{
		Arms:      []experiment.Arm{{Name: "a"}, {Name: "b"}},
		Workloads: []experiment.Workload{{Name: "rr"}},
	}
	trial := func(arm, loop, server, clock, failed string) result.Trial {
		return result.Trial{Arm: arm, Workload: "rr", Error: failed,
			Facts: map[string]string{"loop": loop, "server.loop": server, "clock": clock}}
	}
	counter, monotonic := "time stamp counter", "monotonic"
	for name, c := range map[string]struct {
		trials []result.Trial
		want   []string
	}{
		"the same": {[]result.Trial{trial("a", "assembly", "assembly", counter, ""),
			trial("b", "assembly", "assembly", counter, "")}, nil},
		"other loops": {[]result.Trial{trial("a", "assembly", "assembly", counter, ""),
			trial("b", "Go", "Go", counter, "")}, []string{"engine-loops-differ"}},
		"other clocks too": {[]result.Trial{trial("a", "assembly", "assembly", counter, ""),
			trial("b", "Go", "Go", monotonic, "")}, []string{"engine-loops-differ", "clock-sources-differ"}},
		"of a failed trial": {[]result.Trial{trial("a", "assembly", "assembly", counter, ""),
			trial("b", "Go", "Go", monotonic, "it failed")}, nil},
		"not known": {[]result.Trial{trial("a", "assembly", "assembly", counter, ""), trial("b", "", "", "", "")}, nil},
	} {
		var codes []string
		for _, w := range engineDiffers(Run{Experiment: e, Trials: c.trials}) {
			codes = append(codes, w.Code)
			if w.Workload != "rr" || !strings.Contains(w.Message, "a: client ") ||
				!strings.Contains(w.Message, "b: client ") {
				t.Errorf("%s: %+v", name, w)
			}
		}
		if strings.Join(codes, " ") != strings.Join(c.want, " ") {
			t.Errorf("%s: warned of %v, want %v", name, codes, c.want)
		}
	}
}
