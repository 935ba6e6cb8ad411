package deploy

import (
	"crypto/rand"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"nearfar/internal/base/kubeclient"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/hosts/kube"
)

// idLength is the length of a run's id in the names of objects.
const idLength = 8

// newRun names a run in a cluster.
func newRun(e *experiment.Experiment) kube.Run {
	now, cells := time.Now(), e.Cells()
	return kube.Run{
		ID: strings.ToLower(rand.Text()[:idLength]), Owner: kube.Owner(), Process: kube.Process(),
		Now: now, Expires: now.Add(podLife(e, cells)), ICMP: usesICMP(e), UDP: usesUDP(cells),
		Background: usesBackground(e), Wire: watchesWire(e),
		Inside: watchesInside(e),
	}
}

// Bounds of the life of pods.
const (
	// minLife is how long pods live at least, trialOverhead how long a trial may take in addition to its own duration.
	minLife       = time.Hour
	trialOverhead = 30 * time.Second
)

// podLife is how long the cluster keeps the pods of a run that does not remove them: twice the time that its trials
// take, with all repetitions of failed ones, and an hour.
func podLife(e *experiment.Experiment, cells experiment.Cells) time.Duration {
	var all time.Duration
	for cell := range cells.All() {
		w := cell.Workload
		all += (w.Warmup + w.Duration + trialOverhead) * time.Duration(e.TrialsOf(cell.Arm))
	}
	return minLife + 2*all*time.Duration(1+e.Schedule.Retries)
}

// usesICMP says that a workload uses ping.
func usesICMP(e *experiment.Experiment) bool {
	const ping = "ping"
	return slices.ContainsFunc(e.Workloads, func(w experiment.Workload) bool {
		return w.Tool == ping || w.Background != nil && w.Background.Tool == ping
	})
}

// watchesInside says that a workload is watched inside.
func watchesInside(e *experiment.Experiment) bool {
	return slices.ContainsFunc(e.Workloads, func(w experiment.Workload) bool { return w.Inside })
}

// usesUDP says that a workload sends UDP in some arm.
func usesUDP(cells experiment.Cells) bool {
	for cell := range cells.All() {
		w := cell.Workload
		if w.Protocol == experiment.UDP || w.Background != nil && w.Background.Protocol == experiment.UDP {
			return true
		}
	}
	return false
}

// usesBackground says that a workload has a background.
func usesBackground(e *experiment.Experiment) bool {
	return slices.ContainsFunc(e.Workloads, func(w experiment.Workload) bool { return w.Background != nil })
}

// PrintPods writes what a run would make in clusters, and the rights that it needs, as YAML. It connects to nothing,
// and needs no kubeconfig.
func PrintPods(w io.Writer, e *experiment.Experiment, kubeconfig string) error {
	arms, err := resolved(e.Arms, kubeconfig)
	if err != nil {
		arms = slices.DeleteFunc(slices.Clone(e.Arms), func(a experiment.Arm) bool { return a.Kubernetes == nil })
	}
	sets, err := kube.Plan(newRun(e), withOwnPods(e, arms))
	if err != nil {
		return err
	}
	return kube.Print(w, sets)
}

// withOwnPods leaves out arms that use the pods of another one.
func withOwnPods(e *experiment.Experiment, arms []experiment.Arm) []experiment.Arm {
	return slices.DeleteFunc(arms, func(a experiment.Arm) bool { return e.HostsOf(a.Name) != a.Name })
}

// Job is an experiment that a nearfar inside a cluster runs.
type Job = kube.Job

// PrintJob writes the objects of a Job as YAML, with the rights that its experiment needs. All arms of the experiment
// are between pods of the cluster that it runs in.
func PrintJob(w io.Writer, e *experiment.Experiment, j Job) error {
	sets, err := kube.Plan(newRun(e), withOwnPods(e, slices.Clone(e.Arms)))
	if err != nil {
		return err
	}
	return j.Print(w, sets)
}

// resolved are the arms with pods, with the names of their contexts.
func resolved(arms []experiment.Arm, kubeconfig string) ([]experiment.Arm, error) {
	var all []experiment.Arm
	contexts := map[string]string{}
	for _, arm := range arms {
		if arm.Kubernetes == nil {
			continue
		}
		k := *arm.Kubernetes
		if _, known := contexts[k.Context]; !known {
			name, err := kubeclient.Resolve(kubeconfig, k.Context)
			if err != nil {
				return nil, fmt.Errorf("arm %s: %w", arm.Name, err)
			}
			contexts[k.Context] = name
		}
		k.Context = contexts[k.Context]
		arm.Kubernetes = &k
		all = append(all, arm)
	}
	return all, nil
}
