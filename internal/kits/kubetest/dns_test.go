//go:build linux

package kubetest

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"
)

// Pods find Services by their names: the address of the Service, or those of its pods if it has none.
func names(t *testing.T, c *Cluster) {
	c.Apply(`{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "headless"},
"spec": {"clusterIP": "None", "selector": {"app": "one"}}}`)
	resolver := net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return c.Dial(ctx, network, controlAddress+":53")
	}}
	for name, want := range map[string]string{
		"one.default.svc.cluster.local.":      c.Kubectl("get", "service", "one", "-o", "jsonpath={.spec.clusterIP}"),
		"headless.default.svc.cluster.local.": podIP(c, "one"),
		"none.default.svc.cluster.local.":     "",
		"example.com.":                        "",
	} {
		if want == "" {
			if got, err := resolver.LookupHost(t.Context(), name); err == nil {
				t.Errorf("%s is %q", name, got)
			}
			continue
		}
		// A Service knows its pods a moment after they are ready.
		err := c.wait("the address of "+name, time.Minute, nil, func() error {
			got, err := resolver.LookupHost(t.Context(), name)
			if err == nil && !slices.Equal(got, []string{want}) {
				err = fmt.Errorf("it is %q; want %q", got, want)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	out := c.Kubectl("exec", "one", "--", "nslookup", "headless.default.svc.cluster.local")
	if !slices.Contains(strings.Fields(out), podIP(c, "one")) {
		t.Errorf("nslookup in a pod: %s", out)
	}
}
