package pool

import (
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	appsv1 "k8s.io/client-go/kubernetes/typed/apps/v1"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	policyv1 "k8s.io/client-go/kubernetes/typed/policy/v1"
	policyv1beta1 "k8s.io/client-go/kubernetes/typed/policy/v1beta1"
	"k8s.io/client-go/rest"
)

// clients are the clients that this package and kubectl's drain library use. They share their connections. The library
// wants the interface with the clients of all groups, which is nil here: the clients themselves would make the program
// about 10 MB larger.
type clients struct {
	kubernetes.Interface
	core       *corev1.CoreV1Client
	apps       *appsv1.AppsV1Client
	policy     *policyv1.PolicyV1Client
	policyBeta *policyv1beta1.PolicyV1beta1Client
	discovery  *discovery.DiscoveryClient
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
	if c.apps, err = appsv1.NewForConfigAndClient(config, transport); err != nil {
		return nil, err
	}
	if c.policy, err = policyv1.NewForConfigAndClient(config, transport); err != nil {
		return nil, err
	}
	if c.policyBeta, err = policyv1beta1.NewForConfigAndClient(config, transport); err != nil {
		return nil, err
	}
	c.discovery, err = discovery.NewDiscoveryClientForConfigAndClient(config, transport)
	return c, err
}

func (c *clients) CoreV1() corev1.CoreV1Interface                      { return c.core }
func (c *clients) AppsV1() appsv1.AppsV1Interface                      { return c.apps }
func (c *clients) PolicyV1() policyv1.PolicyV1Interface                { return c.policy }
func (c *clients) PolicyV1beta1() policyv1beta1.PolicyV1beta1Interface { return c.policyBeta }
func (c *clients) Discovery() discovery.DiscoveryInterface             { return c.discovery }
