package kube

import (
	"context"
	"fmt"
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nearfar/internal/clean"
	"nearfar/internal/experiment"
	"nearfar/internal/host"
)

// Resolver finds the addresses of a name on the client's host.
type Resolver func(ctx context.Context, name string) ([]string, error)

// Through is where an arm's client dials its server. It waits until the Service has an address that leads to the pod,
// at most for Set.Ready.
func (d *Deployed) Through(ctx context.Context, use Use, resolve Resolver) (host.Addresses, error) {
	limit := d.Set.Ready
	if limit <= 0 {
		limit = experiment.DefaultPodReady
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	switch use.Through {
	case experiment.ThroughPod:
		return d.Addresses(use.Server, use.ServerPod)
	case experiment.ThroughNodePort:
		return d.NodeAddresses(use.Server), nil
	case experiment.ThroughHeadless:
		return d.headless(ctx, use, resolve)
	}
	var why error
	for {
		service, err := d.cluster.client.CoreV1().Services(d.Set.Namespace).Get(ctx, use.Service, metav1.GetOptions{})
		if err == nil {
			var a host.Addresses
			if a, err = serviceAddresses(ctx, service, resolve); err == nil && a != (host.Addresses{}) {
				return a, nil
			}
		}
		if err != nil && ctx.Err() == nil {
			why = err
		}
		if !pause(ctx, pauseGone) {
			text := fmt.Sprintf("Service %s (%s) got no address within %v", use.Service, use.Through, limit)
			if use.Through == experiment.ThroughLoadBalancer {
				text += ": the cluster needs a load balancer that serves TCP and UDP on the same address"
			}
			if why != nil {
				return host.Addresses{}, fmt.Errorf("%s: %w", text, why)
			}
			return host.Addresses{}, fmt.Errorf("%s", text)
		}
	}
}

// serviceAddresses are the addresses of a Service; none if it has none yet.
func serviceAddresses(ctx context.Context, s *corev1.Service, resolve Resolver) (host.Addresses, error) {
	if s.Spec.Type != corev1.ServiceTypeLoadBalancer {
		return firstOfEach(append(s.Spec.ClusterIPs, s.Spec.ClusterIP)), nil
	}
	var texts []string
	for _, at := range s.Status.LoadBalancer.Ingress {
		if at.IP != "" {
			texts = append(texts, at.IP)
		}
		if at.Hostname == "" {
			continue
		}
		resolved, err := resolve(ctx, at.Hostname)
		if err != nil {
			return host.Addresses{}, err
		}
		texts = append(texts, resolved...)
	}
	return firstOfEach(texts), nil
}

// headless resolves the name of a headless Service on the client's host, until it leads to the server's pod.
func (d *Deployed) headless(ctx context.Context, use Use, resolve Resolver) (host.Addresses, error) {
	name := use.Service + "." + d.Set.Namespace + ".svc"
	wanted, err := d.Addresses(use.Server, use.ServerPod)
	if err != nil {
		return wanted, err
	}
	var why error
	for {
		found, err := resolve(ctx, name)
		if err == nil {
			a := firstOfEach(found)
			if a != (host.Addresses{}) && (a.V4 == wanted.V4 || a.V6 == wanted.V6 && a.V6.IsValid()) {
				return a, nil
			}
			err = fmt.Errorf("it gives %s", clean.Line(strings.Join(found, ", ")))
		}
		if ctx.Err() == nil {
			why = err
		}
		// A resolver answers from its cache for some seconds that the name does not exist.
		if !pause(ctx, 5*pauseGone) {
			return host.Addresses{}, fmt.Errorf("the name %s does not lead to pod %s from the client's host: %w", name,
				use.Server, why)
		}
	}
}

// ParseResolved reads what the verb resolve prints: an address a line.
func ParseResolved(printed string) (addresses []string) {
	for line := range strings.Lines(printed) {
		if a, err := netip.ParseAddr(strings.TrimSpace(line)); err == nil {
			addresses = append(addresses, a.Unmap().String())
		}
	}
	return addresses
}
