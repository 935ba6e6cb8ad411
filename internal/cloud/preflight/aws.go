package preflight

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"nearfar/internal/cloud/cloudtool"
)

// amazon runs aws for the region of the place.
func (a *asker) amazon(ctx context.Context, into any, args ...string) error {
	if a.place.Region != "" {
		args = append(args, "--region", a.place.Region)
	}
	return a.ask(ctx, into, "aws", append(args, "--output", "json")...)
}

// aws looks at a region of an account.
func (a *asker) aws(ctx context.Context) {
	var caller struct {
		Account string
		ARN     string `json:"Arn"`
	}
	if err := a.amazon(ctx, &caller, "sts", "get-caller-identity"); err != nil {
		a.unknown(checkLogin, "the account, and all other questions to AWS", err)
		return
	}
	a.note(checkLogin, "account "+caller.Account, OK, caller.ARN+" is logged in", "")
	if a.place.Region == "" {
		a.unknown(checkLogin, "the region, and all questions about it", errors.New("no region is known: set AWS_REGION"))
		return
	}
	types := map[string]awsType{}
	cloudtool.Each(
		func() {
			if a.awsTypes(ctx, types) {
				a.awsCPUs(ctx, types)
				a.awsImages(ctx, types)
			}
		},
		func() { a.awsCounts(ctx) },
		func() { a.awsDryRuns(ctx) },
		func() { a.awsSimulated(ctx, caller.ARN) },
		func() { a.awsPublic(ctx) },
		func() { a.awsVersions(ctx) },
	)
}

// awsType is a type of instances, as `aws ec2 describe-instance-types` prints it.
type awsType struct {
	VCPUInfo  struct{ DefaultVCpus int }                `json:"VCpuInfo"`
	Processor struct{ SupportedArchitectures []string } `json:"ProcessorInfo"`
	Network   struct{ EnaSrdSupported bool }            `json:"NetworkInfo"`
	Groups    struct{ SupportedStrategies []string }    `json:"PlacementGroupInfo"`
}

// sizes are the sizes of the machines, sorted.
func (a *asker) sizes() (all []string) {
	for _, m := range a.place.Machines {
		all = append(all, m.Size)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// awsTypes looks at the types of the machines, and puts them by their names. It is false if AWS did not answer.
func (a *asker) awsTypes(ctx context.Context, types map[string]awsType) bool {
	const other = "choose another type, zone or region (aws ec2 describe-instance-type-offerings)"
	for _, size := range a.sizes() {
		var all struct{ InstanceTypes []awsType }
		err := a.amazon(ctx, &all, "ec2", "describe-instance-types", "--instance-types", size)
		switch {
		case err != nil && says(err, "InvalidInstanceType"):
			a.note(checkSize, size, Refused, err.Error(), other)
			continue
		case err != nil:
			a.unknown(checkSize, size, err)
			continue
		case len(all.InstanceTypes) != 1:
			a.unknown(checkSize, size, errors.New("aws describes no such type"))
			continue
		}
		t := all.InstanceTypes[0]
		types[size] = t
		a.awsZones(ctx, size, t)
		if a.place.EnaExpress && !t.Network.EnaSrdSupported {
			a.note(checkPlacement, "ENA Express on "+size, Refused, "the type does not support it", "choose one that does")
		}
		for _, strategy := range a.place.Groups {
			supported := t.Groups.SupportedStrategies
			about := fmt.Sprintf("%s in a placement group with the strategy %s", size, strategy)
			if slices.Contains(supported, strategy) {
				a.note(checkPlacement, about, OK, "the type supports it", "")
			} else {
				a.note(checkPlacement, about, Refused, fmt.Sprintf("the type supports [%s]", strings.Join(supported, " ")),
					"choose one that does")
			}
		}
	}
	return len(types) > 0
}

// awsZones looks at the zones that offer a type. A machine's own zone counts; else those of the subnets.
func (a *asker) awsZones(ctx context.Context, size string, t awsType) {
	var offers struct{ InstanceTypeOfferings []struct{ Location string } }
	err := a.amazon(ctx, &offers, "ec2", "describe-instance-type-offerings", "--location-type", "availability-zone",
		"--filters", "Name=instance-type,Values="+size)
	if err != nil {
		a.unknown(checkSize, size, err)
		return
	}
	var in []string
	for _, o := range offers.InstanceTypeOfferings {
		in = append(in, o.Location)
	}
	slices.Sort(in)
	wanted := slices.Clone(a.place.Zones)
	for _, m := range a.place.Machines {
		if m.Size == size && m.Zone != "" {
			wanted = []string{m.Zone}
		}
	}
	missing := slices.DeleteFunc(slices.Clone(wanted), func(zone string) bool { return slices.Contains(in, zone) })
	found := fmt.Sprintf("%d vCPUs, offered in [%s]", t.VCPUInfo.DefaultVCpus, strings.Join(in, " "))
	switch {
	case len(in) == 0, len(wanted) > 0 && len(missing) == len(wanted):
		a.note(checkSize, size, Refused, fmt.Sprintf("%s, wanted in [%s]", found, strings.Join(wanted, " ")),
			"choose another zone or type")
	case len(missing) > 0:
		a.note(checkSize, size, Unknown, fmt.Sprintf("%s, and not in [%s]; the plan does not say in which subnet the "+
			"machines are", found, strings.Join(missing, " ")), "choose zones that all offer it")
	default:
		a.note(checkSize, size, OK, found, "")
	}
}

// awsFamily names the quota of vCPUs that a type counts against, and its code. Sources:
// https://docs.aws.amazon.com/ec2/latest/instancetypes/ec2-instance-quotas.html, and for the codes Service Quotas.
func awsFamily(size string, spot bool) (name, code string) {
	letters, _, _ := strings.Cut(size, ".")
	if at := strings.IndexAny(letters, "0123456789"); at >= 0 {
		letters = letters[:at]
	}
	standard := slices.Contains([]string{"a", "c", "d", "h", "i", "im", "is", "m", "r", "t", "z"}, letters)
	switch {
	case standard && spot:
		return "all standard spot instance requests", "L-34B43A08"
	case standard:
		return "running on-demand standard instances", "L-1216C47A"
	case letters == "x" && !spot:
		return "running on-demand X instances", "L-7295265B"
	case letters == "f" && !spot:
		return "running on-demand F instances", "L-74FC7D96"
	}
	return "", ""
}

// awsLimit asks for a quota; if the account has none of its own, for AWS's default.
func (a *asker) awsLimit(ctx context.Context, service, code string) (float64, error) {
	var answer struct{ Quota struct{ Value float64 } }
	args := []string{"--service-code", service, "--quota-code", code}
	err := a.amazon(ctx, &answer, append([]string{"service-quotas", "get-service-quota"}, args...)...)
	if err != nil && says(err, "NoSuchResource") {
		err = a.amazon(ctx, &answer, append([]string{"service-quotas", "get-aws-default-service-quota"}, args...)...)
	}
	return answer.Quota.Value, err
}

// awsMore says how a quota of AWS is raised.
func awsMore(service, code string) string {
	return "delete what is not needed, or: aws service-quotas request-service-quota-increase --service-code " + service +
		" --quota-code " + code + " --desired-value N"
}

// awsCPUs compares vCPUs with the quotas of families.
func (a *asker) awsCPUs(ctx context.Context, types map[string]awsType) {
	var running struct {
		Reservations []struct {
			Instances []struct {
				InstanceType, InstanceLifecycle string
				CPU                             struct{ CoreCount, ThreadsPerCore int } `json:"CpuOptions"`
			}
		}
	}
	err := a.amazon(ctx, &running, "ec2", "describe-instances", "--filters",
		"Name=instance-state-name,Values=pending,running")
	if err != nil {
		a.unknown(checkQuota, "vCPUs", err)
		return
	}
	used := map[string]float64{}
	for _, r := range running.Reservations {
		for _, i := range r.Instances {
			_, code := awsFamily(i.InstanceType, i.InstanceLifecycle == "spot")
			used[code] += float64(i.CPU.CoreCount * i.CPU.ThreadsPerCore)
		}
	}
	wanted, names := map[string]float64{}, map[string]string{}
	for _, m := range a.place.Machines {
		name, code := awsFamily(m.Size, m.Spot)
		switch {
		case types[m.Size].VCPUInfo.DefaultVCpus == 0: // said before
		case code == "":
			a.unknown(checkQuota, "vCPUs of "+m.Size, errors.New("nearfar does not know the quota of this family"))
		default:
			names[code] = name
			wanted[code] += float64(m.Count * types[m.Size].VCPUInfo.DefaultVCpus)
		}
	}
	for _, code := range slices.Sorted(maps.Keys(wanted)) {
		about := fmt.Sprintf("vCPUs of %s (%s)", names[code], code)
		limit, err := a.awsLimit(ctx, "ec2", code)
		if err != nil {
			a.unknown(checkQuota, about, err)
			continue
		}
		a.quota(about, used[code], wanted[code], limit, awsMore("ec2", code))
	}
}

// awsCounts compares addresses, networks, gateways and clusters with their quotas.
func (a *asker) awsCounts(ctx context.Context) {
	for _, q := range []struct {
		kind, service, code string
		list                []string
		key                 string
	}{
		{kindAddress, "ec2", "L-0263D0A3", []string{"ec2", "describe-addresses"}, "Addresses"},
		{kindNetwork, "vpc", "L-F678F1CE", []string{"ec2", "describe-vpcs"}, "Vpcs"},
		{kindGateway, "vpc", "L-A4707A72", []string{"ec2", "describe-internet-gateways"}, "InternetGateways"},
		{kindCluster, "eks", "L-1194D53C", []string{"eks", "list-clusters"}, "clusters"},
	} {
		wanted := a.place.Counts[q.kind]
		if wanted == 0 {
			continue
		}
		about := fmt.Sprintf("%s (%s)", q.kind, q.code)
		var list map[string]any
		err := a.amazon(ctx, &list, q.list...)
		var limit float64
		if err == nil {
			limit, err = a.awsLimit(ctx, q.service, q.code)
		}
		if err != nil {
			a.unknown(checkQuota, about, err)
			continue
		}
		there, _ := list[q.key].([]any)
		a.quota(about, float64(len(there)), float64(wanted), limit, awsMore(q.service, q.code))
	}
}

// awsDryRuns lets EC2 say whether it would take the requests: with --dry-run it makes nothing
// (https://docs.aws.amazon.com/AWSEC2/latest/APIReference/CommonParameters.html).
func (a *asker) awsDryRuns(ctx context.Context) {
	runs := map[string][]string{
		"aws_vpc":              {"create-vpc", "--cidr-block", "10.42.0.0/16"},
		"aws_internet_gateway": {"create-internet-gateway"},
		"aws_placement_group":  {"create-placement-group", "--group-name", "nearfar-check", "--strategy", "cluster"},
		"aws_security_group": {
			"create-security-group", "--group-name", "nearfar-check", "--description", "nearfar-check",
		},
		"aws_eip": {"allocate-address", "--domain", "vpc"},
	}
	for _, m := range a.place.Machines {
		if m.Image != "" && !m.Node {
			runs["aws_instance"] = []string{"run-instances", "--image-id", m.Image, "--instance-type", m.Size}
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(runs)) {
		if !slices.Contains(a.place.Types, kind) {
			continue
		}
		about := "ec2 " + runs[kind][0]
		err := a.amazon(ctx, &struct{}{}, append(append([]string{"ec2"}, runs[kind]...), "--dry-run")...)
		switch {
		case err == nil || says(err, "DryRunOperation"):
			a.note(checkRights, about, OK, "a dry run would have succeeded", "")
		case says(err, "UnauthorizedOperation"):
			a.note(checkRights, about, Refused, err.Error(), "ask for the right, also of your organization")
		case says(err, "VcpuLimitExceeded", "Unsupported", "OptInRequired", "PendingVerification", "InvalidAMIID",
			"VpcLimitExceeded", "AddressLimitExceeded"):
			a.note(checkRights, about, Refused, err.Error(), "")
		default:
			a.unknown(checkRights, about, err)
		}
	}
}

// awsSimulated asks IAM for actions that have no dry run. Policies of an organization are in the answer as far as IAM
// knows them (https://docs.aws.amazon.com/IAM/latest/APIReference/API_SimulatePrincipalPolicy.html).
func (a *asker) awsSimulated(ctx context.Context, caller string) {
	actions := map[string][]string{
		"aws_eks_cluster":    {"eks:CreateCluster", "eks:DeleteCluster"},
		"aws_eks_node_group": {"eks:CreateNodegroup", "eks:DeleteNodegroup"},
		"aws_iam_role":       {"iam:CreateRole", "iam:AttachRolePolicy", "iam:PassRole", "iam:DeleteRole"},
	}
	var wanted []string
	for _, kind := range a.place.Types {
		wanted = append(wanted, actions[kind]...)
	}
	if len(wanted) == 0 {
		return
	}
	principal, root := awsPrincipal(caller)
	if root {
		a.note(checkRights, strings.Join(wanted, ", "), OK, "the root user of the account may do all", "")
		return
	}
	var answer struct {
		EvaluationResults []struct{ EvalActionName, EvalDecision string }
	}
	err := a.amazon(ctx, &answer, append([]string{
		"iam", "simulate-principal-policy", "--policy-source-arn", principal, "--action-names",
	}, wanted...)...)
	decisions := map[string]string{}
	for _, r := range answer.EvaluationResults {
		decisions[r.EvalActionName] = r.EvalDecision
	}
	for _, action := range wanted {
		switch decision := decisions[action]; {
		case err != nil:
			a.unknown(checkRights, action, err)
		case decision == "allowed":
			a.note(checkRights, action, OK, "IAM simulates it as allowed for "+principal, "")
		case decision == "":
			a.unknown(checkRights, action, errors.New("IAM says nothing of this action"))
		default:
			a.note(checkRights, action, Refused, fmt.Sprintf("IAM simulates it as %s for %s", decision, principal),
				"ask for the right; conditions on resources and tags are not simulated")
		}
	}
}

// awsPrincipal is the user or role of a caller: IAM simulates no sessions.
func awsPrincipal(caller string) (arn string, root bool) {
	parts := strings.SplitN(caller, ":", 6) // arn:PARTITION:sts::ACCOUNT:assumed-role/ROLE/SESSION
	if len(parts) < 6 {
		return caller, false
	}
	name := strings.Split(parts[5], "/")
	if name[0] == "assumed-role" && len(name) > 1 {
		return fmt.Sprintf("arn:%s:iam::%s:role/%s", parts[1], parts[4], name[1]), false
	}
	return caller, parts[5] == "root"
}

// awsPublic asks whether the account keeps its networks from the internet: then machines could not be reached.
func (a *asker) awsPublic(ctx context.Context) {
	if a.place.Counts[kindGateway] == 0 {
		return
	}
	const about = "addresses that the internet reaches"
	var answer struct {
		Options struct{ InternetGatewayBlockMode, ManagedBy string } `json:"VpcBlockPublicAccessOptions"`
	}
	err := a.amazon(ctx, &answer, "ec2", "describe-vpc-block-public-access-options")
	switch mode := answer.Options.InternetGatewayBlockMode; {
	case err != nil:
		a.unknown(checkPolicy, about, err)
	case mode == "off":
		a.note(checkPolicy, about, OK, "VPC Block Public Access is off", "")
	default:
		a.note(checkPolicy, about, Refused, fmt.Sprintf("VPC Block Public Access is %q, managed by %q", mode,
			answer.Options.ManagedBy), "ask for an exclusion, or reach the machines in another way")
	}
}

// awsImages looks at the images of the machines.
func (a *asker) awsImages(ctx context.Context, types map[string]awsType) {
	looked := map[string]bool{}
	for _, m := range a.place.Machines {
		if m.Image == "" || looked[m.Image+m.Size] {
			continue
		}
		looked[m.Image+m.Size] = true
		var answer struct {
			Images []struct{ State, Architecture, Name, DeprecationTime string }
		}
		err := a.amazon(ctx, &answer, "ec2", "describe-images", "--image-ids", m.Image)
		takes := types[m.Size].Processor.SupportedArchitectures
		switch {
		case err != nil && !says(err, "InvalidAMIID"):
			a.unknown(checkImage, m.Image, err)
		case err != nil || len(answer.Images) == 0:
			a.note(checkImage, m.Image, Refused, "there is no such image in the region, or not for this account",
				"choose another image")
		case answer.Images[0].State != "available":
			a.note(checkImage, m.Image, Refused, "its state is "+answer.Images[0].State, "choose another image")
		case len(takes) > 0 && !slices.Contains(takes, answer.Images[0].Architecture):
			a.note(checkImage, m.Image, Refused, fmt.Sprintf("it is for %s, and %s is %s", answer.Images[0].Architecture,
				m.Size, strings.Join(takes, ", ")), "choose the image of the other architecture")
		default:
			a.note(checkImage, m.Image, OK, answer.Images[0].Name+", "+answer.Images[0].Architecture, "")
		}
	}
}

// awsVersions looks at the versions of Kubernetes.
func (a *asker) awsVersions(ctx context.Context) {
	if len(a.place.Clusters) == 0 {
		return
	}
	var answer struct {
		Versions []struct {
			Version  string `json:"clusterVersion"`
			Default  bool   `json:"defaultVersion"`
			Status   string `json:"versionStatus"`
			Former   string `json:"status"` // the same in small letters, before versionStatus was added
			Standard string `json:"endOfStandardSupportDate"`
			Extended string `json:"endOfExtendedSupportDate"`
		} `json:"clusterVersions"`
	}
	err := a.amazon(ctx, &answer, "eks", "describe-cluster-versions")
	for _, version := range a.place.Clusters {
		about := "Kubernetes " + version
		if version == "" {
			about = "Kubernetes of EKS's default version"
		}
		if err != nil {
			a.unknown(checkVersion, about, err)
			continue
		}
		var names []string
		found := false
		for _, v := range answer.Versions {
			if names = append(names, v.Version); v.Version != version && (version != "" || !v.Default) {
				continue
			}
			found = true
			status := strings.ToUpper(v.Status + v.Former)
			if strings.Contains(status, "UNSUPPORTED") {
				a.note(checkVersion, about, Refused, "EKS does not support "+v.Version, "choose a newer one")
				continue
			}
			a.note(checkVersion, about, OK, fmt.Sprintf("%s: standard support until %s, extended until %s, at a price of "+
				"its own", v.Version, v.Standard, v.Extended), "")
		}
		switch {
		case !found && version != "":
			a.note(checkVersion, about, Refused, "EKS offers "+strings.Join(names, ", "), "choose one of them")
		case !found:
			a.unknown(checkVersion, about, errors.New("EKS does not say which version is its default"))
		}
	}
}
