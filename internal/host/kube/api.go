package kube

import (
	"k8s.io/client-go/discovery"
	authorizationv1 "k8s.io/client-go/kubernetes/typed/authorization/v1"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	networkingv1 "k8s.io/client-go/kubernetes/typed/networking/v1"
	"k8s.io/client-go/rest"
)

// api is the part of the API that nearfar uses. The set of all clients, which the library also has, would make the
// program about 10 MB larger.
type api interface {
	CoreV1() corev1.CoreV1Interface
	NetworkingV1() networkingv1.NetworkingV1Interface
	AuthorizationV1() authorizationv1.AuthorizationV1Interface
	Discovery() discovery.DiscoveryInterface
}

// clients are real clients, which share their connections.
type clients struct {
	core          *corev1.CoreV1Client
	networking    *networkingv1.NetworkingV1Client
	authorization *authorizationv1.AuthorizationV1Client
	discovery     *discovery.DiscoveryClient
}

func newClients(config *rest.Config) (*clients, error) {
	transport, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	c := &clients{}
	if c.core, err = corev1.NewForConfigAndClient(config, transport); err != nil {
		return nil, err
	}
	if c.networking, err = networkingv1.NewForConfigAndClient(config, transport); err != nil {
		return nil, err
	}
	if c.authorization, err = authorizationv1.NewForConfigAndClient(config, transport); err != nil {
		return nil, err
	}
	c.discovery, err = discovery.NewDiscoveryClientForConfigAndClient(config, transport)
	return c, err
}

func (c *clients) CoreV1() corev1.CoreV1Interface                            { return c.core }
func (c *clients) NetworkingV1() networkingv1.NetworkingV1Interface          { return c.networking }
func (c *clients) AuthorizationV1() authorizationv1.AuthorizationV1Interface { return c.authorization }
func (c *clients) Discovery() discovery.DiscoveryInterface                   { return c.discovery }
