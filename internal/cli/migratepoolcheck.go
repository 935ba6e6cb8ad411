package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"nearfar/internal/cloud/pool"
	"nearfar/internal/cloud/pool/aks"
	"nearfar/internal/declare/check"
	"nearfar/internal/declare/experiment"
	experimentfile "nearfar/internal/declare/experiment/file"
	"nearfar/internal/measure/deploy"
	"nearfar/internal/measure/tool"
)

// poolFindings asks what can be known of the accelerated networking of a new pool: the scale set through az, and the
// devices of one of its nodes through a pod. Other clouds have no such feature to ask for.
func (a *app) poolFindings(
	ctx context.Context, o *poolOptions, m *pool.Migration, nodes []pool.NewNode,
) []pool.Finding {
	at := slices.IndexFunc(nodes, func(n pool.NewNode) bool { return n.Ready })
	if at < 0 {
		return []pool.Finding{{Source: m.State.New.String(), On: pool.Unknown, Evidence: "none of its nodes is ready"}}
	}
	node := nodes[at]
	p, azure := m.Provider.(*aks.Provider)
	if !azure && !strings.HasPrefix(node.ProviderID, "azure://") {
		return []pool.Finding{{Source: "node " + node.Name, On: pool.Unknown, Evidence: "it is not a machine of Azure"}}
	}
	var all []pool.Finding
	if azure {
		all = append(all, p.ScaleSet(ctx, node.ProviderID))
	}
	if !o.skipGuest {
		all = append(all, a.guestFinding(ctx, o.kubeconfig, m.State.Context, node))
	}
	return all
}

// nodeExperiment is two pods in the network of one node. Nothing is measured with it.
const nodeExperiment = `nearfar: v1
name: node
arms:
  node:
    kubernetes:
      context: %[1]q
      nodes: same
      client: {node: %[2]q, hostNetwork: true, resources: {}, tolerations: [{operator: Exists}]}
      server: {node: %[2]q, hostNetwork: true, resources: {}, tolerations: [{operator: Exists}]}
    layers: {}
workloads: [{name: rr, tool: native, mode: rr}]
`

// guestFinding reads the network devices of a node, in pods that are deleted at once.
func (a *app) guestFinding(ctx context.Context, kubeconfig, context string, node pool.NewNode) pool.Finding {
	f := pool.Finding{Source: "guest of node " + node.Name, On: pool.Unknown}
	if node.OS != "" && node.OS != experiment.PodLinux {
		f.Evidence = "the devices of nodes with " + node.OS + " are not read"
		return f
	}
	facts, err := nodeFacts(ctx, kubeconfig, context, node.Name)
	if err != nil {
		f.Evidence = "its devices cannot be read: " + err.Error()
		return f
	}
	outcome, evidence := facts.AcceleratedDevices()
	f.Evidence = evidence
	switch outcome {
	case check.Proved:
		f.On = pool.On
	case check.Refuted:
		f.On = pool.Off
	}
	return f
}

// nodeFacts reads the facts of a node.
func nodeFacts(ctx context.Context, kubeconfig, context, node string) (facts *check.Facts, err error) {
	text := fmt.Sprintf(nodeExperiment, context, node)
	e, err := experimentfile.Parse("(from the node)", []byte(text), tool.Declared())
	if err != nil {
		return nil, err
	}
	hosts, err := deploy.Up(ctx, e, deploy.Options{Kubeconfig: kubeconfig, Step: func(string, ...any) {}})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, hosts.Close()) }()
	found, err := hosts.HostFacts(ctx)
	for _, h := range found {
		if h.Facts != nil {
			return h.Facts, nil
		}
	}
	return nil, err
}
