package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Provider is what the provider of a cloud said about an instance, to the provider's own command-line program on the
// machine that runs nearfar. A value that the provider did not give is empty.
type Provider struct {
	// Commands are the commands that asked.
	Commands []string `json:"commands,omitempty"`
	// Group is the group in which the instance is: the name of an EC2 placement group or of a placement policy of GCP, or
	// the identifier of a proximity placement group of Azure. It is nil if it is not known, and empty if the instance is
	// in none.
	Group *string `json:"group,omitempty"`
	// Strategy is the strategy of the EC2 placement group: "cluster", "spread" or "partition"; or of the placement policy
	// of GCP: "COLLOCATED" or "spread". State is its state, such as "available" or "READY".
	Strategy string `json:"strategy,omitempty"`
	State    string `json:"state,omitempty"`
	// Colocation is the instance's colocation status in its proximity placement group, GroupColocation the status of
	// the whole group: ColocationAligned, ColocationNotAligned, or another word for one that is not known.
	Colocation      string `json:"colocation,omitempty"`
	GroupColocation string `json:"group_colocation,omitempty"`
	// NetworkNodes are the nodes of EC2's network above the instance, from the top down. The last one is the nearest.
	NetworkNodes []string `json:"network_nodes,omitempty"`
	// Topology and PhysicalHost are where a machine of GCP is.
	Topology     *Topology `json:"topology,omitempty"`
	PhysicalHost string    `json:"physical_host,omitempty"`
	// Accelerated says whether Azure's accelerated networking is configured for all interfaces of Configured. It is nil
	// if that is not known. Configuration does not prove that the guest uses it.
	Accelerated *bool `json:"accelerated_networking,omitempty"`
	// Configured names the machine or the scale set of Accelerated: "scale set aks-linpool-1-vmss". On AKS a scale set
	// is a pool of nodes.
	Configured string `json:"configured,omitempty"`
	// Problem says why some of it is not known.
	Problem string `json:"problem,omitempty"`
}

// The colocation statuses of Azure.
const (
	ColocationAligned    = "Aligned"
	ColocationNotAligned = "NotAligned"
)

// configured says whether the provider has accelerated networking configured; empty if nobody said it.
func (p *Provider) configured() string {
	if p == nil || p.Accelerated == nil {
		return ""
	}
	return fmt.Sprintf("Azure has it configured %s for the %s", p.AcceleratedState(), p.Configured)
}

// AcceleratedState is Accelerated as a word: "on", "off", or empty if it is not known.
func (p *Provider) AcceleratedState() string {
	switch {
	case p.Accelerated == nil:
		return ""
	case *p.Accelerated:
		return "on"
	}
	return "off"
}

// answers are what the provider of a cloud said about both sides. The finding says why one of them is missing.
func (t Trial) answers(cloud string) (client, server *Provider, why *finding) {
	return known(t, func(side string, f *Facts) (*Provider, finding) {
		if f == nil || f.Provider == nil {
			return nil, unknown("%s: the provider was not asked: write ask_providers: [%s] in the experiment file", side,
				cloud)
		}
		return f.Provider, finding{}
	})
}

// problems says why a provider's answers have gaps; empty if they do not say.
func problems(client, server *Provider) string {
	var all []string
	for _, p := range []*Provider{client, server} {
		if p != nil && p.Problem != "" && !slices.Contains(all, p.Problem) {
			all = append(all, p.Problem)
		}
	}
	return strings.Join(all, "; ")
}

// because adds a reason to a text, if there is one.
func because(text, reason string) string {
	if reason == "" {
		return text
	}
	return text + ": " + reason
}

// proximity asks whether both machines are in one proximity placement group of Azure that is in force: the colocation
// status of the group and of the machines is Aligned. Only the provider knows that. A group that is not aligned has no
// effect, so machines in it count neither as in a group nor as outside of groups.
func proximity(t Trial) finding {
	w, x, why := t.where()
	switch {
	case why != nil:
		return *why
	case w.Cloud != CloudAzure || x.Cloud != CloudAzure:
		return unknown("only Azure has proximity placement groups")
	}
	c, s, why := t.answers(CloudAzure)
	if why != nil {
		return unknown("a host does not see its proximity placement group (the metadata service's placementGroupId "+
			"names the group of a scale set), and %s", why.evidence)
	}
	if c.Group == nil || s.Group == nil {
		return unknown("%s", because("the proximity placement group is not known of both sides", problems(c, s)))
	}
	groups := fmt.Sprintf("the client is in %s, the server in %s", proximityName(*c.Group), proximityName(*s.Group))
	if *c.Group == "" || !strings.EqualFold(*c.Group, *s.Group) {
		return verdict(false, "%s", groups)
	}
	status := fmt.Sprintf("%s; colocation status of the group: %s, client: %s, server: %s", groups,
		cmp.Or(c.GroupColocation, "not told"), cmp.Or(c.Colocation, "not told"), cmp.Or(s.Colocation, "not told"))
	aligned := func(status string) bool { return status == ColocationAligned }
	switch {
	case c.Colocation == ColocationNotAligned || s.Colocation == ColocationNotAligned:
		f := verdict(false, "%s", status)
		f.partly = true
		return f
	case aligned(c.GroupColocation) && aligned(s.GroupColocation) &&
		aligned(cmp.Or(c.Colocation, ColocationAligned)) && aligned(cmp.Or(s.Colocation, ColocationAligned)):
		return verdict(true, "%s", status)
	}
	return unknown("%s", because(status, problems(c, s)))
}

// proximityName is the last part of a group's identifier.
func proximityName(id string) string {
	if id == "" {
		return "no proximity placement group"
	}
	return fmt.Sprintf("the group %q", id[strings.LastIndexByte(id, '/')+1:])
}

// group is the EC2 placement group of a side: what the metadata service and the provider say. It is nil if neither says
// anything or if they contradict each other, which the text says.
func (f *Facts) group() (group *string, contradiction string) {
	local := f.Where.PlacementGroup
	if f.Provider == nil || f.Provider.Group == nil {
		return local, ""
	}
	said := f.Provider.Group
	if local != nil && *local != *said {
		return nil, fmt.Sprintf("the metadata service names the group %q, the provider %q", *local, *said)
	}
	return said, ""
}

// placementGroup expects that both instances are in one placement group of EC2, or have one placement policy of GCP,
// which only the provider knows. It proves the membership only. The group's strategy is in the evidence if the provider
// was asked, because the name does not show it.
func placementGroup(t Trial, e Expectation) finding {
	c, s, why := t.where()
	if why != nil {
		return *why
	}
	switch {
	case c.Cloud == CloudGCP && s.Cloud == CloudGCP:
		if _, _, why := t.answers(CloudGCP); why != nil {
			return unknown("a host does not see its placement policy, and %s", why.evidence)
		}
	case c.Cloud != CloudAWS || s.Cloud != CloudAWS:
		return unknown("only EC2 and GCP name placement groups")
	}
	client, contradiction := t.Client.Facts.group()
	server, other := t.Server.Facts.group()
	p, q := t.Client.Facts.Provider, t.Server.Facts.Provider
	switch {
	case contradiction != "" || other != "":
		return unknown("%s", cmp.Or(contradiction, other))
	case client == nil || server == nil:
		f := lacks("the placement group", c, s)
		f.evidence = because(f.evidence, problems(p, q))
		return f
	}
	yes := *client != "" && *client == *server
	if want, named := e.Value.(string); named {
		yes = yes && *client == want
	}
	// Another account or region can have a group of the same name. The provider names groups of its caller's account
	// alone.
	oneAccount := c.Account != "" && c.Account == s.Account ||
		p != nil && q != nil && p.Group != nil && q.Group != nil
	if yes && (c.Region == "" || c.Region != s.Region || !oneAccount) {
		return unknown("both are in a group %q, and it is not known whether it is the same one", *client)
	}
	return verdict(yes, "the client is in the group %q, the server in %q; %s", *client, *server, strategy(p, q))
}

// strategy says how the group of two instances places them, as far as the provider said.
func strategy(client, server *Provider) string {
	if client == nil || server == nil || client.Strategy == "" || client.Strategy != server.Strategy {
		return because("the name does not tell the strategy", problems(client, server))
	}
	text := "its strategy is " + client.Strategy
	if client.State != "available" && client.State != "READY" {
		text += ", its state " + cmp.Or(client.State, "not told")
	}
	if n := sharedNodes(client.NetworkNodes, server.NetworkNodes); n >= 0 {
		text += fmt.Sprintf("; they share %d of %d network nodes", n, len(client.NetworkNodes))
	}
	return text
}

// sharedNodes is how many network nodes two instances share from the top down; -1 if it is not known.
func sharedNodes(a, b []string) int {
	if len(a) == 0 || len(a) != len(b) {
		return -1
	}
	n := 0
	for n < len(a) && a[n] == b[n] {
		n++
	}
	return n
}

// topology is the physical topology of a machine of GCP: what the metadata service and the provider say. It is nil if
// neither says enough or if they contradict each other, which the text says.
func (f *Facts) topology() (topology *Topology, contradiction string) {
	complete := func(t *Topology) bool { return t != nil && t.Cluster != "" && t.Block != "" }
	local := f.Where.Topology
	if f.Provider == nil || !complete(f.Provider.Topology) {
		if !complete(local) {
			return nil, ""
		}
		return local, ""
	}
	said := f.Provider.Topology
	if complete(local) && (local.Cluster != said.Cluster || local.Block != said.Block) {
		return nil, fmt.Sprintf("the metadata service names the block %s of %s, the provider %s of %s", local.Block,
			local.Cluster, said.Block, said.Cluster)
	}
	return said, ""
}

// compactPlacement asks whether both machines are near each other in the provider's own topology. On GCP that is one
// block, as a compact placement policy wants it. On EC2 it is one lowest network node (DescribeInstanceTopology).
func compactPlacement(t Trial) finding {
	c, s, why := t.where()
	switch {
	case why != nil:
		return *why
	case c.Cloud != s.Cloud:
		return verdict(false, "the client is in %s, the server in %s", c.Cloud, s.Cloud)
	case c.Cloud == CloudAWS:
		return oneNetworkNode(t)
	case c.Cloud != CloudGCP:
		return unknown("only GCP and EC2 tell where a machine is in their topology")
	}
	client, contradiction := t.Client.Facts.topology()
	server, other := t.Server.Facts.topology()
	switch {
	case contradiction != "" || other != "":
		return unknown("%s", cmp.Or(contradiction, other))
	case client == nil || server == nil:
		f := lacks("the physical topology", c, s)
		f.evidence = because(f.evidence, problems(t.Client.Facts.Provider, t.Server.Facts.Provider))
		return f
	}
	return verdict(client.Cluster == server.Cluster && client.Block == server.Block,
		"the client is in block %s of %s, the server in block %s of %s", client.Block, client.Cluster, server.Block,
		server.Cluster)
}

// oneNetworkNode asks whether two instances of EC2 are below the same lowest node of its network.
func oneNetworkNode(t Trial) finding {
	c, s, why := t.answers(CloudAWS)
	if why != nil {
		return *why
	}
	n := sharedNodes(c.NetworkNodes, s.NetworkNodes)
	if n < 0 {
		return unknown("%s", because("the network nodes are not known of both sides", problems(c, s)))
	}
	all := len(c.NetworkNodes)
	if n < all && c.NetworkNodes[all-1] == s.NetworkNodes[all-1] {
		return unknown("the same lowest network node is below different ones: that is no tree")
	}
	return verdict(n == all, "they share %d of %d network nodes; the lowest one is %s for the client, %s for the "+
		"server", n, all, c.NetworkNodes[all-1], s.NetworkNodes[all-1])
}
