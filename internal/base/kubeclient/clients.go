package kubeclient

import (
	"net/http"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	appsv1 "k8s.io/client-go/kubernetes/typed/apps/v1"
	authorizationv1 "k8s.io/client-go/kubernetes/typed/authorization/v1"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	networkingv1 "k8s.io/client-go/kubernetes/typed/networking/v1"
	policyv1 "k8s.io/client-go/kubernetes/typed/policy/v1"
	policyv1beta1 "k8s.io/client-go/kubernetes/typed/policy/v1beta1"
	"k8s.io/client-go/rest"
)

// Clients are the clients of the groups that nearfar uses, also through kubectl's drain library. They share their
// connections. That library wants the interface with the clients of all groups. The other groups are nil here: their
// clients would make the program about 10 MB larger.
type Clients struct {
	kubernetes.Interface
	core          *corev1.CoreV1Client
	apps          *appsv1.AppsV1Client
	authorization *authorizationv1.AuthorizationV1Client
	networking    *networkingv1.NetworkingV1Client
	policy        *policyv1.PolicyV1Client
	policyBeta    *policyv1beta1.PolicyV1beta1Client
	discovery     *discovery.DiscoveryClient
}

// New makes the clients. It connects to nothing yet.
func New(config *rest.Config) (*Clients, error) {
	connections, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	m := maker{config: config, connections: connections}
	c := &Clients{
		core:          made(&m, corev1.NewForConfigAndClient),
		apps:          made(&m, appsv1.NewForConfigAndClient),
		authorization: made(&m, authorizationv1.NewForConfigAndClient),
		networking:    made(&m, networkingv1.NewForConfigAndClient),
		policy:        made(&m, policyv1.NewForConfigAndClient),
		policyBeta:    made(&m, policyv1beta1.NewForConfigAndClient),
		discovery:     made(&m, discovery.NewDiscoveryClientForConfigAndClient),
	}
	if m.err != nil {
		return nil, m.err
	}
	return c, nil
}

// maker makes clients of groups until one fails.
type maker struct {
	config      *rest.Config
	connections *http.Client
	err         error
}

func made[T any](m *maker, group func(*rest.Config, *http.Client) (*T, error)) *T {
	if m.err != nil {
		return nil
	}
	client, err := group(m.config, m.connections)
	m.err = err
	return client
}

// CoreV1 is the client of pods, nodes, services and namespaces.
func (c *Clients) CoreV1() corev1.CoreV1Interface { return c.core }

// AppsV1 is the client of what makes pods.
func (c *Clients) AppsV1() appsv1.AppsV1Interface { return c.apps }

// AuthorizationV1 is the client that says what the user may do.
func (c *Clients) AuthorizationV1() authorizationv1.AuthorizationV1Interface { return c.authorization }

// NetworkingV1 is the client of network policies.
func (c *Clients) NetworkingV1() networkingv1.NetworkingV1Interface { return c.networking }

// PolicyV1 is the client of evictions.
func (c *Clients) PolicyV1() policyv1.PolicyV1Interface { return c.policy }

// PolicyV1beta1 is the client of evictions of old clusters.
func (c *Clients) PolicyV1beta1() policyv1beta1.PolicyV1beta1Interface { return c.policyBeta }

// Discovery is the client that says what the API server knows.
func (c *Clients) Discovery() discovery.DiscoveryInterface { return c.discovery }
