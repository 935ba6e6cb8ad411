package kube

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/user"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/klog/v2"

	"nearfar/internal/clean"
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

// place is a container.
type place struct{ namespace, pod, container string }

const (
	// requestLimit bounds one request, without watches and exec streams.
	requestLimit = 20 * time.Second
	// dialLimit bounds how long an exec stream may take until its program answers: a container runtime on a busy node
	// needs seconds.
	dialLimit = 30 * time.Second
)

// The client's own limit of requests, in requests per second. The default of the library is 5, which would delay the
// start of a run by seconds.
const (
	requestRate  = 50
	requestBurst = 100
)

// kubeconfig reads the files as kubectl does: file if it is given, else $KUBECONFIG, else ~/.kube/config.
func kubeconfig(file, context string) clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = file
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules,
		&clientcmd.ConfigOverrides{CurrentContext: context})
}

// inCluster is the name of the context of a nearfar that runs in a pod and has no kubeconfig.
const inCluster = "in-cluster"

// Resolve gives the name of a context: the current one of the kubeconfig if context is empty.
func Resolve(file, context string) (string, error) {
	raw, err := kubeconfig(file, context).RawConfig()
	if err != nil {
		return "", configError(err)
	}
	if context == "" {
		context = raw.CurrentContext
	}
	if context == "" && len(raw.Contexts) == 0 {
		if _, err := rest.InClusterConfig(); err == nil {
			return inCluster, nil
		}
		return "", configError(clientcmd.ErrEmptyConfig)
	}
	if context == "" {
		return "", errors.New("the kubeconfig has no current context: name one with context:, or run `kubectl config " +
			"use-context NAME`")
	}
	if _, ok := raw.Contexts[context]; !ok {
		return "", fmt.Errorf("the kubeconfig has no context %s", clean.Quote(context))
	}
	return context, nil
}

func configError(err error) error {
	if clientcmd.IsEmptyConfig(err) {
		return errors.New("there is no kubeconfig: give --kubeconfig FILE, or set KUBECONFIG")
	}
	return fmt.Errorf("the kubeconfig cannot be read: %w", err)
}

// Config reads the kubeconfig for clients of any kind. context is a resolved name.
func Config(file, context string) (*rest.Config, error) {
	overridden := context
	if context == inCluster {
		overridden = ""
	}
	config, err := kubeconfig(file, overridden).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("context %s: %w", clean.Line(context), configError(err))
	}
	if err := silenceLibrary(); err != nil {
		return nil, err
	}
	config.QPS, config.Burst, config.UserAgent = requestRate, requestBurst, "nearfar"
	config.WarningHandler = rest.NoWarnings{}
	return config, nil
}

// Open reads the kubeconfig. It connects to nothing yet. context is a resolved name.
func Open(file, context string) (*Cluster, error) {
	config, err := Config(file, context)
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
	client, err := newClients(forRequests)
	if err != nil {
		return nil, fmt.Errorf("context %s: %w", clean.Line(context), err)
	}
	c := &Cluster{Context: context, client: client, limits: l}
	c.exec = execer(config, client)
	return c, nil
}

// silenceLibrary discards what client-go logs, in the whole process: its logger is a global variable. It would print
// into the middle of the progress, for example when an exec stream ends. What matters comes as errors too. Fatal
// messages are still printed.
//
// The flags of the logger may be set while other goroutines log, unlike its Logger. Without the threshold, errors would
// be printed in addition to the discarded log.
func silenceLibrary() error {
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	klog.SetOutput(io.Discard)
	return errors.Join(flags.Set("logtostderr", "false"), flags.Set("alsologtostderr", "false"),
		flags.Set("stderrthreshold", "FATAL"))
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
