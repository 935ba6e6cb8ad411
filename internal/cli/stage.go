package cli

import (
	"context"
	"errors"
	"time"

	"nearfar/internal/experiment"
	"nearfar/internal/host"
	"nearfar/internal/host/lab"
	"nearfar/internal/runner"
)

// labStage is a runner.Stage that makes the hosts in a lab.
type labStage struct{ lab *lab.Lab }

func (s labStage) Build(ctx context.Context, arm experiment.Arm) (runner.Pair, error) {
	if arm.Lab == nil {
		return runner.Pair{}, errors.New("the experiment file does not say how to make its hosts")
	}
	client, server, err := s.lab.Build(ctx, arm.Name, *arm.Lab)
	return runner.Pair{Client: client, Server: server}, err
}

func (s labStage) CPUs(p experiment.Placement) (client, server []int, err error) {
	return s.lab.CPUs(p)
}

func (s labStage) Stolen(cpus []int) (time.Duration, bool) { return s.lab.Stolen(cpus) }

func (s labStage) CoreToCore(client, server []int) (time.Duration, bool) {
	return s.lab.CoreToCore(client, server)
}

func (s labStage) Watch(arm string, client, server []int) func() host.Contention {
	return s.lab.Watch(arm, client, server)
}

func (s labStage) Lost() error { return s.lab.Lost() }

// wiresOnlyLimitRate reports whether no wire of the experiment delays or loses packets.
func wiresOnlyLimitRate(e *experiment.Experiment) bool {
	for _, arm := range e.Arms {
		if arm.Lab == nil {
			continue
		}
		for _, element := range arm.Lab.Path {
			if element.Delay > 0 || element.Loss > 0 {
				return false
			}
		}
	}
	return true
}
