//go:build linux

package kubetest

import (
	"net"
	"net/netip"
	"net/url"
	"strings"

	"golang.org/x/net/dns/dnsmessage"
)

// serviceDomain is the end of the names of Services.
const serviceDomain = ".svc." + clusterDomain + "."

// clusterDomain is the cluster's domain.
const clusterDomain = "cluster.local"

// answerNames answers pods that ask for the addresses of Services, until the socket is closed. It knows IPv4 addresses
// of names such as service.namespace.svc.cluster.local; each question is a question to the API server.
func (c *Cluster) answerNames(socket net.PacketConn) {
	b := make([]byte, 512)
	for {
		n, from, err := socket.ReadFrom(b)
		if err != nil {
			return
		}
		question := append([]byte(nil), b[:n]...)
		go func() {
			// Without a reply the pod asks again. It ends in an error of its own.
			if reply, err := c.answerName(question); err == nil {
				_, _ = socket.WriteTo(reply, from)
			}
		}()
	}
}

// answerName is the reply to a message.
func (c *Cluster) answerName(message []byte) ([]byte, error) {
	var p dnsmessage.Parser
	header, err := p.Start(message)
	if err != nil {
		return nil, err
	}
	q, err := p.Question()
	if err != nil {
		return nil, err
	}
	header.Response, header.Authoritative, header.RecursionAvailable = true, true, true
	addresses, known, err := c.addressesOf(q.Name.String())
	switch {
	case err != nil:
		header.RCode = dnsmessage.RCodeServerFailure
	case !known:
		header.RCode = dnsmessage.RCodeNameError
	}
	out := dnsmessage.NewBuilder(nil, header)
	if err := out.StartQuestions(); err != nil {
		return nil, err
	}
	if err := out.Question(q); err != nil {
		return nil, err
	}
	if err := out.StartAnswers(); err != nil {
		return nil, err
	}
	for _, address := range addresses {
		if q.Type != dnsmessage.TypeA || !address.Is4() {
			continue
		}
		// No name server remembers an answer.
		h := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: 0}
		if err := out.AResource(h, dnsmessage.AResource{A: address.As4()}); err != nil {
			return nil, err
		}
	}
	return out.Finish()
}

// addressesOf are the addresses of a Service, or of the ready pods of one without an address. known says whether the
// name is the name of a Service.
func (c *Cluster) addressesOf(name string) (all []netip.Addr, known bool, err error) {
	labels, ok := strings.CutSuffix(strings.ToLower(name), serviceDomain)
	service, namespace, two := strings.Cut(labels, ".")
	if !ok || !two || strings.Contains(namespace, ".") {
		return nil, false, nil
	}
	var s struct{ Spec struct{ ClusterIP string } }
	known, err = c.read("/api/v1/namespaces/"+url.PathEscape(namespace)+"/services/"+url.PathEscape(service), &s)
	if err != nil || !known {
		return nil, false, err
	}
	if address, err := netip.ParseAddr(s.Spec.ClusterIP); err == nil {
		return []netip.Addr{address}, true, nil
	}
	var slices struct {
		Items []struct {
			Endpoints []struct {
				Addresses  []string
				Conditions struct{ Ready *bool }
			}
		}
	}
	_, err = c.read("/apis/discovery.k8s.io/v1/namespaces/"+url.PathEscape(namespace)+
		"/endpointslices?labelSelector="+url.QueryEscape("kubernetes.io/service-name="+service), &slices)
	if err != nil {
		return nil, true, err
	}
	for _, slice := range slices.Items {
		for _, endpoint := range slice.Endpoints {
			if ready := endpoint.Conditions.Ready; ready != nil && !*ready {
				continue
			}
			for _, text := range endpoint.Addresses {
				if address, err := netip.ParseAddr(text); err == nil {
					all = append(all, address)
				}
			}
		}
	}
	return all, true, nil
}
