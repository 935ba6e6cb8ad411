package preflight

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"nearfar/internal/cloud/cloudtool"
)

// OfVariables reads what scripts or an app make, from the variables that the experiment file gives them: the size and
// the place of the machines. machines is how many hosts the file declares. What else is made is not known.
func OfVariables(value func(name string) string, machines int, environment func(name string) string) Wants {
	unknown := []string{"a script does not say before it runs what it makes: the machines and their addresses are those " +
		"of the hosts and the variables of the file"}
	p := Place{Counts: map[string]int{}}
	m := Machine{Count: max(machines, 1)}
	switch {
	case value("size") != "" && value("location") != "":
		p.Provider, p.Region = Azure, strings.ToLower(strings.ReplaceAll(value("location"), " ", ""))
		p.Part, m.Size, m.Zone, m.Image = environment("ARM_SUBSCRIPTION_ID"), value("size"), value("zone"), value("image")
		p.Types = []string{
			"azurerm_linux_virtual_machine", "azurerm_network_interface", "azurerm_public_ip", "azurerm_resource_group",
			"azurerm_subnet", "azurerm_virtual_network",
		}
		p.Counts = map[string]int{kindAddress: m.Count, kindInterface: m.Count, kindNetwork: 1}
		if strings.Count(m.Image, ":") != 3 {
			m.Image = "" // an alias such as Ubuntu2404
		}
	case value("instance_type") != "":
		p.Provider, p.Region = AWS, cmp.Or(value("region"), environment("AWS_REGION"), environment("AWS_DEFAULT_REGION"))
		m.Size, m.Zone = value("instance_type"), value("zone")
		p.Types = []string{"aws_instance"}
	case value("machine_type") != "" && strings.Count(value("zone"), "-") == 2:
		p.Provider, p.Part = Google, cmp.Or(value("project"), environment("GOOGLE_PROJECT"))
		m.Size, m.Zone, m.Public = value("machine_type"), value("zone"), true
		p.Region = m.Zone[:strings.LastIndex(m.Zone, "-")]
		p.Types = []string{"google_compute_instance"}
	default:
		return Wants{Unknown: []string{"the file does not say what the script makes: give it the variables size and " +
			"location (Azure), instance_type and region (AWS), or machine_type and zone (Google Cloud)"}}
	}
	if strings.Contains(m.Zone, "[") || p.Provider == AWS && len(m.Zone) < 3 {
		m.Zone = "" // a list, or the letter of a zone
	}
	m.Resource = "a machine of the script"
	p.Machines = []Machine{m}
	return Wants{Places: []Place{p}, Unknown: unknown}
}

// OfTemplate reads what a template of CloudFormation makes in a region.
func OfTemplate(text []byte, region string) (Wants, error) {
	var template struct {
		Resources map[string]struct {
			Type       string
			Properties map[string]any
		}
	}
	if err := json.Unmarshal(text, &template); err != nil {
		return Wants{}, fmt.Errorf("the template: %w", err)
	}
	kinds := map[string]string{
		"AWS::EC2::Instance": "aws_instance", "AWS::EC2::VPC": "aws_vpc", "AWS::EC2::EIP": "aws_eip",
		"AWS::EC2::InternetGateway": "aws_internet_gateway", "AWS::EC2::PlacementGroup": "aws_placement_group",
		"AWS::EC2::SecurityGroup": "aws_security_group", "AWS::EKS::Cluster": "aws_eks_cluster",
		"AWS::EKS::Nodegroup": "aws_eks_node_group", "AWS::IAM::Role": "aws_iam_role",
	}
	p := Place{Provider: AWS, Region: region, Counts: map[string]int{}}
	for name, r := range template.Resources {
		kind := kinds[r.Type]
		if kind == "" {
			continue
		}
		p.Types = append(p.Types, kind)
		if counts := counted()[kind]; counts != "" {
			p.Counts[counts]++
		}
		m := Machine{Resource: name, Count: 1}
		switch kind {
		case "aws_instance":
			m.Size, m.Placed = cloudtool.TextAt(r.Properties, "InstanceType"), is(r.Properties["PlacementGroupName"])
			m.Zone = cloudtool.TextAt(r.Properties, "AvailabilityZone")
			if image := cloudtool.TextAt(r.Properties, "ImageId"); strings.HasPrefix(image, "ami-") {
				m.Image = image
			}
		case "aws_eks_node_group":
			m.Size, m.Node = cloudtool.TextAt(r.Properties, "InstanceTypes.0"), true
			m.System = cloudtool.TextAt(r.Properties, "AmiType")
			m.Count = number(r.Properties, "ScalingConfig.DesiredSize")
		case "aws_eks_cluster":
			p.Clusters = append(p.Clusters, cloudtool.TextAt(r.Properties, "Version"))
		case "aws_placement_group":
			p.Groups = append(p.Groups, cloudtool.TextAt(r.Properties, "Strategy"))
		}
		if m.Size != "" {
			p.Machines = append(p.Machines, m)
		}
	}
	slices.Sort(p.Types)
	p.Types = slices.Compact(p.Types)
	slices.SortFunc(p.Machines, func(a, b Machine) int { return strings.Compare(a.Resource, b.Resource) })
	if len(p.Types) == 0 {
		return Wants{Unknown: []string{"the template has nothing that nearfar can ask about"}}, nil
	}
	return Wants{Places: []Place{p}, Unknown: []string{
		"a template is compared as a whole: of stacks that are there, parts can exist already",
	}}, nil
}
