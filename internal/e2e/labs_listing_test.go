//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"nearfar/internal/cloud/audit"
	"nearfar/internal/kits/tofutest"
)

// listingVariable makes the test's own program the az, aws and gcloud of an audit. They list what the stand-ins of
// providers have made (tofutest.Providers). They answer only the questions of an audit, and az
// deletes the only group. az gives OpenTofu's names of
// kinds, where Azure has others. What was deleted is gone at once; a real cloud can go on listing it for a while.
const listingVariable = "NEARFAR_E2E_LISTING"

func listingPrograms() []string { return []string{"az", "aws", "gcloud"} }

// isListing says that this process was started as one of these programs.
func isListing() bool {
	return os.Getenv(listingVariable) != "" && slices.Contains(listingPrograms(), filepath.Base(os.Args[0]))
}

// runListing is one of these programs. It returns the exit code.
func runListing() int {
	made, err := tofutest.ResourcesIn(os.Getenv("NEARFAR_TEST_CLOUD"))
	var answer any
	if err == nil {
		answer, err = listed(filepath.Base(os.Args[0]), os.Args[1:], made)
	}
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(answer)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// listing puts these programs on the PATH of nearfar.
func (s *labStand) listing() {
	s.t.Helper()
	self, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	s.programs = s.t.TempDir()
	for _, name := range listingPrograms() {
		if err := os.Symlink(self, filepath.Join(s.programs, name)); err != nil {
			s.t.Fatal(err)
		}
	}
}

// listed answers a command line of an audit.
func listed(program string, args []string, made []tofutest.Resource) (any, error) {
	asked := func(r tofutest.Resource) bool { // all if the command names no run, such as one about a group
		run := askedRun(args)
		return r.Tags[audit.TagRun] != "" && (run == "" || r.Tags[audit.TagRun] == run)
	}
	made = slices.DeleteFunc(made, func(r tofutest.Resource) bool { return !asked(r) })
	of := func(kind string) []tofutest.Resource {
		return slices.DeleteFunc(slices.Clone(made), func(r tofutest.Resource) bool { return r.Type != kind })
	}
	words := strings.Join(args[:min(len(args), 3)], " ")
	switch {
	case program == "az" && strings.HasPrefix(words, "group list "):
		return of("azurerm_resource_group"), nil
	case program == "az" && strings.HasPrefix(words, "group delete "):
		return nil, tofutest.RemoveIn(os.Getenv("NEARFAR_TEST_CLOUD"), "azurerm_")
	case program == "az" && strings.HasPrefix(words, "resource list "):
		const group = "azurerm_resource_group"
		return slices.DeleteFunc(made, func(r tofutest.Resource) bool { return r.Type == group }), nil
	case program == "gcloud" && words == "compute instances list":
		all := []map[string]any{}
		for _, r := range of("google_compute_instance") {
			all = append(all, map[string]any{"name": r.Name, "labels": r.Tags,
				"selfLink": "https://compute/projects/project/zones/europe-west4-a/instances/" + r.Name})
		}
		return all, nil
	case program == "gcloud" && strings.HasSuffix(words, " list"):
		return []any{}, nil
	case program == "aws":
		return listedAWS(words, made, of)
	}
	return nil, fmt.Errorf("no cloud answers %s %q", program, args)
}

// askedRun is the run of which a command asks; empty if it names none.
func askedRun(args []string) string {
	for _, arg := range args {
		if _, run, ok := strings.Cut(arg, audit.TagRun+"="); ok { // of az and gcloud
			return run
		}
		key, run, ok := strings.Cut(arg, ",Values=")
		if ok && (strings.HasSuffix(key, audit.TagRun) || key == "Name=value") {
			return run
		}
	}
	return ""
}

// listedAWS answers a command line of aws. Resources of EC2 are listed by the tagging service and by EC2; instances,
// placement groups and clusters by themselves, as AWS does.
func listedAWS(words string, made []tofutest.Resource, of func(kind string) []tofutest.Resource) (any, error) {
	service, command, _ := strings.Cut(words, " ")
	command, _, _ = strings.Cut(command, " ")
	all := []map[string]any{}
	clusters := of("aws_eks_cluster")
	switch service + " " + command {
	case "resourcegroupstaggingapi get-resources":
		for _, r := range made {
			if kind := ec2Kind(r); kind != "" {
				all = append(all, map[string]any{"ResourceARN": "arn:aws:ec2:eu-west-1:1:" + kind + "/" + awsID(r),
					"Tags": awsTags(r)})
			}
		}
		return map[string]any{"ResourceTagMappingList": all}, nil
	case "ec2 describe-tags":
		for _, r := range made {
			if kind := ec2Kind(r); kind != "" {
				all = append(all, map[string]any{"ResourceType": kind, "ResourceId": awsID(r)})
			}
		}
		return map[string]any{"Tags": all}, nil
	case "ec2 describe-instances":
		for _, r := range of("aws_instance") {
			all = append(all, map[string]any{"InstanceId": awsID(r), "Tags": awsTags(r)})
		}
		return map[string]any{"Reservations": []any{map[string]any{"Instances": all}}}, nil
	case "ec2 describe-placement-groups":
		for _, r := range of("aws_placement_group") {
			all = append(all, map[string]any{"GroupName": awsID(r), "State": "available", "Tags": awsTags(r)})
		}
		return map[string]any{"PlacementGroups": all}, nil
	case "eks list-clusters":
		return map[string]any{"clusters": names(clusters)}, nil
	case "eks describe-cluster":
		if len(clusters) == 1 {
			return map[string]any{"cluster": map[string]any{"tags": clusters[0].Tags}}, nil
		}
	case "eks list-nodegroups":
		return map[string]any{"nodegroups": names(of("aws_eks_node_group"))}, nil
	case "ec2 describe-volumes", "ec2 describe-snapshots", "ec2 describe-nat-gateways", "elb describe-load-balancers",
		"elbv2 describe-load-balancers":
		return map[string]any{}, nil // no lab makes any by itself
	}
	return nil, fmt.Errorf("no cloud answers aws %s", words)
}

// ec2Kind is EC2's name for the kind of a resource; empty for those of other services.
func ec2Kind(r tofutest.Resource) string {
	kind := strings.ReplaceAll(strings.TrimPrefix(r.Type, "aws_"), "_", "-")
	if strings.HasPrefix(kind, "eks-") || strings.HasPrefix(kind, "iam-") {
		return ""
	}
	if strings.HasPrefix(kind, "vpc-security-group-") {
		return "security-group-rule"
	}
	return kind
}

// awsID is the identifier of a resource of EC2: its name if it has one.
func awsID(r tofutest.Resource) string {
	if r.Name != "" {
		return r.Name
	}
	return path.Base(r.ID)
}

// awsTags are the tags of a resource as aws prints them.
func awsTags(r tofutest.Resource) (tags []map[string]string) {
	for key, value := range r.Tags {
		tags = append(tags, map[string]string{"Key": key, "Value": value})
	}
	return tags
}

func names(resources []tofutest.Resource) (all []string) {
	for _, r := range resources {
		all = append(all, awsID(r))
	}
	return all
}
