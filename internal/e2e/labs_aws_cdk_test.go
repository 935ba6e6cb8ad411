//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"nearfar/internal/kits/moduleroot"
	"nearfar/internal/kits/pythontest"
)

const cdkExpires = "2026-11-21T19:22:00Z"

// synthesised builds the CDK's app of labs/eks-placement-group and gives the file of its template.
func synthesised(t *testing.T, owner string) string {
	t.Helper()
	source := filepath.Join("..", "..", "labs", "eks-placement-group", "cdk")
	folder, err := moduleroot.Built("cdk", "labs/eks-placement-group/cdk/package.json",
		"labs/eks-placement-group/cdk/package-lock.json")
	if err != nil {
		t.Fatalf("%v; scripts/cdk.sh installs it", err)
	}
	installed := filepath.Join(folder, "node_modules")
	dir := workspace(t)
	for _, name := range []string{"app.ts", "cdk.json", "package.json", "tsconfig.json"} {
		text, err := os.ReadFile(filepath.Join(source, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(installed, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(installed, ".bin", "cdk"), "synth", "--quiet", "--no-notices")
	// No credentials and no region: the template is for any account.
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "CI=true", "CDK_DISABLE_CLI_TELEMETRY=true",
		"NEARFAR_OWNER=" + owner, "NEARFAR_EXPIRES=" + cdkExpires}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("cdk synth: %v\n%s", err, out)
	}
	return filepath.Join(dir, "cdk.out", "Lab.template.json")
}

// The template that the CDK makes passes cfn-lint, makes the same cluster as the module of OpenTofu, and can be made
// and deleted in a fake AWS.
func TestEKSLabWithCDK(t *testing.T) {
	t.Parallel()
	l := newAWSLab(t, "eks-placement-group", "TOOLS_IMAGE=registry.example/nearfar-tools:v1")
	l.nearfar(0, "up", "--yes", l.file)
	want := l.clusterOfState()
	template := synthesised(t, want.Tags["nearfar_owner"])
	t.Run("lint", func(t *testing.T) {
		t.Parallel()
		pythontest.Run(t, filepath.Join("testdata", "labs", "lint.py"), template)
	})
	t.Run("fake AWS", func(t *testing.T) {
		t.Parallel()
		t.Logf("%s", pythontest.Run(t, filepath.Join("testdata", "labs", "stack.py"), template))
	})
	t.Run("same", func(t *testing.T) {
		t.Parallel()
		got := clusterOfTemplate(t, template)
		if got.Tags["nearfar_expires"] != cdkExpires {
			t.Errorf("the CDK's tags are %q", got.Tags)
		}
		got.Tags["nearfar_expires"] = want.Tags["nearfar_expires"] // the times differ
		if !reflect.DeepEqual(got, want) {
			t.Errorf("the CDK makes\n%+v\nOpenTofu makes\n%+v", got, want)
		}
	})
}

// A cfnResource is a resource of a template of CloudFormation.
type cfnResource struct {
	Type       string
	Properties map[string]any
}

// refersTo gives the resource to which a Ref or an attribute refers.
func refersTo(v any) string {
	at, _ := v.(map[string]any)
	if name, ok := at["Ref"].(string); ok {
		return name
	}
	parts, _ := at["Fn::GetAtt"].([]any)
	if len(parts) == 0 {
		return ""
	}
	name, _ := parts[0].(string)
	return name
}

// cfnTags reads tags, which are a list or, for node groups, a mapping.
func cfnTags(v any) map[string]string {
	tags := map[string]string{}
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			tags[key] = fmt.Sprint(value)
		}
	case []any:
		for _, one := range v {
			tag, _ := one.(map[string]any)
			tags[fmt.Sprint(tag["Key"])] = fmt.Sprint(tag["Value"])
		}
	}
	return tags
}

// decode reads properties into a value.
func decode[T any](t *testing.T, properties any) (into T) {
	t.Helper()
	data, err := json.Marshal(properties)
	if err == nil {
		err = json.Unmarshal(data, &into)
	}
	if err != nil {
		t.Fatal(err)
	}
	return into
}

// clusterOfTemplate reads the cluster from a template of CloudFormation. It also checks that everything that can have
// tags has nearfar's.
func clusterOfTemplate(t *testing.T, file string) labCluster {
	t.Helper()
	text, err := os.ReadFile(file)
	var template struct {
		Resources map[string]cfnResource
		Outputs   map[string]any
	}
	if err == nil {
		err = json.Unmarshal(text, &template)
	}
	if err != nil {
		t.Fatal(err)
	}
	c := labCluster{Policies: map[string][]string{}, NodeGroups: map[string]labNodes{},
		Outputs: slices.Sorted(maps.Keys(template.Outputs))}
	untagged := []string{"AWS::EC2::Route", "AWS::EC2::SubnetRouteTableAssociation", "AWS::EC2::VPCGatewayAttachment",
		"AWS::EC2::LaunchTemplate"}
	zones := map[string]string{}
	for id, r := range template.Resources {
		if tags := cfnTags(r.Properties["Tags"]); !slices.Contains(untagged, r.Type) && (tags["nearfar_owner"] == "" ||
			tags["nearfar_run"] != "eks-placement-group" || tags["nearfar_expires"] != cdkExpires) {
			t.Errorf("%s has the tags %q", id, tags)
		}
		switch r.Type {
		case "AWS::EC2::PlacementGroup":
			c.GroupStrategy += fmt.Sprint(r.Properties["Strategy"])
		case "AWS::EC2::Subnet":
			s := decode[struct {
				AvailabilityZone    map[string][]any
				CidrBlock           string
				MapPublicIPOnLaunch bool `json:"MapPublicIpOnLaunch"`
			}](t, r.Properties)
			parts := s.AvailabilityZone["Fn::Join"][1].([]any)
			zones[id] = fmt.Sprint(parts[len(parts)-1])
			c.Subnets = append(c.Subnets, subnetText(zones[id], s.CidrBlock, s.MapPublicIPOnLaunch))
		case "AWS::IAM::Role":
			service, policies := cfnRole(t, r)
			c.Policies[service] = policies
		case "AWS::EKS::Cluster":
			e := decode[struct {
				Name               string
				AccessConfig       struct{ AuthenticationMode string }
				ResourcesVpcConfig struct{ EndpointPublicAccess, EndpointPrivateAccess bool }
			}](t, r.Properties)
			c.Name, c.Tags, c.Authentication = e.Name, cfnTags(r.Properties["Tags"]), e.AccessConfig.AuthenticationMode
			c.Public, c.Private = e.ResourcesVpcConfig.EndpointPublicAccess, e.ResourcesVpcConfig.EndpointPrivateAccess
		}
	}
	slices.Sort(c.Subnets)
	for _, r := range template.Resources {
		if r.Type == "AWS::EKS::Nodegroup" {
			name, nodes := cfnNodes(t, template.Resources, r)
			nodes.Zone = zones[nodes.Zone]
			c.NodeGroups[name] = nodes
		}
	}
	return c
}

// cfnRole gives who takes a role, and the names of its policies.
func cfnRole(t *testing.T, r cfnResource) (service string, policies []string) {
	t.Helper()
	role := decode[struct {
		AssumeRolePolicyDocument struct {
			Statement []struct {
				Principal struct{ Service string }
			}
		}
		ManagedPolicyArns []map[string][]any
	}](t, r.Properties)
	service, _, _ = strings.Cut(role.AssumeRolePolicyDocument.Statement[0].Principal.Service, ".")
	for _, arn := range role.ManagedPolicyArns {
		parts := arn["Fn::Join"][1].([]any)
		last := fmt.Sprint(parts[len(parts)-1])
		policies = append(policies, last[strings.LastIndex(last, "/")+1:])
	}
	slices.Sort(policies)
	return service, policies
}

// cfnNodes reads a node group and its launch template. Zone is the id of its subnet.
func cfnNodes(t *testing.T, all map[string]cfnResource, r cfnResource) (name string, nodes labNodes) {
	t.Helper()
	g := decode[struct {
		NodegroupName, AmiType, CapacityType string
		InstanceTypes                        []string
		Labels                               map[string]string
		Subnets                              []any
		LaunchTemplate                       struct{ ID any }
		ScalingConfig                        struct{ MinSize, DesiredSize, MaxSize float64 }
	}](t, r.Properties)
	template := decode[struct {
		LaunchTemplateData struct {
			Placement         struct{ GroupName any }
			MetadataOptions   struct{ HTTPTokens, HTTPPutResponseHopLimit any }
			TagSpecifications []struct {
				ResourceType string
				Tags         any
			}
		}
		TagSpecifications []struct{ Tags any }
	}](t, all[refersTo(g.LaunchTemplate.ID)].Properties)
	var tagged []string
	for _, s := range template.LaunchTemplateData.TagSpecifications {
		tagged = append(tagged, s.ResourceType)
		if cfnTags(s.Tags)["nearfar_owner"] == "" {
			t.Errorf("%s gives a %s no tags", g.NodegroupName, s.ResourceType)
		}
	}
	if len(template.TagSpecifications) != 1 || cfnTags(template.TagSpecifications[0].Tags)["nearfar_owner"] == "" {
		t.Errorf("the launch template of %s has no tags", g.NodegroupName)
	}
	hops, _ := template.LaunchTemplateData.MetadataOptions.HTTPPutResponseHopLimit.(float64)
	return g.NodegroupName, labNodes{
		Type: strings.Join(g.InstanceTypes, " "), AMI: g.AmiType, Capacity: g.CapacityType,
		Label: g.Labels["placementGroup"], Zone: refersTo(g.Subnets[0]),
		InGroup: all[refersTo(template.LaunchTemplateData.Placement.GroupName)].Type == "AWS::EC2::PlacementGroup",
		Min:     g.ScalingConfig.MinSize, Desired: g.ScalingConfig.DesiredSize, Max: g.ScalingConfig.MaxSize,
		HopLimit: hops, Tokens: fmt.Sprint(template.LaunchTemplateData.MetadataOptions.HTTPTokens),
		Tagged: strings.Join(tagged, " "),
	}
}
