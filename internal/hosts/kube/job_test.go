package kube

import (
	"bytes"
	"strings"
	"testing"

	"nearfar/internal/declare/experiment"
)

// testJob is a Job with all that it can have.
func testJob() Job {
	return Job{
		Name: "nearfar-paths", Namespace: "perf", Image: "r.example/nearfar:1", PullSecrets: []string{"pull"},
		Experiment: []byte("nearfar: v1\nname: paths\n"), Args: []string{"--force"}, Schedule: "0 3 * * *",
		Claim: "runs", Push: "http://pushgateway.monitoring:9091/metrics/job/nearfar",
	}
}

func printed(t *testing.T, j Job, arms ...experiment.Arm) string {
	t.Helper()
	var out bytes.Buffer
	if err := j.Print(&out, plan(t, testRun(), arms...)); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestJob compares the objects of Jobs with golden files: a CronJob with all options in a namespace of its own, and a
// plain Job whose runs make their namespaces.
func TestJob(t *testing.T) {
	given := between("service", experiment.ThroughClusterIP, linuxPod(), linuxPod())
	given.Kubernetes.Namespace = "perf"
	plain := testJob()
	plain.PullSecrets, plain.Args, plain.Schedule, plain.Claim, plain.Push = nil, nil, "", "", ""
	for name, got := range map[string]string{
		"cronjob": printed(t, testJob(), given),
		"job":     printed(t, plain, between("pod", experiment.ThroughPod, linuxPod(), linuxPod())),
	} {
		golden(t, name+".yaml", []byte(got))
	}
}

// A Job has the rights that its experiment needs, in the namespaces where it needs them, and no other.
func TestJobRights(t *testing.T) {
	here := between("here", experiment.ThroughPod, linuxPod(), linuxPod())
	here.Kubernetes.Namespace, here.Kubernetes.Policy = "here", experiment.PolicyLeave
	there := between("there", experiment.ThroughClusterIP, linuxPod(), linuxPod())
	there.Kubernetes.Namespace = "there"
	got := printed(t, testJob(), here, there)
	one, two, found := strings.Cut(got, "namespace: there\nrules:")
	if !found || strings.Contains(one, "  - services\n") || !strings.Contains(two, "  - services\n") {
		t.Errorf("Services are not for the namespace there alone:\n%s", got)
	}
	if strings.Contains(got, "  - namespaces\n") {
		t.Errorf("it may make namespaces, and makes none:\n%s", got)
	}
	if strings.Count(got, "kind: RoleBinding\n") != 2 || strings.Count(got, "kind: ClusterRoleBinding\n") != 1 {
		t.Errorf("its roles are not bound:\n%s", got)
	}
}

// An experiment that no ConfigMap holds is refused.
func TestJobTooLarge(t *testing.T) {
	j := testJob()
	j.Experiment = bytes.Repeat([]byte("#"), maxExperiment+1)
	if err := j.Print(&bytes.Buffer{}, nil); err == nil || !strings.Contains(err.Error(), "ConfigMap") {
		t.Errorf("%v", err)
	}
}
