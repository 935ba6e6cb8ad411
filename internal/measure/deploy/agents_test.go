package deploy

import (
	"errors"
	"strings"
	"testing"

	"nearfar/internal/declare/experiment"
)

// A program without agents says so before it reaches a host, if it would copy an agent there.
func TestWithoutAgents(t *testing.T) {
	missing := errors.New("no agents inside")
	specs := map[string]experiment.HostSpec{
		"here":   {Name: "here", Local: true},
		"linux":  {Name: "linux", SSH: "vm-a"},
		"placed": {Name: "placed", SSH: "vm-b", Command: "/opt/nearfar-agent --stdio"},
	}
	if err := hostsWithoutAgent(specs, []string{"here", "linux", "placed"}, nil); err != nil {
		t.Errorf("with agents: %v", err)
	}
	if err := hostsWithoutAgent(specs, []string{"here", "placed"}, missing); err != nil {
		t.Errorf("nothing is copied: %v", err)
	}
	err := hostsWithoutAgent(specs, []string{"here", "linux", "placed"}, missing)
	if !errors.Is(err, missing) || !strings.Contains(err.Error(), "to linux:") {
		t.Errorf("an agent would be copied: %v", err)
	}
}
