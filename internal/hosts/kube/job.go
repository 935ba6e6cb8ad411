package kube

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"nearfar/internal/declare/experiment"
)

// A Job is an experiment that a nearfar inside the cluster runs: once, or as often as a schedule says. Its pod runs
// containers in turn: run measures, push sends the figures to a Pushgateway, and answer prints the answer, which is
// what `kubectl logs` shows then. release/chart has the same objects.
type Job struct {
	// Name is the name of all objects, Namespace where the Job runs.
	Name, Namespace string
	// Image is the image of nearfar, PullSecrets the secrets with which it is pulled.
	Image       string
	PullSecrets []string
	// Experiment is the experiment file.
	Experiment []byte
	// Args are further arguments of `nearfar run`.
	Args []string
	// Schedule makes a CronJob (batch/v1, CronJobSpec); empty for a Job.
	Schedule string
	// Claim is the PersistentVolumeClaim that keeps the run directories; empty for a volume that goes with the pod.
	Claim string
	// Push is the address of a Pushgateway and of its group; empty for none.
	Push string
}

// Folders and volumes in the pod of a Job.
const (
	jobWork       = "/work"
	jobExperiment = "/experiment"
	jobFile       = "experiment.yaml"
	workVolume    = "work"
	tmpVolume     = "tmp"
	fileVolume    = "experiment"
)

// maxExperiment is how much a ConfigMap holds, in bytes, with room for its other fields (Kubernetes' documentation,
// ConfigMaps: 1 MiB).
const maxExperiment = 1000 << 10

// What nearfar in the pod of a Job requests, and how long it may take to delete what it made, in seconds.
const (
	jobCPU    = "100m"
	jobMemory = "128Mi"
	jobGrace  = 120
)

// Print writes the objects of the Job as YAML, for `kubectl apply`: its account, the rights that the sets need, the
// experiment, and the Job or CronJob.
func (j *Job) Print(w io.Writer, sets []*Set) error {
	if len(j.Experiment) > maxExperiment {
		return errors.New("the experiment file is too large for a ConfigMap, which holds 1 MiB")
	}
	what := "Job runs the experiment once"
	if j.Schedule != "" {
		what = "CronJob runs the experiment, " + j.Schedule
	}
	if _, err := fmt.Fprintf(w, "# This %s, in namespace %s, which must exist.\n", what, j.Namespace); err != nil {
		return err
	}
	for _, r := range optionalRights(sets) {
		fmt.Fprintf(w, "# optional: %v (without it, %s stays unknown)\n", r, r.Without)
	}
	return printAll(w, j.objects(sets))
}

// optionalRights are the rights without which the sets can do, each once. Namespaces that nearfar makes have no name
// yet.
func optionalRights(sets []*Set) (all []Right) {
	for _, s := range sets {
		for _, r := range s.Rights() {
			if s.Made {
				r.Namespace = ""
			}
			if r.Optional && !slices.Contains(all, r) {
				all = append(all, r)
			}
		}
	}
	return all
}

func (j *Job) objects(sets []*Set) []runtime.Object {
	all := []runtime.Object{&corev1.ServiceAccount{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"}, ObjectMeta: j.meta(j.Name, j.Namespace),
	}}
	all = append(all, j.roles(sets)...)
	all = append(all, &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: j.meta(j.Name, j.Namespace),
		Data: map[string]string{jobFile: string(j.Experiment)},
	})
	return append(all, j.job())
}

// meta names an object. The label managed-by is missing: that one is for what a run makes and deletes.
func (j *Job) meta(name, namespace string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: j.labels()}
}

func (j *Job) labels() map[string]string {
	return map[string]string{"app.kubernetes.io/name": "nearfar", "app.kubernetes.io/instance": j.Name}
}

// roles are the rights of the sets, for the account of the Job. The names of cluster roles have its namespace, because
// the whole cluster shares them.
func (j *Job) roles(sets []*Set) (all []runtime.Object) {
	account := []rbacv1.Subject{{Kind: "ServiceAccount", Name: j.Name, Namespace: j.Namespace}}
	inNamespaces, everywhere := split(sets)
	for _, namespace := range slices.Sorted(maps.Keys(inNamespaces)) {
		meta := j.meta(j.Name, namespace)
		all = append(all, role(meta, inNamespaces[namespace]), &rbacv1.RoleBinding{
			TypeMeta: metav1.TypeMeta{APIVersion: rbacVersion, Kind: "RoleBinding"}, ObjectMeta: meta,
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacGroup, Kind: "Role", Name: j.Name},
			Subjects: account,
		})
	}
	meta := j.meta(j.Namespace+"-"+j.Name, "")
	return append(all, clusterRole(meta, everywhere), &rbacv1.ClusterRoleBinding{
		TypeMeta: metav1.TypeMeta{APIVersion: rbacVersion, Kind: "ClusterRoleBinding"}, ObjectMeta: meta,
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacGroup, Kind: "ClusterRole", Name: meta.Name},
		Subjects: account,
	})
}

// job is the Job, or the CronJob that makes it.
func (j *Job) job() runtime.Object {
	const version = "batch/v1"
	spec := batchv1.JobSpec{
		BackoffLimit: new(int32(0)), // a failed run says why; another one would measure something else
		Template:     corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: j.labels()}, Spec: j.pod()},
	}
	if j.Schedule == "" {
		return &batchv1.Job{
			TypeMeta:   metav1.TypeMeta{APIVersion: version, Kind: "Job"},
			ObjectMeta: j.meta(j.Name, j.Namespace), Spec: spec,
		}
	}
	return &batchv1.CronJob{
		TypeMeta:   metav1.TypeMeta{APIVersion: version, Kind: "CronJob"},
		ObjectMeta: j.meta(j.Name, j.Namespace),
		Spec: batchv1.CronJobSpec{
			// Two runs at once would measure each other.
			Schedule: j.Schedule, ConcurrencyPolicy: batchv1.ForbidConcurrent,
			JobTemplate: batchv1.JobTemplateSpec{Spec: spec},
		},
	}
}

// pod is the pod of the Job. It passes the level restricted of the Pod Security Standards.
func (j *Job) pod() corev1.PodSpec {
	file := jobExperiment + "/" + jobFile
	steps := []corev1.Container{
		j.container("run", append([]string{"run", "--progress", "plain"}, append(slices.Clone(j.Args), file)...)...),
	}
	if j.Push != "" {
		steps = append(steps, j.container("push", "report", "--format", "prometheus", "--push", j.Push))
	}
	work := corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
	if j.Claim != "" {
		work = corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: j.Claim}}
	}
	spec := corev1.PodSpec{
		RestartPolicy:      corev1.RestartPolicyNever,
		ServiceAccountName: j.Name,
		// All pods of the Job have one host name: they are the same owner of what a run makes, so that the next one deletes
		// what a killed one has left.
		Hostname:                      j.Name,
		TerminationGracePeriodSeconds: new(int64(jobGrace)),
		NodeSelector:                  map[string]string{labelOS: experiment.PodLinux},
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot: new(true), RunAsUser: new(plainUser), RunAsGroup: new(plainUser), FSGroup: new(plainUser),
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		InitContainers: steps,
		Containers:     []corev1.Container{j.container("answer", "report")},
		Volumes: []corev1.Volume{
			{Name: workVolume, VolumeSource: work},
			{Name: tmpVolume, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			{Name: fileVolume, VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
				LocalObjectReference: corev1.LocalObjectReference{Name: j.Name},
			}}},
		},
	}
	for _, secret := range j.PullSecrets {
		spec.ImagePullSecrets = append(spec.ImagePullSecrets, corev1.LocalObjectReference{Name: secret})
	}
	return spec
}

// container runs nearfar once.
func (j *Job) container(name string, args ...string) corev1.Container {
	return corev1.Container{
		Name: name, Image: j.Image, ImagePullPolicy: corev1.PullIfNotPresent,
		Command: []string{"nearfar"}, Args: args, WorkingDir: jobWork,
		// Whichever image it is: the name is part of the owner of what a run makes.
		Env: []corev1.EnvVar{{Name: "HOME", Value: "/tmp"}, {Name: "USER", Value: "nearfar"}},
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse(jobCPU), corev1.ResourceMemory: resource.MustParse(jobMemory),
		}},
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true),
			Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
		VolumeMounts: []corev1.VolumeMount{
			{Name: workVolume, MountPath: jobWork}, {Name: tmpVolume, MountPath: "/tmp"},
			{Name: fileVolume, MountPath: jobExperiment, ReadOnly: true},
		},
	}
}
