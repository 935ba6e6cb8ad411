package kube

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nearfar/internal/declare/experiment"
)

// Names in a pod.
const (
	// ContainerName is the container with the tools and the agent, initName the one that brings the agent.
	ContainerName = "nearfar"
	initName      = "nearfar-agent"
	volumeName    = "nearfar"
	// Folder is the mount point of the pod's volume, on which the agent and its files are.
	Folder        = "/nearfar"
	windowsFolder = `C:\nearfar`
	// program is the agent on that volume, imageProgram in the images that nearfar writes for Linux.
	program      = Folder + "/nearfar-agent"
	imageProgram = "/nearfar-agent"
)

// Labels of nodes.
const (
	labelHostname = "kubernetes.io/hostname"
	labelZone     = "topology.kubernetes.io/zone"
	labelOS       = "kubernetes.io/os"
)

// addPods plans the pods of a pair.
func (s *Set) addPods(p *pair) error {
	for _, one := range []struct {
		side, other string
		pod         *experiment.Pod
		alone       bool
	}{{Client, Server, p.client, p.server == nil}, {Server, Client, p.server, p.client == nil}} {
		if one.pod == nil {
			continue
		}
		pod, err := s.pod(p, one.side, one.pod)
		if err != nil {
			return fmt.Errorf("arm %s: the %s's pod: %w", p.arms[0], one.side, err)
		}
		if !one.alone {
			relate(pod, p.nodes, s.selector(p, one.other), one.side)
		}
		if p.leader != nil {
			affinity := require(&pod.Spec)
			affinity.PodAffinity = added(affinity.PodAffinity, term(s.selector(p.leader, one.side), labelHostname))
		}
		s.pods = append(s.pods, pod)
	}
	return nil
}

// selector finds one pod of a pair.
func (s *Set) selector(p *pair, side string) map[string]string {
	return map[string]string{LabelRun: s.Run.ID, LabelPair: p.name, LabelSide: side}
}

// pod plans one pod.
func (s *Set) pod(p *pair, side string, d *experiment.Pod) (*corev1.Pod, error) {
	labels, annotations := map[string]string{}, map[string]string{}
	maps.Copy(labels, d.Labels)
	maps.Copy(annotations, d.Annotations)
	maps.Copy(labels, s.labels(LabelPair, p.name, LabelSide, side))
	maps.Copy(annotations, s.annotations(p.arms...))
	no, grace := false, int64(1)
	deadline := max(int64(s.Run.Expires.Sub(s.Run.Now).Seconds()), 1)
	pod := &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Name: s.podName(p, side), Namespace: s.Namespace, Labels: labels, Annotations: annotations,
		},
		Spec: corev1.PodSpec{
			// A container that ended is a failure: what ran in it is gone.
			RestartPolicy:                 corev1.RestartPolicyNever,
			ActiveDeadlineSeconds:         &deadline,
			TerminationGracePeriodSeconds: &grace,
			ServiceAccountName:            s.accountName(),
			AutomountServiceAccountToken:  &no,
			EnableServiceLinks:            &no,
			HostNetwork:                   d.HostNetwork,
			OS:                            &corev1.PodOS{Name: corev1.OSName(system(d))},
		},
	}
	return pod, s.complete(pod, d)
}

// complete adds what the declaration says.
func (s *Set) complete(pod *corev1.Pod, d *experiment.Pod) error {
	spec := &pod.Spec
	if IsWindows(d) && !d.HostNetwork && d.AgentImage != "" {
		return errors.New("agentImage is for hostNetwork: true on Windows, because its variant has no files of " +
			"Windows; leave it out, and name as image one with nearfar-agent.exe as its entrypoint")
	}
	// Windows does not support this policy (Kubernetes' documentation, DNS for Services and Pods).
	if d.HostNetwork && !IsWindows(d) {
		spec.DNSPolicy = corev1.DNSClusterFirstWithHostNet
	}
	if d.RuntimeClass != "" {
		spec.RuntimeClassName = &d.RuntimeClass
	}
	spec.PriorityClassName, spec.SchedulerName = d.PriorityClass, d.Scheduler
	for _, name := range d.ImagePullSecrets {
		spec.ImagePullSecrets = append(spec.ImagePullSecrets, corev1.LocalObjectReference{Name: name})
	}
	if err := s.place(spec, d); err != nil {
		return err
	}
	resources := corev1.ResourceRequirements{}
	if err := read(d.Resources, &resources); err != nil {
		return fmt.Errorf("resources: %w", err)
	}
	if len(d.Resources) == 0 {
		// The pods of all arms exist at the same time, and small nodes must have room for them. Without a limit no pod is
		// throttled.
		resources = corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU:    resource.MustParse(experiment.DefaultPodCPU),
			corev1.ResourceMemory: resource.MustParse(experiment.DefaultPodMemory),
		}}
	}
	spec.Volumes = []corev1.Volume{{
		Name: volumeName, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}},
	}}
	s.contain(spec, d, resources)
	return s.secure(spec, d)
}

// read reads a part of a PodSpec from the file. Unknown keys are mistakes, as they are for kubectl.
func read(text json.RawMessage, into any) error {
	if len(text) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

// place says on which nodes the pod may run, without regard to other pods.
func (s *Set) place(spec *corev1.PodSpec, d *experiment.Pod) error {
	spec.NodeSelector = map[string]string{labelOS: system(d)}
	maps.Copy(spec.NodeSelector, d.NodeSelector)
	if d.Zone != "" {
		spec.NodeSelector[labelZone] = d.Zone
	}
	if len(d.Affinity) > 0 {
		spec.Affinity = &corev1.Affinity{}
		if err := read(d.Affinity, spec.Affinity); err != nil {
			return fmt.Errorf("affinity: %w", err)
		}
	}
	if err := read(d.Tolerations, &spec.Tolerations); err != nil {
		return fmt.Errorf("tolerations: %w", err)
	}
	if d.Node != "" {
		// Not spec.nodeName: that skips the scheduler, and with it the check that the pod fits.
		requireNode(spec, nil, []corev1.NodeSelectorRequirement{{
			Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{d.Node},
		}})
	}
	return nil
}

// requireNode adds requirements to all terms of the required node affinity: terms are alternatives.
func requireNode(spec *corev1.PodSpec, labels, fields []corev1.NodeSelectorRequirement) {
	affinity := require(spec)
	affinity.NodeAffinity = cmp.Or(affinity.NodeAffinity, &corev1.NodeAffinity{})
	node := affinity.NodeAffinity
	if node.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		node.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{}},
		}
	}
	terms := node.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	for i := range terms {
		terms[i].MatchExpressions = append(terms[i].MatchExpressions, labels...)
		terms[i].MatchFields = append(terms[i].MatchFields, fields...)
	}
}

// relate puts the pods of a pair on different nodes, on one node, or into different zones. Everything is required: a
// preferred rule would be ignored silently when the cluster is full.
func relate(pod *corev1.Pod, nodes string, other map[string]string, side string) {
	affinity := require(&pod.Spec)
	switch nodes {
	case experiment.NodesSame:
		if side == Server { // the client is scheduled first
			affinity.PodAffinity = added(affinity.PodAffinity, term(other, labelHostname))
		}
	case experiment.NodesDifferentZones:
		// A node without the label would be in a zone of its own.
		requireNode(&pod.Spec, []corev1.NodeSelectorRequirement{{
			Key: labelZone, Operator: corev1.NodeSelectorOpExists,
		}}, nil)
		affinity.PodAntiAffinity = apart(affinity.PodAntiAffinity, term(other, labelZone))
	default:
		affinity.PodAntiAffinity = apart(affinity.PodAntiAffinity, term(other, labelHostname))
	}
}

// require gives the pod's affinity, and makes it if there is none.
func require(spec *corev1.PodSpec) *corev1.Affinity {
	spec.Affinity = cmp.Or(spec.Affinity, &corev1.Affinity{})
	return spec.Affinity
}

func term(labels map[string]string, topology string) corev1.PodAffinityTerm {
	return corev1.PodAffinityTerm{
		LabelSelector: &metav1.LabelSelector{MatchLabels: labels}, TopologyKey: topology,
	}
}

func added(to *corev1.PodAffinity, t corev1.PodAffinityTerm) *corev1.PodAffinity {
	to = cmp.Or(to, &corev1.PodAffinity{})
	to.RequiredDuringSchedulingIgnoredDuringExecution = append(to.RequiredDuringSchedulingIgnoredDuringExecution, t)
	return to
}

func apart(to *corev1.PodAntiAffinity, t corev1.PodAffinityTerm) *corev1.PodAntiAffinity {
	to = cmp.Or(to, &corev1.PodAntiAffinity{})
	to.RequiredDuringSchedulingIgnoredDuringExecution = append(to.RequiredDuringSchedulingIgnoredDuringExecution, t)
	return to
}

// waitScript waits in an image that has a shell until the agent was copied, and becomes it.
const waitScript = `trap 'exit 0' TERM INT
until [ -x ` + program + ` ]; do sleep 0.2 2>/dev/null || sleep 1; done
exec ` + program + ` pod`

// contain plans the containers. The container's first process only reaps processes (nearfar-agent pod): the agent
// itself is started by the first exec stream, which brings the secret of the session, so that the secret is in no
// object.
func (s *Set) contain(spec *corev1.PodSpec, d *experiment.Pod, resources corev1.ResourceRequirements) {
	folder := Folder
	if IsWindows(d) {
		folder = windowsFolder
	}
	mounts := []corev1.VolumeMount{{Name: volumeName, MountPath: folder}}
	main := corev1.Container{
		Name: ContainerName, Image: d.Image, Resources: resources, VolumeMounts: mounts,
		ImagePullPolicy: corev1.PullIfNotPresent,
	}
	switch {
	case d.Image == "" && d.AgentImage == "":
		main.Image = experiment.DefaultPodImage
		main.Command = []string{"sh", "-c", waitScript}
	case installsItself(d):
		if d.Image == "" {
			main.Image = d.AgentImage
		}
		main.Command, main.Args = imageCommand(d), []string{"pod", "--install", folder}
	case d.AgentImage == "":
		main.Command = []string{"sh", "-c", waitScript}
	default:
		spec.InitContainers = []corev1.Container{{
			Name: initName, Image: d.AgentImage, Command: imageCommand(d), Args: []string{"install", folder},
			Resources: resources, VolumeMounts: mounts, ImagePullPolicy: corev1.PullIfNotPresent,
		}}
		main.Command = []string{program, "pod"}
		if IsWindows(d) {
			main.Command = []string{windowsFolder + `\nearfar-agent.exe`, "pod"}
		}
	}
	spec.Containers = []corev1.Container{main}
}

// imageCommand is the agent in an agentImage. The image of nearfar has it too, and another entrypoint. On Windows it is
// nil, because the path depends on the version of containerd: the agent is the entrypoint there.
func imageCommand(d *experiment.Pod) []string {
	if IsWindows(d) {
		return nil
	}
	return []string{imageProgram}
}

// system is the operating system of a pod.
func system(d *experiment.Pod) string {
	if IsWindows(d) {
		return experiment.PodWindows
	}
	return experiment.PodLinux
}

// copies says that the agent has to be copied into the pod through the API.
func copies(d *experiment.Pod) bool { return d.AgentImage == "" && !IsWindows(d) }

// installsItself says that the pod's only image has the agent as its entrypoint, which copies itself onto the volume
// when it starts. Images for Windows have no shell through which the agent could be copied.
func installsItself(d *experiment.Pod) bool {
	return d.Image == "" && d.AgentImage != "" || IsWindows(d) && d.AgentImage == ""
}

// IsWindows says that the pod needs a node with Windows.
func IsWindows(d *experiment.Pod) bool { return d != nil && d.OS == experiment.PodWindows }
