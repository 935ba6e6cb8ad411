package environment

import (
	"fmt"
	"slices"
	"testing"

	"nearfar/internal/declare/check"
	"nearfar/internal/declare/experiment"
)

// What providers answered is listed by arm and side. Deployments with the same answer share an entry; hosts about which
// nobody was asked have none.
func TestProviderAnswers(t *testing.T) {
	placed := func(group, node, instance string) func(f *check.Facts) {
		return func(f *check.Facts) {
			f.Where.InstanceID = instance
			f.Provider = &check.Provider{Commands: []string{"aws ec2 describe-instance-topology"}, Group: &group,
				Strategy: "cluster", State: "available", NetworkNodes: []string{"nn-1", node}}
		}
	}
	e := &experiment.Experiment{Arms: []experiment.Arm{{Name: "near"}, {Name: "far"}}, Baseline: "near"}
	e.Schedule.Deployments = 3
	in := Run{Experiment: e, Hosts: factsOf(t,
		hostOf{1, []string{"near/client"}, placed("g", "nn-2", "i-1")},
		hostOf{2, []string{"near/client"}, placed("g", "nn-3", "i-1")},
		hostOf{3, []string{"near/client"}, placed("g", "nn-2", "i-1")},
		hostOf{1, []string{"near/server", "far/server"}, placed("", "nn-2", "i-2")},
		hostOf{1, []string{"far/client"}, nil},
	)}
	line := func(a ProviderAnswer) string {
		return fmt.Sprintf("%s %s %v %s %s: %s", a.Arm, a.Side, a.Deployments, a.Cloud, a.Instance, a.Text())
	}
	var lines []string
	for _, a := range providerAnswers(in) {
		lines = append(lines, line(a))
	}
	const how = "strategy cluster, state available, network nodes nn-1 "
	want := []string{
		"near client [1 3] aws i-1: group g, " + how + "nn-2",
		"near client [2] aws i-1: group g, " + how + "nn-3",
		"near server [1] aws i-2: in no group, " + how + "nn-2",
		"far server [1] aws i-2: in no group, " + how + "nn-2",
	}
	if !slices.Equal(lines, want) {
		t.Errorf("%q, want %q", lines, want)
	}

	e.Schedule.Deployments = 0
	if all := providerAnswers(in); len(all) != 4 || all[0].Deployments != nil {
		t.Errorf("with hosts that are made once: %+v", all)
	}
	if text := (ProviderAnswer{}).Text(); text != "nothing" {
		t.Errorf("an empty answer is %q", text)
	}
	group := "/groups/ppg"
	off := false
	azure := ProviderAnswer{Provider: check.Provider{Group: &group, GroupColocation: "Aligned", Colocation: "Unknown",
		Accelerated: &off, Configured: "machine vm-a", Problem: "no login"}}
	if text := azure.Text(); text != "group /groups/ppg, colocation of the group Aligned, colocation of the machine "+
		"Unknown, accelerated networking configured off for machine vm-a, unknown: no login" {
		t.Errorf("Azure's answer is %q", text)
	}
}
