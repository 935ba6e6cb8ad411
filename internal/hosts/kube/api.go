package kube

import (
	"k8s.io/client-go/discovery"
	authorizationv1 "k8s.io/client-go/kubernetes/typed/authorization/v1"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	networkingv1 "k8s.io/client-go/kubernetes/typed/networking/v1"
)

// api is the part of the API that pods need.
type api interface {
	CoreV1() corev1.CoreV1Interface
	NetworkingV1() networkingv1.NetworkingV1Interface
	AuthorizationV1() authorizationv1.AuthorizationV1Interface
	Discovery() discovery.DiscoveryInterface
}
