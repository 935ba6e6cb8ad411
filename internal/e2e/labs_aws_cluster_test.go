//go:build linux

package e2e

import (
	"encoding/json"
	"slices"
	"strings"
)

// A labCluster has the settings of the cluster of labs/eks-placement-group that must be the same with OpenTofu and with
// the CDK.
type labCluster struct {
	Name, GroupStrategy string
	Authentication      string
	Public, Private     bool
	// Subnets are texts such as "a 10.42.0.0/24 public", sorted. Policies are the policies of both roles, by service.
	Subnets    []string
	Policies   map[string][]string
	NodeGroups map[string]labNodes
	Outputs    []string
	Tags       map[string]string
}

// labNodes is a node group. Zone is the letter of its zone.
type labNodes struct {
	Type, AMI, Capacity, Label, Zone string
	InGroup                          bool
	Min, Desired, Max, HopLimit      float64
	Tokens                           string
	// Tagged are the kinds of resources that the launch template tags.
	Tagged string
}

// clusterOfState reads the cluster from OpenTofu's state.
func (l *awsLab) clusterOfState() labCluster {
	l.t.Helper()
	type cluster struct {
		Name      string
		Tags      map[string]string
		VPCConfig []struct {
			Public  bool `json:"endpoint_public_access"`
			Private bool `json:"endpoint_private_access"`
		} `json:"vpc_config"`
		AccessConfig []struct {
			Mode string `json:"authentication_mode"`
		} `json:"access_config"`
	}
	type subnet struct {
		ID     string
		Zone   string `json:"availability_zone"`
		Block  string `json:"cidr_block"`
		Public bool   `json:"map_public_ip_on_launch"`
	}
	type nodeGroup struct {
		InstanceTypes  []string `json:"instance_types"`
		AMI            string   `json:"ami_type"`
		Capacity       string   `json:"capacity_type"`
		Labels         map[string]string
		SubnetIDs      []string `json:"subnet_ids"`
		LaunchTemplate []struct {
			ID string
		} `json:"launch_template"`
		Scaling []struct {
			Min     float64 `json:"min_size"`
			Desired float64 `json:"desired_size"`
			Max     float64 `json:"max_size"`
		} `json:"scaling_config"`
	}
	type group struct{ Name, Strategy string }
	type attachment struct {
		Policy string `json:"policy_arn"`
	}
	type role struct {
		Assume string `json:"assume_role_policy"`
	}
	of := instances[cluster](l, "aws_eks_cluster")[""]
	placement := instances[group](l, "aws_placement_group")[""]
	c := labCluster{
		Name: of.Name, GroupStrategy: placement.Strategy, Authentication: of.AccessConfig[0].Mode,
		Public: of.VPCConfig[0].Public, Private: of.VPCConfig[0].Private, Policies: map[string][]string{},
		NodeGroups: map[string]labNodes{}, Tags: of.Tags,
	}
	for name := range l.outputs() {
		c.Outputs = append(c.Outputs, name)
	}
	slices.Sort(c.Outputs)
	zones := map[string]string{}
	for _, r := range l.state() {
		if r.Type != "aws_subnet" {
			continue
		}
		for _, i := range r.Instances {
			var s subnet
			if err := json.Unmarshal(i.Attributes, &s); err != nil {
				l.t.Fatal(err)
			}
			zone := s.Zone[len(s.Zone)-1:]
			zones[s.ID] = zone
			c.Subnets = append(c.Subnets, subnetText(zone, s.Block, s.Public))
		}
	}
	slices.Sort(c.Subnets)
	for key, a := range instances[attachment](l, "aws_iam_role_policy_attachment") {
		service := "ec2"
		if key == "AmazonEKSClusterPolicy" {
			service = "eks"
		}
		c.Policies[service] = append(c.Policies[service], a.Policy[strings.LastIndex(a.Policy, "/")+1:])
	}
	for service, r := range instances[role](l, "aws_iam_role") {
		if !strings.Contains(r.Assume, service+".amazonaws.com") {
			l.t.Errorf("the role %s is taken by %s", service, r.Assume)
		}
		slices.Sort(c.Policies[service])
	}
	templates := instances[launchTemplate](l, "aws_launch_template")
	for name, g := range instances[nodeGroup](l, "aws_eks_node_group") {
		template := templates[name]
		if len(g.LaunchTemplate) != 1 || g.LaunchTemplate[0].ID != template.ID || len(g.SubnetIDs) != 1 {
			l.t.Errorf("the node group %s has the launch templates %v and subnets %v", name, g.LaunchTemplate,
				g.SubnetIDs)
			continue
		}
		var tagged []string
		for _, s := range template.TagSpecifications {
			tagged = append(tagged, s.ResourceType)
		}
		c.NodeGroups[name] = labNodes{
			Type: strings.Join(g.InstanceTypes, " "), AMI: g.AMI, Capacity: g.Capacity,
			Label: g.Labels["placementGroup"], Zone: zones[g.SubnetIDs[0]],
			InGroup: len(template.Placement) == 1 && template.Placement[0].GroupName == placement.Name,
			Min:     g.Scaling[0].Min, Desired: g.Scaling[0].Desired, Max: g.Scaling[0].Max,
			HopLimit: template.MetadataOptions[0].HopLimit, Tokens: template.MetadataOptions[0].HTTPTokens,
			Tagged: strings.Join(tagged, " "),
		}
	}
	return c
}

// subnetText describes a subnet in a line.
func subnetText(zone, block string, public bool) string {
	if public {
		return zone + " " + block + " public"
	}
	return zone + " " + block
}
