package kube

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nearfar/internal/base/clean"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/onhost/host"
)

// Resolver finds the addresses of a name on the client's host.
type Resolver func(ctx context.Context, name string) ([]string, error)

// Through is where an arm's client dials its server. It waits until the Service has an address that leads to the pod,
// at most for Set.Ready.
func (d *Deployed) Through(ctx context.Context, use Use, resolve Resolver) (host.Addresses, error) {
	whole, limit := ctx, cmp.Or(d.Set.Ready, experiment.DefaultPodReady)
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
	begun, quiet := time.Now(), false
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
		if use.Through == experiment.ThroughLoadBalancer && !quiet && time.Since(begun) > d.balancerQuiet {
			quiet = true
			said, known := d.cluster.eventsOf(ctx, d.Set.Namespace, use.Service)
			if known && len(said) == 0 {
				return host.Addresses{}, fmt.Errorf("service %s (%s): after %v no controller of load balancers has said "+
					"anything about it: the cluster has none, or none for its loadBalancerClass", use.Service, use.Through,
					d.balancerQuiet)
			}
			if len(said) > 0 {
				d.note(fmt.Sprintf("waiting: Service %s: %s", use.Service, clean.Line(said[len(said)-1])))
			}
		}
		if !pause(ctx, pauseGone) {
			text := fmt.Sprintf("Service %s (%s) got no address within %v", use.Service, use.Through, limit)
			if use.Through == experiment.ThroughLoadBalancer {
				text += ": the cluster needs a controller of load balancers"
				if d.Set.Run.UDP {
					text += " that serves TCP and UDP on the same address"
				}
				said, _ := d.cluster.eventsOf(whole, d.Set.Namespace, use.Service)
				if len(said) > 0 {
					text += "; it said: " + clean.Line(said[len(said)-1])
				}
			}
			if why != nil {
				return host.Addresses{}, fmt.Errorf("%s: %w", text, why)
			}
			return host.Addresses{}, fmt.Errorf("%s", text)
		}
	}
}

// balancerQuiet is how long a controller of load balancers may say nothing about a new Service. Those of the clouds
// write an event as soon as they see it.
const balancerQuiet = 30 * time.Second

// eventsOf are the messages of the events of a Service, the oldest first; false if the user may not see them.
func (c *Cluster) eventsOf(ctx context.Context, namespace, service string) (said []string, known bool) {
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	events, known := c.events(ctx, namespace, service)
	slices.SortFunc(events, func(a, b corev1.Event) int {
		return a.LastTimestamp.Compare(b.LastTimestamp.Time)
	})
	for _, e := range events {
		if e.InvolvedObject.Name == service {
			said = append(said, e.Reason+": "+e.Message)
		}
	}
	return said, known
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
