package check

import (
	"strings"
	"testing"
)

// asked are two machines with what the provider said about each.
func asked(client, server Where, p, q *Provider) Trial {
	return Trial{
		Client: Side{Facts: &Facts{Where: &client, Provider: p}},
		Server: Side{Facts: &Facts{Where: &server, Provider: q}},
	}
}

func TestProximityPlacementGroup(t *testing.T) {
	vm := Where{Cloud: CloudAzure, Region: "westeurope", Account: "s1"}
	const near, other = "/subscriptions/s1/resourceGroups/Perf/near", "/subscriptions/s1/resourceGroups/perf/other"
	said := func(group, ofGroup, own string) *Provider {
		return &Provider{Group: &group, GroupColocation: ofGroup, Colocation: own}
	}
	aligned := said(near, ColocationAligned, ColocationAligned)
	for name, test := range map[string]struct {
		client, server *Provider
		is, not        Outcome // of the expectations true and false
	}{
		"aligned":              {aligned, aligned, Proved, Refuted},
		"letters of the id":    {aligned, said(strings.ToLower(near), ColocationAligned, ColocationAligned), Proved, Refuted},
		"no status of its own": {said(near, ColocationAligned, ""), aligned, Proved, Refuted},
		"machine not aligned":  {aligned, said(near, ColocationNotAligned, ColocationNotAligned), Refuted, Refuted},
		"group not aligned":    {said(near, ColocationNotAligned, ColocationAligned), aligned, Unknown, Unknown},
		"group stopped":        {said(near, "Unknown", ""), said(near, "Unknown", ""), Unknown, Unknown},
		"machine stopped":      {said(near, ColocationAligned, "Unknown"), aligned, Unknown, Unknown},
		"no status":            {said(near, "", ""), said(near, "", ""), Unknown, Unknown},
		"another word":         {said(near, "aligned?", ""), said(near, "aligned?", ""), Unknown, Unknown},
		"two groups":           {aligned, said(other, ColocationAligned, ColocationAligned), Refuted, Proved},
		"one in none":          {aligned, said("", "", ""), Refuted, Proved},
		"both in none":         {said("", "", ""), said("", "", ""), Refuted, Proved},
		"one not known":        {aligned, &Provider{Problem: "az is not installed"}, Unknown, Unknown},
		"one not asked":        {aligned, nil, Unknown, Unknown},
		"neither asked":        {nil, nil, Unknown, Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			trial := asked(vm, vm, test.client, test.server)
			expect(t, trial, Expectation{Name: ExpectProximity, Value: true}, test.is)
			expect(t, trial, Expectation{Name: ExpectProximity, Value: false}, test.not)
		})
	}
	aws := Where{Cloud: CloudAWS, Region: "eu-west-1"}
	expect(t, asked(aws, aws, aligned, aligned), Expectation{Name: ExpectProximity, Value: true}, Unknown)
	expect(t, asked(vm, aws, aligned, aligned), Expectation{Name: ExpectProximity, Value: true}, Unknown)
}

func TestPlacementGroupOfTheProvider(t *testing.T) {
	text := func(s string) *string { return &s }
	const region = "eu-west-1"
	told := func(group *string, account string) Where {
		return Where{Cloud: CloudAWS, Region: region, Account: account, PlacementGroup: group}
	}
	said := func(group string) *Provider {
		return &Provider{Group: &group, Strategy: "cluster", State: "available", NetworkNodes: []string{"a", "b", "c"}}
	}
	for name, test := range map[string]struct {
		client, server Where
		p, q           *Provider
		want           Outcome
		evidence       string
	}{
		"strategy": {told(text("perf"), "1"), told(text("perf"), "1"), said("perf"), said("perf"), Proved,
			"its strategy is cluster; they share 3 of 3 network nodes"},
		"no account": {told(text("perf"), ""), told(text("perf"), ""), said("perf"), said("perf"), Proved, "cluster"},
		"no account, half": {told(text("perf"), ""), told(text("perf"), ""), said("perf"), &Provider{}, Unknown,
			"not known whether it is the same one"},
		"provider alone": {told(nil, "1"), told(nil, "1"), said("perf"), said("perf"), Proved, "cluster"},
		"contradiction": {told(text("perf"), "1"), told(text("perf"), "1"), said("perf"), said("other"), Unknown,
			`the metadata service names the group "perf", the provider "other"`},
		"metadata alone": {told(text("perf"), "1"), told(text("perf"), "1"), &Provider{Problem: "no login"}, nil, Proved,
			"the name does not tell the strategy: no login"},
		"two groups":   {told(nil, "1"), told(nil, "1"), said("perf"), said("other"), Refuted, ""},
		"nobody knows": {told(nil, "1"), told(nil, "1"), &Provider{Problem: "no login"}, nil, Unknown, "no login"},
	} {
		t.Run(name, func(t *testing.T) {
			e := Expectation{Name: ExpectPlacementGroup, Value: "perf"}
			expect(t, asked(test.client, test.server, test.p, test.q), e, test.want)
			got := Judge(e, asked(test.client, test.server, test.p, test.q))
			if !strings.Contains(got.Evidence, test.evidence) {
				t.Errorf("the evidence is %q, want %q", got.Evidence, test.evidence)
			}
		})
	}
	// The strategy is a fact that a file can expect.
	spread := said("perf")
	spread.Strategy = "spread"
	e := Expectation{Name: ExpectFact, Path: "provider.strategy", Value: "cluster"}
	expect(t, asked(told(nil, "1"), told(nil, "1"), said("perf"), said("perf")), e, Proved)
	expect(t, asked(told(nil, "1"), told(nil, "1"), said("perf"), spread), e, Refuted)
	expect(t, asked(told(nil, "1"), told(nil, "1"), said("perf"), nil), e, Unknown)
}

// The policy of a machine of GCP is known from the provider alone.
func TestPlacementPolicyOfGCP(t *testing.T) {
	in := func(policy string) *Provider {
		return &Provider{Group: &policy, Strategy: "COLLOCATED", State: "READY"}
	}
	at := Where{Cloud: CloudGCP, Region: "us-central1", Account: "p"}
	e := Expectation{Name: ExpectPlacementGroup, Value: true}
	named := Expectation{Name: ExpectPlacementGroup, Value: "near"}
	for _, test := range []struct {
		e      Expectation
		server Where
		p, q   *Provider
		want   Outcome
	}{
		{e, at, in("near"), in("near"), Proved}, {named, at, in("near"), in("near"), Proved},
		{named, at, in("far"), in("far"), Refuted}, {e, at, in("near"), in("far"), Refuted},
		{e, at, in("near"), in(""), Refuted}, {e, at, in(""), in(""), Refuted},
		{e, at, in("near"), nil, Unknown}, {e, at, in("near"), &Provider{Problem: "no login"}, Unknown},
	} {
		expect(t, asked(at, test.server, test.p, test.q), test.e, test.want)
	}
}

func TestCompactPlacementOfTheProvider(t *testing.T) {
	nodes := func(names ...string) *Provider { return &Provider{NetworkNodes: names} }
	block := func(name string) *Topology { return &Topology{Cluster: "c", Block: name} }
	aws, gcp := Where{Cloud: CloudAWS, Region: "eu-west-1"}, Where{Cloud: CloudGCP, Region: "us-central1"}
	inBlock := gcp
	inBlock.Topology = block("b")
	for name, test := range map[string]struct {
		at      Where
		p, q    *Provider
		is, not Outcome
	}{
		"lowest node":         {aws, nodes("a", "b", "c"), nodes("a", "b", "c"), Proved, Refuted},
		"middle node":         {aws, nodes("a", "b", "c"), nodes("a", "b", "d"), Refuted, Proved},
		"no common node":      {aws, nodes("a", "b", "c"), nodes("x", "y", "z"), Refuted, Proved},
		"lowest node alone":   {aws, nodes("a", "b", "c"), nodes("x", "y", "c"), Unknown, Unknown}, // no tree
		"other depth":         {aws, nodes("a", "b", "c"), nodes("a", "b"), Unknown, Unknown},
		"no nodes":            {aws, nodes(), nodes(), Unknown, Unknown},
		"one not known":       {aws, nodes("a", "b", "c"), &Provider{Problem: "no login"}, Unknown, Unknown},
		"EC2 not asked":       {aws, nil, nil, Unknown, Unknown},
		"block":               {gcp, &Provider{Topology: block("b")}, &Provider{Topology: block("b")}, Proved, Refuted},
		"two blocks":          {gcp, &Provider{Topology: block("b")}, &Provider{Topology: block("x")}, Refuted, Proved},
		"no block":            {gcp, &Provider{Topology: block("")}, &Provider{Topology: block("")}, Unknown, Unknown},
		"GCP not asked":       {gcp, nil, nil, Unknown, Unknown},
		"metadata alone":      {inBlock, &Provider{Problem: "no login"}, nil, Proved, Refuted},
		"both the same":       {inBlock, &Provider{Topology: block("b")}, nil, Proved, Refuted},
		"both, contradiction": {inBlock, &Provider{Topology: block("x")}, nil, Unknown, Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			trial := asked(test.at, test.at, test.p, test.q)
			expect(t, trial, Expectation{Name: ExpectCompactPlacement, Value: true}, test.is)
			expect(t, trial, Expectation{Name: ExpectCompactPlacement, Value: false}, test.not)
		})
	}
}
