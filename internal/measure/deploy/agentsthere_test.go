package deploy

import (
	"errors"
	"strings"
	"testing"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/onhost/agent/binaries"
	"nearfar/internal/onhost/host"
)

// TestBuildWithoutAgents: a program without agents says so before pods are made, unless an image brings the agent.
func TestBuildWithoutAgents(t *testing.T) {
	none := func(host.System) (binaries.Agent, error) {
		return binaries.Agent{}, errors.New("this build has no agents")
	}
	arms := func(pod experiment.Pod) []experiment.Arm {
		return []experiment.Arm{{Name: "a", Kubernetes: &experiment.Kubernetes{Client: &pod, Server: &pod}}}
	}
	err := agentsThere(arms(experiment.Pod{OS: experiment.PodLinux}), none)
	if err == nil || !strings.Contains(err.Error(), "arm a: this build has no agents; or name an image") {
		t.Errorf("got %v", err)
	}
	if err := agentsThere(arms(experiment.Pod{OS: experiment.PodLinux, AgentImage: "r.example/agent"}), none); err != nil {
		t.Errorf("with an image: %v", err)
	}
}
