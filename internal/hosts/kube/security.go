package kube

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"nearfar/internal/declare/experiment"
)

// The levels of the Pod Security Standards, from the strictest.
const (
	Restricted = "restricted"
	Baseline   = "baseline"
	Privileged = "privileged"
)

func rank(level string) int { return slices.Index([]string{Restricted, Baseline, Privileged}, level) }

// plainUser is the user and the group of the processes in a pod, unless the declaration says another one: an image's
// own user is often root.
const plainUser = int64(65532)

// hostProcessUser is the user of a HostProcess container on Windows.
const hostProcessUser = `NT AUTHORITY\SYSTEM`

// secure plans the security contexts. By default a pod passes the level restricted.
func (s *Set) secure(spec *corev1.PodSpec, d *experiment.Pod) error {
	own := &corev1.SecurityContext{}
	if err := read(d.SecurityContext, own); err != nil {
		return fmt.Errorf("securityContext: %w", err)
	}
	if IsWindows(d) {
		s.secureWindows(spec, d, own)
		return nil
	}
	yes, no, id := true, false, plainUser
	spec.SecurityContext = &corev1.PodSecurityContext{
		RunAsNonRoot: &yes, RunAsUser: &id, RunAsGroup: &id, FSGroup: &id,
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	if s.Run.ICMP {
		s.admitICMP(spec, d, own)
	}
	special := own.Privileged != nil && *own.Privileged ||
		own.Capabilities != nil && slices.Contains(own.Capabilities.Add, "SYS_ADMIN")
	if own.AllowPrivilegeEscalation == nil && !special {
		own.AllowPrivilegeEscalation = &no
	}
	if own.Capabilities == nil && !special {
		own.Capabilities = &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}
	}
	if own.RunAsNonRoot == nil {
		own.RunAsNonRoot = new(own.RunAsUser == nil || *own.RunAsUser != 0)
	}
	for i := range spec.Containers {
		spec.Containers[i].SecurityContext = own
	}
	for i := range spec.InitContainers {
		spec.InitContainers[i].SecurityContext = own.DeepCopy()
	}
	return nil
}

// admitICMP lets ping work without privilege. In the pod's own network namespace a safe sysctl does that. With the
// node's network, sysctls cannot be set, and ping needs the capability; a capability needs root, because privilege
// escalation is off.
func (s *Set) admitICMP(spec *corev1.PodSpec, d *experiment.Pod, own *corev1.SecurityContext) {
	if !d.HostNetwork {
		spec.SecurityContext.Sysctls = append(spec.SecurityContext.Sysctls, corev1.Sysctl{
			Name: "net.ipv4.ping_group_range", Value: "0 2147483647",
		})
		return
	}
	if len(d.SecurityContext) > 0 {
		return // the user has decided
	}
	root, no := int64(0), false
	own.RunAsUser, own.RunAsGroup, own.RunAsNonRoot = &root, &root, &no
	own.Capabilities = &corev1.Capabilities{
		Drop: []corev1.Capability{"ALL"}, Add: []corev1.Capability{"NET_RAW"},
	}
}

// secureWindows leaves out what only Linux has. A pod with the node's network must be a HostProcess pod.
func (s *Set) secureWindows(spec *corev1.PodSpec, d *experiment.Pod, own *corev1.SecurityContext) {
	spec.SecurityContext = &corev1.PodSecurityContext{}
	if d.HostNetwork {
		spec.SecurityContext.WindowsOptions = &corev1.WindowsSecurityContextOptions{
			HostProcess: new(true), RunAsUserName: new(hostProcessUser),
		}
	} else {
		spec.SecurityContext.RunAsNonRoot = new(true)
	}
	if len(d.SecurityContext) > 0 {
		for i := range spec.Containers {
			spec.Containers[i].SecurityContext = own
		}
	}
}

// podLevel is the level of the Pod Security Standards that a pod needs, as far as nearfar can plan such a pod, and why
// it needs more than restricted: what the pod does, without a subject.
func podLevel(pod *corev1.Pod) (level string, why []string) {
	level = Restricted
	needs := func(l, format string, args ...any) {
		if rank(l) > rank(level) {
			level = l
		}
		why = append(why, fmt.Sprintf(format, args...))
	}
	spec := &pod.Spec
	if spec.HostNetwork {
		needs(Privileged, "uses the node's network (hostNetwork)")
	}
	if w := spec.SecurityContext.WindowsOptions; w != nil && *w.HostProcess { // see secureWindows
		needs(Privileged, "is a HostProcess pod")
	}
	onWindows := spec.OS != nil && spec.OS.Name == experiment.PodWindows
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		containerNeeds(c.SecurityContext, onWindows, needs)
	}
	slices.Sort(why)
	return level, slices.Compact(why)
}

// containerNeeds says what a container needs. The pod's own context passes restricted; a container can ask for more.
func containerNeeds(c *corev1.SecurityContext, onWindows bool, needs func(level, format string, args ...any)) {
	if c == nil {
		c = &corev1.SecurityContext{}
	}
	is := func(b *bool) bool { return b != nil && *b }
	if is(c.Privileged) {
		needs(Privileged, "is privileged")
	}
	if c.ProcMount != nil && *c.ProcMount != corev1.DefaultProcMount {
		needs(Privileged, "sets procMount %s", *c.ProcMount)
	}
	if c.SeccompProfile != nil && c.SeccompProfile.Type == corev1.SeccompProfileTypeUnconfined {
		needs(Privileged, "runs without seccomp")
	}
	var add, drop []corev1.Capability
	if c.Capabilities != nil {
		add, drop = c.Capabilities.Add, c.Capabilities.Drop
	}
	for _, name := range add {
		switch {
		case name == "NET_BIND_SERVICE":
		case slices.Contains(baselineCapabilities(), name):
			needs(Baseline, "has the capability %s", name)
		default:
			needs(Privileged, "has the capability %s", name)
		}
	}
	if onWindows {
		return // the rest is about Linux
	}
	if c.RunAsNonRoot != nil && !*c.RunAsNonRoot || c.RunAsUser != nil && *c.RunAsUser == 0 {
		needs(Baseline, "runs as root")
	}
	if c.AllowPrivilegeEscalation == nil || *c.AllowPrivilegeEscalation {
		needs(Baseline, "allows the escalation of privileges")
	}
	if !slices.Contains(drop, "ALL") {
		needs(Baseline, "does not drop all capabilities")
	}
}

// baselineCapabilities are those that the level baseline lets a container add.
func baselineCapabilities() []corev1.Capability {
	return []corev1.Capability{
		"AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "SETFCAP",
		"SETGID", "SETPCAP", "SETUID", "SYS_CHROOT",
	}
}
