package preflight

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nearfar/internal/cloud/cloudtool"
)

// ec2 is what the lab of EC2 makes. The stand-in for the provider makes up the region.
func ec2(t *testing.T) Wants {
	t.Helper()
	w := wantsOf(t, "ec2-placement-group")
	w.Places[0].Zones = []string{"us-east-1a"}
	return w
}

// An answers is a program that gives recorded answers: the file in testdata of the command's words. A command without a
// file fails as the program does that may not ask.
type answers struct {
	t      *testing.T
	folder string
	// instead are answers by the beginning of a command line: what is printed, or with "ERROR " what is said.
	instead map[string]string
}

func (a answers) run(_ context.Context, program string, args ...string) ([]byte, error) {
	line := program + " " + strings.Join(args, " ")
	for beginning, text := range a.instead {
		if !strings.HasPrefix(line, beginning) {
			continue
		}
		if said, failed := strings.CutPrefix(text, "ERROR "); failed {
			return nil, &cloudtool.FailedError{Err: errors.New("exit status 254"), Said: said}
		}
		return []byte(text), nil
	}
	// The file has the words of the command; words after them name what is described.
	words := strings.Fields(cloudtool.Name(args...))
	if at := slices.Index(args, "--instance-types"); at >= 0 {
		words = []string{args[at+1]}
	}
	for ; len(words) > 0; words = words[:len(words)-1] {
		name := strings.ToLower(strings.Join(words, "_")) + ".json"
		if text, err := os.ReadFile(filepath.Join("testdata", a.folder, name)); !errors.Is(err, os.ErrNotExist) {
			return text, err
		}
	}
	a.t.Logf("no answer to: %s", line)
	return nil, &cloudtool.FailedError{Err: errors.New("exit status 254"), Said: "AccessDenied: may not ask"}
}

const dryRun = "ERROR An error occurred (DryRunOperation) when calling the %s operation: Request would have " +
	"succeeded, but DryRun flag is set."

// awsAnswers are an account in which the labs could be made.
func awsAnswers(t *testing.T) answers {
	t.Helper()
	a := answers{t, "aws", map[string]string{
		"aws ec2 create-vpc": "", "aws ec2 create-internet-gateway": "", "aws ec2 create-placement-group": "",
		"aws ec2 create-security-group": "", "aws ec2 run-instances": "",
		"aws service-quotas get-service-quota --service-code ec2 --quota-code L-1216C47A": `{"Quota": {"Value": 128.0}}`,
		"aws service-quotas get-service-quota --service-code vpc":                         `{"Quota": {"Value": 5.0}}`,
		"aws service-quotas get-service-quota --service-code eks": "ERROR An error occurred (NoSuchResourceException) when " +
			"calling the GetServiceQuota operation: The request failed because the specified service quota does not exist.",
		"aws service-quotas get-aws-default-service-quota --service-code eks": `{"Quota": {"Value": 100.0}}`,
	}}
	for name := range a.instead {
		if after, ok := strings.CutPrefix(name, "aws ec2 "); ok {
			a.instead[name] = fmt.Sprintf(dryRun, after)
		}
	}
	return a
}

// An account in which all labs could be made, and what is said of it.
func TestAWS(t *testing.T) {
	a := awsAnswers(t)
	all := Checker{Now: today(), Run: a.run}.Check(t.Context(), ec2(t))
	onlyUnknown(t, all)
	wantCheck(t, all, checkQuota, "vCPUs of running on-demand standard instances", OK,
		"4 of 128 are used, and 96 more are wanted")
	wantCheck(t, all, checkRights, "ec2 run-instances", OK, "")
	wantCheck(t, all, checkPolicy, "addresses that the internet reaches", OK, "off")
	wantCheck(t, all, checkImage, "", OK, "arm64")
	if n := Count(all, Refused); n > 0 {
		t.Errorf("%d would be refused: %v", n, all)
	}
	all = Checker{Now: today(), Run: a.run}.Check(t.Context(), wantsOf(t, "eks-placement-group"))
	onlyUnknown(t, all)
	wantCheck(t, all, checkVersion, "Kubernetes of EKS's default version", OK, "1.34: standard support until 2026-12-02")
	wantCheck(t, all, checkQuota, "cluster (L-1194D53C)", OK, "1 of 100 are used")
	wantCheck(t, all, checkRights, "eks:CreateCluster", OK, "for arn:aws:iam::123456789012:role/lab")
	wantCheck(t, all, checkPlacement, "c5.large in a placement group with the strategy cluster", OK, "")
}

// What AWS would refuse is said with its figures.
func TestAWSRefuses(t *testing.T) {
	a := awsAnswers(t)
	const cpus = "aws service-quotas get-service-quota --service-code ec2 --quota-code L-1216C47A"
	a.instead[cpus] = `{"Quota": {"Value": 32}}`
	a.instead["aws service-quotas get-service-quota --service-code vpc"] = `{"Quota": {"Value": 1.0}}`
	a.instead["aws ec2 run-instances"] = "ERROR An error occurred (UnauthorizedOperation) when calling the RunInstances " +
		"operation: You are not authorized to perform this operation."
	a.instead["aws ec2 describe-vpc-block-public-access-options"] = `{"VpcBlockPublicAccessOptions": {
		"InternetGatewayBlockMode": "block-bidirectional", "ManagedBy": "declarative-policy"}}`
	a.instead["aws ec2 describe-instance-type-offerings"] = `{"InstanceTypeOfferings": [{"InstanceType": "c6gn.4xlarge",
		"LocationType": "availability-zone", "Location": "us-east-1f"}]}`
	a.instead["aws ec2 describe-images"] = `{"Images": [{"State": "available", "Architecture": "x86_64"}]}`
	all := Checker{Now: today(), Run: a.run}.Check(t.Context(), ec2(t))
	wantCheck(t, all, checkQuota, "vCPUs of running on-demand standard instances", Refused,
		"4 of 32 are used, and 96 more are wanted: 68 too many")
	wantCheck(t, all, checkQuota, "network (", Refused, "1 of 1 are used, and 1 more are wanted: 1 too many")
	wantCheck(t, all, checkRights, "ec2 run-instances", Refused, "UnauthorizedOperation")
	wantCheck(t, all, checkPolicy, "addresses", Refused, "block-bidirectional")
	wantCheck(t, all, checkSize, "c6gn.4xlarge", Refused, "offered in [us-east-1f]")
	wantCheck(t, all, checkImage, "", Refused, "it is for x86_64, and c6gn.4xlarge is arm64")
	a.instead["aws iam simulate-principal-policy"] = `{"EvaluationResults": [
		{"EvalActionName": "eks:CreateCluster", "EvalDecision": "implicitDeny"}]}`
	w := wantsOf(t, "eks-placement-group")
	w.Places[0].Clusters = []string{"1.24"}
	a.instead["aws eks list-clusters"] = "ERROR An error occurred (AccessDeniedException) when calling the ListClusters " +
		"operation: no"
	all = Checker{Now: today(), Run: a.run}.Check(t.Context(), w)
	wantCheck(t, all, checkRights, "eks:CreateCluster", Refused, "implicitDeny")
	wantCheck(t, all, checkRights, "iam:CreateRole", Unknown, "says nothing")
	wantCheck(t, all, checkVersion, "Kubernetes 1.24", Refused, "EKS offers 1.35, 1.34")
	wantCheck(t, all, checkQuota, "cluster (", Unknown, "AccessDenied")
}

// Who has no right to ask gets no answer, and nothing is called fine.
func TestAWSWithoutRights(t *testing.T) {
	a := answers{t, "nothing", map[string]string{"aws sts": `{"Account": "1", "Arn": "arn:aws:iam::1:user/u"}`}}
	all := Checker{Now: today(), Run: a.run}.Check(t.Context(), ec2(t))
	for _, c := range all {
		if c.Status != Unknown && c.Kind != checkLogin && c.Kind != checkLifecycle {
			t.Errorf("%+v", c)
		}
	}
	if Count(all, Unknown) < 8 {
		t.Errorf("only %d are not looked at", Count(all, Unknown))
	}
}

func TestAWSPrincipal(t *testing.T) {
	for caller, want := range map[string]string{
		"arn:aws:sts::123456789012:assumed-role/lab/me": "arn:aws:iam::123456789012:role/lab",
		"arn:aws:iam::123456789012:user/me":             "arn:aws:iam::123456789012:user/me",
		"arn:aws:iam::123456789012:root":                "root", "x": "x",
	} {
		got, root := awsPrincipal(caller)
		if root != (want == "root") || !root && got != want {
			t.Errorf("%s is %s, %v", caller, got, root)
		}
	}
}
