package kube

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/user"
	"time"

	"k8s.io/client-go/discovery"
	authorizationv1 "k8s.io/client-go/kubernetes/typed/authorization/v1"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	networkingv1 "k8s.io/client-go/kubernetes/typed/networking/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"

	"nearfar/internal/base/clean"
	"nearfar/internal/base/kubeclient"
)

// Cluster is a connection to the API server of one context.
type Cluster struct {
	// Context is the name of the context, for messages.
	Context string
	client  api
	limits  limits
	// exec runs a command in a container until it ends or ctx does; tests replace it.
	exec func(ctx context.Context, at place, argv []string, streams remotecommand.StreamOptions) error
}

// api is the part of the API that pods need.
type api interface {
	CoreV1() corev1.CoreV1Interface
	NetworkingV1() networkingv1.NetworkingV1Interface
	AuthorizationV1() authorizationv1.AuthorizationV1Interface
	Discovery() discovery.DiscoveryInterface
}

// place is a container.
type place struct{ namespace, pod, container string }

const (
	// requestLimit bounds one request, without watches and exec streams.
	requestLimit = 20 * time.Second
	// dialLimit bounds how long an exec stream may take until its program answers: a container runtime on a busy node
	// needs seconds.
	dialLimit = 30 * time.Second
)

// Open reads the kubeconfig. It connects to nothing yet. context is a resolved name.
func Open(file, context string) (*Cluster, error) {
	config, err := kubeclient.Config(file, context)
	if err != nil {
		return nil, err
	}
	return newCluster(config, context, limits{})
}

// limits bound how long nearfar waits for a cluster; zero values stand for the defaults.
type limits struct {
	// answer bounds one request, dial how long an exec stream may take until its program answers, install one copy of
	// the agent.
	answer, dial, install time.Duration
}

func newCluster(config *rest.Config, context string, l limits) (*Cluster, error) {
	forRequests := rest.CopyConfig(config)
	forRequests.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return &guard{next, cmp.Or(l.answer, requestLimit)}
	})
	client, err := kubeclient.New(forRequests)
	if err != nil {
		return nil, fmt.Errorf("context %s: %w", clean.Line(context), err)
	}
	c := &Cluster{Context: context, client: client, limits: l}
	c.exec = execer(config, client)
	return c, nil
}

// version is the version of the API server; empty if it does not say.
func (c *Cluster) version() string {
	v, err := c.client.Discovery().ServerVersion()
	if err != nil {
		return ""
	}
	return clean.Line(v.GitVersion)
}

// Owner is "user@host" of who runs this program.
func Owner() string {
	name := "unknown"
	if u, err := user.Current(); err == nil && u.Username != "" {
		name = u.Username
	}
	machine, err := os.Hostname()
	if err != nil {
		machine = "unknown"
	}
	return clean.Line(name + "@" + machine)
}
