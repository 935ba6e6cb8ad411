package kube

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/onhost/host"
)

// labelEnforce is the label of a namespace that sets its level of Pod Security.
const labelEnforce = "pod-security.kubernetes.io/enforce"

func (s *Set) namespace() *corev1.Namespace {
	labels := s.labels()
	labels[labelEnforce] = s.Level
	return &corev1.Namespace{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
		ObjectMeta: metav1.ObjectMeta{Name: s.Namespace, Labels: labels, Annotations: s.annotations()},
	}
}

// serviceAccount has no rights, and its token is not mounted. It exists so that the pods do not use the namespace's
// default account, which can have rights.
func (s *Set) serviceAccount() *corev1.ServiceAccount {
	return &corev1.ServiceAccount{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
		ObjectMeta: metav1.ObjectMeta{
			Name: s.accountName(), Namespace: s.Namespace, Labels: s.labels(), Annotations: s.annotations(),
		},
		AutomountServiceAccountToken: new(false),
	}
}

func (s *Set) accountName() string { return "nearfar-" + s.Run.ID }

// firstPort is the first of a pod's ports for measuring.
func firstPort(p *experiment.Pod) int { return host.Endpoint{Port: p.Port}.Ports().Data }

// service is the Service through which an arm's client reaches the server. Its ports are those of the pod, so that
// tools that connect twice (control and data) find both. more is nil for nothing.
func (s *Set) service(use Use, p *pair, arm string, more *experiment.ServiceOptions) *corev1.Service {
	service := &corev1.Service{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{
			Name: use.Service, Namespace: s.Namespace, Labels: s.labels(LabelPair, p.name),
			Annotations: s.annotations(arm),
		},
		Spec: corev1.ServiceSpec{
			Selector:       map[string]string{LabelRun: s.Run.ID, LabelPair: p.name, LabelSide: Server},
			Type:           corev1.ServiceTypeClusterIP,
			IPFamilyPolicy: new(corev1.IPFamilyPolicyPreferDualStack),
		},
	}
	switch use.Through {
	case experiment.ThroughHeadless:
		service.Spec.ClusterIP = corev1.ClusterIPNone
	case experiment.ThroughNodePort:
		service.Spec.Type = corev1.ServiceTypeNodePort
	case experiment.ThroughLoadBalancer:
		service.Spec.Type = corev1.ServiceTypeLoadBalancer
	}
	if more != nil {
		maps.Copy(service.Annotations, more.Annotations)
		if more.LoadBalancerClass != "" {
			service.Spec.LoadBalancerClass = &more.LoadBalancerClass
		}
	}
	service.Spec.Ports = s.servicePorts(use.Port, use.Through == experiment.ThroughNodePort)
	return service
}

// measuringPorts is how many ports a host uses.
const measuringPorts = 4

// servicePorts are the ports of a Service that the workloads use: UDP only if one of them does, because many load
// balancers refuse both protocols on one address, and each port costs money at some providers. TCP is always there:
// most tools control their UDP over it. The port of a node is the same as the pod's: a tool that tells its client where
// to send data knows only the pod's.
func (s *Set) servicePorts(first int, onNode bool) []corev1.ServicePort {
	ports, protocols := measuringPorts, []corev1.Protocol{corev1.ProtocolTCP}
	if !s.Run.Background {
		ports = measuringPorts / 2 // the others are for backgrounds
	}
	if s.Run.UDP {
		protocols = append(protocols, corev1.ProtocolUDP)
	}
	var all []corev1.ServicePort
	for i := range ports {
		for _, protocol := range protocols {
			port := corev1.ServicePort{
				Name:     fmt.Sprintf("%s-%d", strings.ToLower(string(protocol)), i),
				Protocol: protocol, Port: int32(first + i), TargetPort: intstr.FromInt32(int32(first + i)),
			}
			if onNode {
				port.NodePort = port.Port
			}
			all = append(all, port)
		}
	}
	return all
}

// networkPolicy lets the pods of the run talk to each other where a policy denies by default. Traffic that comes from
// elsewhere (a node, a load balancer, a host of the file) is allowed only if an arm needs it.
// open are the pairs of pods of arms with experiment.PolicyOpen.
func (s *Set) networkPolicy(arms []experiment.Arm, open []string) *networkingv1.NetworkPolicy {
	own := metav1.LabelSelector{
		MatchLabels: map[string]string{LabelRun: s.Run.ID},
		MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: LabelPair, Operator: metav1.LabelSelectorOpIn, Values: open},
		},
	}
	policy := &networkingv1.NetworkPolicy{
		TypeMeta: metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"},
		ObjectMeta: metav1.ObjectMeta{
			Name: "nearfar-" + s.Run.ID, Namespace: s.Namespace, Labels: s.labels(), Annotations: s.annotations(),
		},
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: own,
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress},
			Ingress: []networkingv1.NetworkPolicyIngressRule{
				{From: []networkingv1.NetworkPolicyPeer{{PodSelector: &own}}},
			},
			// All destinations: Services, nodes and hosts outside the cluster have no labels.
			Egress: []networkingv1.NetworkPolicyEgressRule{{}},
		},
	}
	var ports []networkingv1.NetworkPolicyPort
	var firsts []int
	for _, arm := range arms {
		use := s.Uses[arm.Name]
		if use.ServerPod == nil || !fromElsewhere(use) {
			continue
		}
		first := cmp.Or(use.Port, firstPort(use.ServerPod))
		if slices.Contains(firsts, first) {
			continue
		}
		firsts = append(firsts, first)
		from, to := intstr.FromInt32(int32(first)), int32(first+measuringPorts-1)
		for _, protocol := range []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP} {
			ports = append(ports, networkingv1.NetworkPolicyPort{Protocol: &protocol, Port: &from, EndPort: &to})
		}
	}
	if len(ports) > 0 {
		rule := networkingv1.NetworkPolicyIngressRule{Ports: ports}
		if s.Run.ICMP {
			rule.Ports = nil // a rule with ports does not admit ICMP
		}
		policy.Spec.Ingress = append(policy.Spec.Ingress, rule)
	}
	return policy
}

// fromElsewhere says that packets can reach the server's pod from a source address that no pod of the run has.
func fromElsewhere(use Use) bool {
	return use.ClientPod == nil || use.ClientPod.HostNetwork ||
		use.Through == experiment.ThroughNodePort || use.Through == experiment.ThroughLoadBalancer
}
