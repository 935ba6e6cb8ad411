package runner

import (
	"context"
	"fmt"
	"maps"

	"nearfar/internal/declare/check"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/onhost/host"
)

// Deployments makes the hosts of all arms anew. It frees the present hosts, gives the new ones to the runner with
// SetHosts, and prepares the runner again.
type Deployments func(ctx context.Context, deployment int) error

// Deployments sets the function that makes hosts anew. An experiment with one deployment does not need it.
func (r *Runner) Deployments(remake Deployments) { r.deployed.remake = remake }

// Deployed is called when hosts have been made, before the first trial on them. deployment is the number in the records
// of the trials; 0 if the hosts are made once. It returns the facts of the hosts, by arm. An error ends the run.
type Deployed func(ctx context.Context, deployment int) (map[string]result.Sides[check.Facts], error)

// Deployed sets the function that reads the facts of hosts. Without facts, expectations are judged only by what the
// trials show themselves.
func (r *Runner) Deployed(read Deployed) { r.deployed.read = read }

// SetHosts replaces the hosts of all arms. Prepare must follow.
func (r *Runner) SetHosts(hosts map[string]host.Hosts) {
	r.hosts = hosts
	r.byHost = map[host.Host]map[string]string{}
}

// deployed says which deployment the hosts belong to.
type deployed struct {
	remake Deployments
	read   Deployed
	// facts are the facts of the present hosts, by arm. known is false until they were read.
	facts map[string]result.Sides[check.Facts]
	known bool
	// several says that the schedule has more than one deployment.
	several bool
	// current is the deployment of the schedule that the hosts were made for; 0 before the first trial.
	current int
	// number is what the records of trials say.
	number int
	// before are the deployments of the schedule that have trials on earlier hosts; last is the highest number so far.
	before map[int]bool
	last   int
	// kept is the number of the trials before whose hosts are the present ones; 0 if these are others.
	kept int
}

// Continue says that the hosts are still those of the trials with this number (result.Trial.Deployment), which an
// interrupted run has measured. The remaining trials of their deployment then get the same number.
func (r *Runner) Continue(deployment int) { r.deployed.kept = deployment }

// begin starts with hosts that were just made. before are the trials of an interrupted run, on earlier hosts that no
// longer exist.
func (d *deployed) begin(s experiment.Schedule, before []result.Trial) {
	d.several, d.current, d.last, d.before = s.DeploymentCount() > 1, 0, s.DeploymentCount(), map[int]bool{}
	d.facts, d.known = nil, false
	for _, t := range before {
		d.before[s.DeploymentOf(t.Block)] = true
		d.last = max(d.last, t.Deployment)
		if d.several && d.kept > 0 && t.Deployment == d.kept {
			d.current, d.number = s.DeploymentOf(t.Block), d.kept
		}
	}
}

// recorded is the number for a trial's record; 0 if the hosts are made once.
func (d *deployed) recorded() int {
	if !d.several {
		return 0
	}
	return d.number
}

// deploy makes the hosts anew if the trial belongs to another deployment than the one before, and has the facts of new
// hosts read.
func (r *Runner) deploy(ctx context.Context, slot experiment.Slot) error {
	d := &r.deployed
	if d.several && slot.Deployment != d.current {
		if d.current > 0 {
			err := r.again(func() error { return d.remake(ctx, slot.Deployment) })
			if err != nil {
				return &NotMadeError{slot.Deployment, err}
			}
		}
		d.current, d.number, d.known = slot.Deployment, slot.Deployment, false
		if d.before[slot.Deployment] {
			d.other()
		}
	}
	if d.known || d.read == nil {
		return nil
	}
	d.known = true
	var err error
	d.facts, err = d.read(ctx, d.recorded())
	return err
}

// NotMadeError says that the hosts of a deployment of the schedule cannot be made. The trials on earlier hosts are
// whole.
type NotMadeError struct {
	Deployment int
	Err        error
}

func (e *NotMadeError) Error() string {
	return fmt.Sprintf("the hosts of deployment %d cannot be made: %v", e.Deployment, e.Err)
}

func (e *NotMadeError) Unwrap() error { return e.Err }

// other gives the hosts of the rest of a deployment a number of their own. Their facts are not known yet.
func (d *deployed) other() {
	d.last++
	d.number, d.known = d.last, false
}

// again calls makeHosts, which makes the hosts anew. All workloads that ran on the earlier hosts must run on the new
// ones.
func (r *Runner) again(makeHosts func() error) error {
	skipped := maps.Clone(r.skipped)
	if err := makeHosts(); err != nil {
		return err
	}
	for workload, reason := range r.skipped {
		if _, known := skipped[workload]; !known {
			return fmt.Errorf("workload %s ran on earlier hosts, and cannot on these: %s", workload, reason)
		}
	}
	return nil
}
