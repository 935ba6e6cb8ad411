package audit

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"nearfar/internal/cloud/cloudtool"
)

// awsTag is a tag as aws prints it.
type awsTag struct{ Key, Value string }

// owned says whose a resource is, by its tags.
func owned(kind, id string, tags []awsTag) Resource {
	r := Resource{Kind: kind, ID: id}
	for _, t := range tags {
		switch t.Key {
		case TagOwner:
			r.Owner = t.Value
		case TagExpires:
			r.Expires = t.Value
		}
	}
	return r
}

// amazon are the questions to one region of AWS. The tagging service knows most kinds of resources, but keeps listing
// deleted ones for up to some hours. So each service is asked which of its resources still exist.
type amazon struct {
	*questions
	mu sync.Mutex
	// there are the resources that their own services list, by kind and identifier.
	there map[string]Resource
	// sure are the kinds whose services have answered.
	sure map[string]bool
}

// aws lists the resources of a region that have the tag.
func (s *questions) aws(ctx context.Context) {
	a := &amazon{questions: s, there: map[string]Resource{}, sure: map[string]bool{}}
	var tagged []Resource
	tasks := []func(){
		func() { tagged = a.tagged(ctx) },
		func() { a.tags(ctx) },
		func() { a.balancers(ctx, kindBalancer, "elbv2", "--resource-arns") },
		func() { a.balancers(ctx, kindClassicBalancer, "elb", "--load-balancer-names") },
		func() { a.clusters(ctx) },
	}
	for _, list := range a.ec2Lists() {
		tasks = append(tasks, func() { a.listEC2(ctx, list) })
	}
	cloudtool.Each(tasks...)
	for _, r := range tagged {
		key := r.Kind + " " + r.ID
		known, listed := a.there[key]
		switch {
		case listed: // the tagging service also lists the other tags
			known.Owner, known.Expires = r.Owner, r.Expires
			a.there[key] = known
		case !a.sure[r.Kind]:
			s.add(r)
		}
	}
	s.add(slices.Collect(maps.Values(a.there))...)
}

// aws runs aws, which gives all pages of a list.
func (a *amazon) aws(ctx context.Context, into any, args ...string) error {
	if a.place.Part != "" {
		args = append(args, "--region", a.place.Part)
	}
	return a.ask(ctx, into, "aws", append(args, "--output", "json")...)
}

// is notes that a resource is there.
func (a *amazon) is(r Resource) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.there[r.Kind+" "+r.ID] = r
}

// answered notes that all resources of these kinds were noted, or why not.
func (a *amazon) answered(err error, kinds ...string) {
	if err != nil {
		a.fail(err)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, kind := range kinds {
		a.sure[kind] = true
	}
}

// tagged asks the tagging service.
func (a *amazon) tagged(ctx context.Context) (all []Resource) {
	var list struct {
		All []struct {
			ARN  string `json:"ResourceARN"`
			Tags []awsTag
		} `json:"ResourceTagMappingList"`
	}
	err := a.aws(ctx, &list, "resourcegroupstaggingapi", "get-resources", "--tag-filters",
		"Key="+TagRun+",Values="+a.value)
	if err != nil {
		a.fail(err)
	}
	for _, one := range list.All {
		kind, id := nameARN(one.ARN)
		all = append(all, owned(kind, id, one.Tags))
	}
	return all
}

// nameARN gives the kind and the identifier of a resource, arn:PARTITION:SERVICE:REGION:ACCOUNT:TYPE/ID. The services
// ec2, elasticloadbalancing and eks have the type alone as kind; all others have both.
func nameARN(arn string) (kind, id string) {
	const parts = 6
	part := strings.SplitN(arn, ":", parts)
	if len(part) < parts {
		return "resource", arn
	}
	kind, id, ok := strings.Cut(part[5], "/")
	if !ok {
		return part[2], arn
	}
	switch part[2] {
	case "ec2":
		return kind, id
	case "elasticloadbalancing":
		if kind == kindBalancer && !strings.Contains(id, "/") {
			return kindClassicBalancer, id
		}
		return kind, arn
	case "eks":
		if kind == "nodegroup" && strings.Count(id, "/") > 1 { // CLUSTER/NAME/UUID
			id = id[:strings.LastIndex(id, "/")]
		}
		return "eks " + kind, id
	}
	return part[2] + " " + kind, arn
}

// Kinds that are listed by themselves, because they cost most or because EC2 lists their tags after they were deleted.
const (
	kindInstance = "instance"
	kindVolume   = "volume"
	kindSnapshot = "snapshot"
	kindGateway  = "natgateway"
	kindGroup    = "placement-group"
)

// ec2Kinds are kinds whose tags end with them.
func ec2Kinds() []string {
	return []string{"network-interface", "elastic-ip", "vpc", "subnet", "security-group",
		"route-table", "internet-gateway", "launch-template", "key-pair", "image"}
}

// tags lists all resources of EC2 with the tag.
func (a *amazon) tags(ctx context.Context) {
	var list struct {
		Tags []struct{ ResourceType, ResourceID string }
	}
	err := a.aws(ctx, &list, "ec2", "describe-tags", "--filters", "Name=key,Values="+TagRun,
		"Name=value,Values="+a.value)
	for _, t := range list.Tags {
		own := []string{kindInstance, kindVolume, kindSnapshot, kindGateway, kindGroup}
		if !slices.Contains(own, t.ResourceType) {
			a.is(Resource{Kind: t.ResourceType, ID: t.ResourceID})
		}
	}
	a.answered(err, ec2Kinds()...)
}

// ec2List is a question to EC2 for the resources of a kind.
type ec2List struct {
	kind    string
	command []string
	id      func(ec2Resource) string
}

// ec2Resource is a resource of any of these kinds. A snapshot also has the identifier of its volume.
type ec2Resource struct {
	InstanceID, VolumeID, SnapshotID, NatGatewayID, GroupName string

	// State is a text, or a mapping for an instance.
	State any
	Tags  []awsTag
}

// ec2Lists are the lists of what is not deleted: machines that are not terminated, disks, their copies, NAT gateways
// (AWS deletes failed ones) and placement groups. The ARN of a group has its name, and its tags have its identifier.
func (a *amazon) ec2Lists() []ec2List {
	tag := "Name=tag:" + TagRun + ",Values=" + a.value
	return []ec2List{
		{kindInstance, []string{"describe-instances", "--filters", tag,
			"Name=instance-state-name,Values=pending,running,shutting-down,stopping,stopped"},
			func(r ec2Resource) string { return r.InstanceID }},
		{kindVolume, []string{"describe-volumes", "--filters", tag},
			func(r ec2Resource) string { return r.VolumeID }},
		{kindSnapshot, []string{"describe-snapshots", "--owner-ids", "self", "--filters", tag},
			func(r ec2Resource) string { return r.SnapshotID }},
		{kindGateway, []string{"describe-nat-gateways", "--filter", tag, "Name=state,Values=pending,available,deleting"},
			func(r ec2Resource) string { return r.NatGatewayID }},
		{kindGroup, []string{"describe-placement-groups", "--filters", tag},
			func(r ec2Resource) string { return r.GroupName }},
	}
}

// listEC2 notes the resources of a list.
func (a *amazon) listEC2(ctx context.Context, list ec2List) {
	var lists struct { // the answer has one of them
		Reservations                                     []struct{ Instances []ec2Resource }
		Volumes, Snapshots, NatGateways, PlacementGroups []ec2Resource
	}
	err := a.aws(ctx, &lists, append([]string{"ec2"}, list.command...)...)
	all := slices.Concat(lists.Volumes, lists.Snapshots, lists.NatGateways, lists.PlacementGroups)
	for _, r := range lists.Reservations {
		all = append(all, r.Instances...)
	}
	for _, r := range all {
		if list.kind == kindGroup && (r.State == "deleted" || !slices.Contains(r.Tags, awsTag{TagRun, a.value})) {
			continue
		}
		a.is(owned(list.kind, list.id(r), r.Tags))
	}
	a.answered(err, list.kind)
}

const (
	// tagsAtOnce is how many load balancers the service describes in one call.
	tagsAtOnce = 20
	// maxClusters and maxBalancers bound how many are asked one by one.
	maxClusters  = 20
	maxBalancers = 200
)

// tagDescriptions are the tags of load balancers.
type tagDescriptions struct {
	All []struct {
		ARN  string `json:"ResourceArn"`
		Name string `json:"LoadBalancerName"`
		Tags []awsTag
	} `json:"TagDescriptions"`
}

const (
	kindBalancer        = "loadbalancer"
	kindClassicBalancer = "classic load balancer"
)

// balancers notes the load balancers of the run that a service has: elbv2 those for applications, networks and
// gateways, elb those of the first kind. option names load balancers when their tags are asked for.
func (a *amazon) balancers(ctx context.Context, kind, service, option string) {
	var list struct {
		All []struct {
			ARN string `json:"LoadBalancerArn"`
		} `json:"LoadBalancers"`
		Classic []struct {
			Name string `json:"LoadBalancerName"`
		} `json:"LoadBalancerDescriptions"`
	}
	err := a.aws(ctx, &list, service, "describe-load-balancers")
	var names []string
	for _, b := range list.All {
		names = append(names, b.ARN)
	}
	for _, b := range list.Classic {
		names = append(names, b.Name)
	}
	if err == nil {
		err = a.balancersWithTags(ctx, kind, names, service, "describe-tags", option)
	}
	a.answered(err, kind)
}

// balancersWithTags asks for the tags of load balancers, and notes those of the run.
func (a *amazon) balancersWithTags(ctx context.Context, kind string, names []string, command ...string) error {
	if len(names) > maxBalancers {
		return fmt.Errorf("%d load balancers in the region: nearfar looks at no more than %d", len(names), maxBalancers)
	}
	for some := range slices.Chunk(names, tagsAtOnce) {
		var tags tagDescriptions
		if err := a.aws(ctx, &tags, append(slices.Clone(command), some...)...); err != nil {
			return err
		}
		for _, d := range tags.All {
			if slices.Contains(d.Tags, awsTag{TagRun, a.value}) {
				a.is(owned(kind, d.ARN+d.Name, d.Tags)) // each kind has one of them
			}
		}
	}
	return nil
}

// clusters lists clusters of EKS that have the tag, and their node groups: these exist only in a cluster.
func (a *amazon) clusters(ctx context.Context) {
	var list struct {
		Clusters []string `json:"clusters"`
	}
	err := a.aws(ctx, &list, "eks", "list-clusters")
	if len(list.Clusters) > maxClusters {
		err = fmt.Errorf("%d clusters: only the first %d were looked at", len(list.Clusters), maxClusters)
		list.Clusters = list.Clusters[:maxClusters]
	}
	for _, name := range list.Clusters {
		if one := a.cluster(ctx, name); one != nil {
			err = one
		}
	}
	a.answered(err, "eks cluster", "eks nodegroup")
}

// cluster looks at one cluster.
func (a *amazon) cluster(ctx context.Context, name string) error {
	var one struct {
		Cluster struct {
			Tags map[string]string `json:"tags"`
		} `json:"cluster"`
	}
	err := a.aws(ctx, &one, "eks", "describe-cluster", "--name", name)
	if err != nil && strings.Contains(err.Error(), "ResourceNotFoundException") {
		return nil // it was deleted meanwhile
	}
	if err != nil {
		return err
	}
	tags := one.Cluster.Tags
	if tags[TagRun] != a.value {
		return nil
	}
	a.is(Resource{Kind: "eks cluster", ID: name, Owner: tags[TagOwner], Expires: tags[TagExpires]})
	var groups struct {
		Groups []string `json:"nodegroups"`
	}
	if err := a.aws(ctx, &groups, "eks", "list-nodegroups", "--cluster-name", name); err != nil {
		return err
	}
	for _, g := range groups.Groups {
		a.is(Resource{Kind: "eks nodegroup", ID: name + "/" + g, Owner: tags[TagOwner], Expires: tags[TagExpires]})
	}
	return nil
}
