package runner

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"nearfar/internal/declare/check"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// deployedRun runs an experiment of several deployments, whose hosts are fake. made lists the deployments, each with
// its first trial.
func deployedRun(
	t *testing.T, e *experiment.Experiment, k *kept, before []result.Trial, fail error,
) (made []string, err error) {
	t.Helper()
	return continuedRun(t, e, k, before, fail, 0)
}

// continuedRun is deployedRun on hosts of the trials before: those of a deployment with a number, unless it is 0.
func continuedRun(
	t *testing.T, e *experiment.Experiment, k *kept, before []result.Trial, fail error, continued int,
) (made []string, err error) {
	t.Helper()
	ctx, s := context.Background(), &scene{client: prints("0.5")}
	k.raw = map[string]string{}
	r := New(e, tools{clocked{}}, s.hosts(e), DefaultLimits(), nil)
	r.Deployed(func(_ context.Context, deployment int) (map[string]result.Sides[check.Facts], error) {
		k.facts = append(k.facts, fmt.Sprintf("%d after %d", deployment, len(k.trials)))
		return nil, nil
	})
	r.Deployments(func(ctx context.Context, deployment int) error {
		made = append(made, fmt.Sprintf("%d after %d", deployment, len(k.trials)))
		if fail != nil {
			return fail
		}
		r.SetHosts(s.hosts(e))
		return r.Prepare(ctx)
	})
	if err := r.Prepare(ctx); err != nil {
		t.Fatal(err)
	}
	r.Continue(continued)
	return made, r.Run(ctx, k, before)
}

// numbers lists block and deployment of each trial.
func numbers(trials []result.Trial) string {
	var all []string
	for _, t := range trials {
		all = append(all, fmt.Sprintf("%d/%d", t.Block, t.Deployment))
	}
	return strings.Join(all, " ")
}

func TestHostsAreMadeBetweenDeployments(t *testing.T) {
	e, k := twoArms(2), &kept{}
	e.Schedule.Deployments = 3
	made, err := deployedRun(t, e, k, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(made, ", "); got != "2 after 4, 3 after 8" {
		t.Errorf("made: %s", got)
	}
	if got := strings.Join(k.facts, ", "); got != "1 after 0, 2 after 4, 3 after 8" {
		t.Errorf("facts of deployments: %s", got)
	}
	if got := numbers(k.trials); got != "1/1 1/1 2/1 2/1 3/2 3/2 4/2 4/2 5/3 5/3 6/3 6/3" {
		t.Errorf("trials: %s", got)
	}
}

// If a resumed run makes new hosts, the remaining trials of the deployment get another deployment number.
func TestResumedDeploymentsAreOthers(t *testing.T) {
	e, k := twoArms(2), &kept{}
	e.Schedule.Deployments = 3
	if _, err := deployedRun(t, e, k, nil, nil); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		before     int
		made, want string
	}{
		{6, "3 after 2", "4/4 4/4 5/3 5/3 6/3 6/3"},
		{4, "3 after 4", "3/2 3/2 4/2 4/2 5/3 5/3 6/3 6/3"},
		{12, "", ""},
	} {
		again := &kept{}
		made, err := deployedRun(t, e, again, k.trials[:c.before], nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(made, ", "); got != c.made || numbers(again.trials) != c.want {
			t.Errorf("after %d trials: made %s; %s", c.before, got, numbers(again.trials))
		}
	}
	// A second interruption of the same deployment.
	before := append([]result.Trial{}, k.trials[:6]...)
	before[5].Deployment = 4
	again := &kept{}
	if _, err := deployedRun(t, e, again, before, nil); err != nil || again.trials[0].Deployment != 5 {
		t.Errorf("%v; %s", err, numbers(again.trials))
	}
}

func TestHostsThatCannotBeMadeEndTheRun(t *testing.T) {
	e, k := twoArms(2), &kept{}
	e.Schedule.Deployments = 2
	full := errors.New("no machine left")
	_, err := deployedRun(t, e, k, nil, full)
	if !errors.Is(err, full) || !strings.Contains(err.Error(), "deployment 2") {
		t.Errorf("%v", err)
	}
	if len(k.trials) != 4 {
		t.Errorf("%d trials are kept", len(k.trials))
	}
}

func TestOneDeploymentIsNotRecorded(t *testing.T) {
	k := &kept{}
	made, err := deployedRun(t, twoArms(2), k, nil, errors.New("never called"))
	if err != nil || len(made) > 0 || k.trials[3].Deployment != 0 || k.trials[3].DeploymentNumber() != 1 {
		t.Errorf("%v, made %v, %s", err, made, numbers(k.trials))
	}
}

// If a resumed run still has the hosts of the interrupted deployment, the trials keep the number of that deployment,
// also if the number is not in the schedule.
func TestContinuedDeploymentsKeepTheirNumber(t *testing.T) {
	e, k := twoArms(2), &kept{}
	e.Schedule.Deployments = 3
	if _, err := deployedRun(t, e, k, nil, nil); err != nil {
		t.Fatal(err)
	}
	odd := append([]result.Trial{}, k.trials[:7]...)
	for i := 5; i < 7; i++ {
		odd[i].Deployment = 4
	}
	for _, c := range []struct {
		before     []result.Trial
		kept       int
		made, want string
	}{
		{k.trials[:6], 2, "3 after 2", "4/2 4/2 5/3 5/3 6/3 6/3"},
		{k.trials[:8], 2, "3 after 0", "5/3 5/3 6/3 6/3"},
		{odd, 4, "3 after 1", "4/4 5/3 5/3 6/3 6/3"},
		{k.trials[:6], 0, "3 after 2", "4/4 4/4 5/3 5/3 6/3 6/3"},
	} {
		again := &kept{}
		made, err := continuedRun(t, e, again, c.before, nil, c.kept)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(made, ", "); got != c.made || numbers(again.trials) != c.want {
			t.Errorf("kept %d after %d trials: made %s; %s", c.kept, len(c.before), got, numbers(again.trials))
		}
	}
}
