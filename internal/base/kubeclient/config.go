// Package kubeclient makes clients of the API server of a Kubernetes cluster from the user's kubeconfig.
package kubeclient

import (
	"errors"
	"flag"
	"fmt"
	"io"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"nearfar/internal/base/clean"
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
	if err := Silence(); err != nil {
		return nil, err
	}
	config.QPS, config.Burst, config.UserAgent = requestRate, requestBurst, "nearfar"
	config.WarningHandler = rest.NoWarnings{}
	return config, nil
}

// Silence discards what client-go logs, in the whole process: its logger is a global variable. It would print
// into the middle of the progress, for example when an exec stream ends. What matters comes as errors too. Fatal
// messages are still printed.
//
// The flags of the logger may be set while other goroutines log, unlike its Logger. Without the threshold, errors would
// be printed in addition to the discarded log.
func Silence() error {
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	klog.SetOutput(io.Discard)
	return errors.Join(flags.Set("logtostderr", "false"), flags.Set("alsologtostderr", "false"),
		flags.Set("stderrthreshold", "FATAL"))
}
