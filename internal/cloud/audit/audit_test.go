package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"nearfar/internal/cloud/cloudtool"
)

// stand answers commands that begin with a text, the longest one first. A command without an answer gets an empty list.
type stand struct {
	mu      sync.Mutex
	answers map[string]func() ([]byte, error)
	calls   []string
}

func (s *stand) run(_ context.Context, program string, args ...string) ([]byte, error) {
	s.mu.Lock()
	line := strings.Join(append([]string{program}, args...), " ")
	s.calls = append(s.calls, line)
	found := ""
	for begin := range s.answers {
		if strings.HasPrefix(line, begin) && len(begin) > len(found) {
			found = begin
		}
	}
	answer := s.answers[found]
	s.mu.Unlock()
	if answer == nil {
		return []byte("  \n"), nil
	}
	return answer()
}

// prints is the answer of a program that prints a text.
func prints(text string) func() ([]byte, error) {
	return func() ([]byte, error) { return []byte(text), nil }
}

// fails is the answer of a program that fails with a message.
func fails(said string) func() ([]byte, error) {
	return func() ([]byte, error) {
		return nil, &cloudtool.FailedError{Err: errors.New("exit status 1"), Said: said}
	}
}

// ask audits one place.
func (s *stand) ask(owner string, place Place) Answer {
	return Auditor{Run: s.run}.Audit(context.Background(), Query{Run: "r", Owner: owner, Places: []Place{place}})[0]
}

// names are the kinds and identifiers of resources.
func names(all []Resource) (names []string) {
	for _, r := range all {
		names = append(names, r.Kind+" "+r.ID)
	}
	return names
}

func checkAnswer(t *testing.T, got Answer, left, others, unknown []string) {
	t.Helper()
	if !slices.Equal(names(got.Left), left) {
		t.Errorf("left are %q, want %q", names(got.Left), left)
	}
	if !slices.Equal(names(got.Others), others) {
		t.Errorf("of others are %q, want %q", names(got.Others), others)
	}
	if len(got.Unknown) != len(unknown) {
		t.Fatalf("unknown is %q, want %q", got.Unknown, unknown)
	}
	for i, text := range unknown {
		if !strings.Contains(got.Unknown[i], text) {
			t.Errorf("unknown is %q, want %q", got.Unknown[i], text)
		}
	}
	if got.None() != (len(left)+len(unknown) == 0) {
		t.Errorf("None is %v", got.None())
	}
}

// A resource in a group of the run counts also without a tag. A resource of another owner does not count.
func TestAzure(t *testing.T) {
	s := &stand{answers: map[string]func() ([]byte, error){
		"az group list --tag nearfar_run=r --subscription s": prints(
			`[{"id": "/g/mine", "name": "mine", "tags": {"nearfar_run": "r", "nearfar_owner": "me"}}]`),
		"az resource list --tag nearfar_run=r --subscription s": prints(`[
			{"id": "/vm", "type": "vm", "tags": {"nearfar_owner": "me", "nearfar_expires": "2026-11-21T19:22:00Z"}},
			{"id": "/other", "type": "vm", "tags": {"nearfar_owner": "you"}},
			{"id": "/nobody", "type": "vm", "tags": null}]`),
		"az resource list --resource-group mine": prints(
			`[{"id": "/VM", "type": "vm", "tags": {}}, {"id": "/disk", "type": "disk"}]`),
	}}
	left := s.ask("me", Place{Azure, "s"})
	checkAnswer(t, left, []string{"Microsoft.Resources/resourceGroups /g/mine", "disk /disk", "vm /nobody", "vm /vm"},
		[]string{"vm /other"}, nil)
	want := Resource{Place{Azure, "s"}, "vm", "/vm", "me", "2026-11-21T19:22:00Z"}
	if got := left.Left[len(left.Left)-1]; got != want {
		t.Errorf("the machine is %+v, want %+v", got, want)
	}
	for _, call := range s.calls {
		if !strings.HasSuffix(call, " --subscription s --only-show-errors --output json") {
			t.Errorf("call %q", call)
		}
	}
	s.answers["az resource list --resource-group mine"] = fails("(ResourceGroupNotFound) not found")
	delete(s.answers, "az resource list --tag nearfar_run=r --subscription s")
	group := []string{"Microsoft.Resources/resourceGroups /g/mine"}
	checkAnswer(t, s.ask("me", Place{Azure, "s"}), group, nil, nil)
}

// The tagging service keeps listing deleted resources. A resource that its own service does not list is not left.
func TestAWS(t *testing.T) {
	const arn = "arn:aws:ec2:eu-west-1:1:"
	const balancer = "arn:aws:elasticloadbalancing:eu-west-1:1:loadbalancer/"
	tags := `"Tags": [{"Key": "nearfar_run", "Value": "r"}, {"Key": "nearfar_owner", "Value": "me"}]`
	var tagged []string
	for _, one := range []string{
		arn + "instance/i-gone", arn + "instance/i-1", arn + "volume/vol-1", arn + "volume/vol-gone",
		arn + "capacity-reservation/cr-1", arn + "placement-group/pg",
		balancer + "app/gone/1", balancer + "net/there/2", balancer + "classic-gone", "arn:aws:eks:eu-west-1:1:cluster/gone", "arn:aws:eks:eu-west-1:1:nodegroup/c/n/uuid",
		"arn:aws:s3:::bucket",
	} {
		tagged = append(tagged, fmt.Sprintf(`{"ResourceARN": %q, %s}`, one, tags))
	}
	s := &stand{answers: map[string]func() ([]byte, error){
		"aws resourcegroupstaggingapi get-resources --tag-filters Key=nearfar_run,Values=r --region eu-west-1": prints(
			`{"ResourceTagMappingList": [` + strings.Join(tagged, ",") + `]}`),
		"aws ec2 describe-tags": prints(`{"Tags": [
			{"ResourceType": "instance", "ResourceId": "i-gone"}, {"ResourceType": "volume", "ResourceId": "vol-1"},
			{"ResourceType": "natgateway", "ResourceId": "nat-gone"},
			{"ResourceType": "elastic-ip", "ResourceId": "eip-new"}]}`),
		"aws ec2 describe-volumes":   prints(`{"Volumes": [{"VolumeId": "vol-1", ` + tags + `}]}`),
		"aws ec2 describe-snapshots": prints(`{"Snapshots": [{"SnapshotId": "snap-new", ` + tags + `}]}`),
		"aws ec2 describe-instances": prints(
			`{"Reservations": [{"Instances": [{"InstanceId": "i-1", ` + tags + `}]}]}`),
		"aws ec2 describe-placement-groups": prints(`{"PlacementGroups": [{"GroupName": "pg", "State": "available", ` +
			tags + `}, {"GroupName": "foreign", "State": "available", "Tags": []}]}`),
		"aws elbv2 describe-load-balancers": prints(
			`{"LoadBalancers": [{"LoadBalancerArn": "` + balancer + `net/there/2"}]}`),
		"aws elbv2 describe-tags": prints(`{"TagDescriptions": [{"ResourceArn": "` + balancer + `net/there/2", ` +
			tags + `}]}`),
		"aws eks list-clusters":                  prints(`{"clusters": ["c", "foreign", "leaving"]}`),
		"aws eks describe-cluster --name c":      prints(`{"cluster": {"tags": {"nearfar_run": "r"}}}`),
		"aws eks describe-cluster --name f":      prints(`{"cluster": {"tags": {}}}`),
		"aws eks describe-cluster --name l":      fails("An error occurred (ResourceNotFoundException)"),
		"aws eks list-nodegroups --cluster-name": prints(`{"nodegroups": ["n"]}`),
	}}
	all := []string{
		"capacity-reservation cr-1", "eks cluster c", "eks nodegroup c/n", "elastic-ip eip-new", "instance i-1",
		"loadbalancer " + balancer +
			"net/there/2", "placement-group pg", "s3 arn:aws:s3:::bucket", "snapshot snap-new", "volume vol-1",
	}
	checkAnswer(t, s.ask("me", Place{AWS, "eu-west-1"}), all, nil, nil)
	for _, call := range s.calls {
		if !strings.HasSuffix(call, " --region eu-west-1 --output json") {
			t.Errorf("call %q", call)
		}
	}
	// A service that does not answer leaves it to the tagging service.
	s.answers["aws ec2 describe-volumes"] = fails(
		"An error occurred (UnauthorizedOperation) when calling DescribeVolumes")
	got := s.ask("me", Place{AWS, "eu-west-1"})
	if !slices.Contains(names(got.Left), "volume vol-gone") || len(got.Unknown) != 1 ||
		!strings.Contains(got.Unknown[0], "aws ec2 describe-volumes: exit status 1: An error occurred (Unauth") {
		t.Errorf("without tags: %q, %q", names(got.Left), got.Unknown)
	}
}

func TestGoogle(t *testing.T) {
	s := &stand{answers: map[string]func() ([]byte, error){
		"gcloud compute disks list --filter labels.nearfar_run=a-run-b --format json --quiet --project p": prints(`[
			{"name": "d", "selfLink": "https://www.googleapis.com/compute/v1/projects/p/zones/z/disks/d",
			 "labels": {"nearfar_owner": "me-here"}},
			{"name": "e", "labels": {"nearfar_owner": "you-here"}}]`),
		"gcloud container clusters list --filter resourceLabels.nearfar_run=": prints(
			`[{"name": "c", "resourceLabels": {"nearfar_owner": "me-here"}}]`),
	}}
	ask := func() Answer {
		return Auditor{Run: s.run}.Audit(context.Background(), Query{
			Run: "A.run b", Owner: "Me@here", Places: []Place{{Google, "p"}},
		})[0]
	}
	checkAnswer(t, ask(), []string{"clusters c", "disks zones/z/disks/d"}, []string{"disks e"}, nil)
	s.answers["gcloud container clusters list --filter resourceLabels.nearfar_run="] = fails(
		"ERROR: (gcloud.container.clusters.list) ResponseError: code=403, message=" + apiOff("container", "p"))
	checkAnswer(t, ask(), []string{"disks zones/z/disks/d"}, []string{"disks e"}, nil)
}

// A question without an answer says why, and is never taken for nothing.
func TestUnknown(t *testing.T) {
	absent := func() ([]byte, error) { return nil, &exec.Error{Name: "az", Err: exec.ErrNotFound} }
	for want, c := range map[string]struct {
		provider string
		answer   func() ([]byte, error)
	}{
		"az is not installed":                     {Azure, absent},
		"log in with: az login":                   {Azure, fails("ERROR: Please run 'az login' to setup account.")},
		"aws cannot ask: give aws credentials":    {AWS, fails("Unable to locate credentials. You can configure")},
		"--provider aws:REGION":                   {AWS, fails("You must specify a region.")},
		"gcloud cannot ask: log in with":          {Google, fails("ERROR: run:\n  $ gcloud auth login")},
		"what it prints cannot be read":           {Azure, prints("<html>")},
		"knows no program":                        {"example.com/a/b", nil},
		"(AuthorizationFailed) The client":        {Azure, fails("(AuthorizationFailed) The client\nmay not")},
		"aws eks list-clusters: what it prints c": {AWS, prints(`[1]`)},
	} {
		s := &stand{answers: map[string]func() ([]byte, error){"": c.answer}}
		got := s.ask("me", Place{Provider: c.provider})
		text := strings.Join(got.Unknown, "\n")
		if len(got.Left) > 0 || got.None() || !strings.Contains(text, want) ||
			strings.Count(text, "\n") > len(s.calls) {
			t.Errorf("want %q: %+v", want, got)
		}
	}
}

// A program that hangs is given up; thousands of resources are kept up to a limit; programs may ask again.
func TestLimits(t *testing.T) {
	hangs := func(ctx context.Context, _ string, _ ...string) ([]byte, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	a := Auditor{Run: hangs, Limit: time.Millisecond}
	got := a.Audit(t.Context(), Query{Run: "r", Places: []Place{{Azure, ""}, {AWS, ""}, {Google, ""}}})
	for i, program := range []string{"az", "aws", "gcloud"} {
		checkAnswer(t, got[i], nil, nil, []string{program + " did not answer in time"})
	}
	var many []azureResource
	for i := range maxListed + 5 {
		many = append(many, azureResource{ID: fmt.Sprintf("/%05d", i), Type: "disk"})
	}
	text, err := json.Marshal(many)
	if err != nil {
		t.Fatal(err)
	}
	s := &stand{answers: map[string]func() ([]byte, error){"az resource list": prints(string(text))}}
	answer := s.ask("me", Place{Provider: Azure})
	if len(answer.Left) != maxListed || len(answer.Unknown) != 1 ||
		!strings.Contains(answer.Unknown[0], "more than 10000") {
		t.Errorf("%d are left, unknown is %q", len(answer.Left), answer.Unknown)
	}
	rounds := 0
	s.answers["az resource list"] = func() ([]byte, error) {
		if rounds++; rounds < 3 {
			return []byte(`[{"id": "/d", "type": "disk"}]`), nil
		}
		return []byte("[]"), nil
	}
	answer = Auditor{Run: s.run, Pause: time.Millisecond}.Audit(t.Context(),
		Query{Run: "r", Places: []Place{{Azure, ""}}, Wait: time.Minute})[0]
	if checkAnswer(t, answer, nil, nil, nil); rounds != 3 {
		t.Errorf("asked %d times", rounds)
	}
}

func TestLabel(t *testing.T) {
	for text, want := range map[string]string{
		"me@host.example": "me-host-example", "A_b": "a_b", strings.Repeat("x", 70): strings.Repeat("x", 63), "é": "-",
	} {
		if got := Label(text); got != want {
			t.Errorf("Label(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestParsePlace(t *testing.T) {
	for text, want := range map[string]Place{
		"aws:eu-west-1": {AWS, "eu-west-1"}, "azure": {Azure, ""}, "google:example.com:p": {Google, "example.com:p"},
	} {
		if got, err := ParsePlace(text); err != nil || got != want {
			t.Errorf("ParsePlace(%q) = %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "oracle", "aws:--profile", "aws:a b", "aws:" + strings.Repeat("x", 200)} {
		if got, err := ParsePlace(text); err == nil {
			t.Errorf("ParsePlace(%q) = %v", text, got)
		}
	}
}

// The places come from the lock file, from the plan before anything is made, and from the state.
func TestPlaces(t *testing.T) {
	lock := `provider "registry.opentofu.org/hashicorp/aws" {
  version = "6.0.0"
}
provider "registry.terraform.io/azure/azapi" {
}
provider "registry.opentofu.org/hashicorp/random" {
}
provider "example.com/a/b" {
}
`
	want := []Place{{AWS, ""}, {Azure, ""}, {"example.com/a/b", ""}}
	if got := OfLockFile([]byte(lock)); !reflect.DeepEqual(got, want) {
		t.Errorf("the lock file has %v, want %v", got, want)
	}
	const provider = `"mode": "managed", "provider_name": "registry.opentofu.org/hashicorp/`
	shown := `{"variables": {"where": {"value": "eu-west-3"}},
		"configuration": {"provider_config": {
			"aws": {"full_name": "registry.opentofu.org/hashicorp/aws",
				"expressions": {"region": {"references": ["var.where"]}}},
			"google": {"full_name": "registry.opentofu.org/hashicorp/google",
				"expressions": {"project": {"constant_value": "p1"}}}}},
		"prior_state": {"values": {"root_module": {"resources": [
			{` + provider + `aws", "values": {"arn": "arn:aws:ec2:eu-west-1:1:instance/i"}},
			{` + provider + `azurerm", "values": {"id": "/subscriptions/ABC/resourceGroups/g"}}]}}},
		"planned_values": {"root_module": {"resources": [{` + provider + `random", "values": {}},
				{"mode": "data", "provider_name": "registry.opentofu.org/hashicorp/aws", "values": {"region": "us-east-2"}}],
			"child_modules": [{"resources": [
				{` + provider + `aws", "values": {"availability_zone": "us-west-2-lax-1a"}},
				{` + provider + `aws", "values": {"region": "eu-central-1"}},
				{` + provider + `google", "values": {"project": "p2"}}]}]}}}`
	got, err := OfTofu([]byte(shown))
	want = []Place{{AWS, "eu-central-1"}, {AWS, "eu-west-1"}, {AWS, "eu-west-3"}, {AWS, "us-west-2"}, {Azure, "abc"},
		{Google, "p1"}, {Google, "p2"}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("the plan has %v, %v; want %v", got, err, want)
	}
	if got, err := OfTofu([]byte("no")); err == nil {
		t.Errorf("no JSON has %v", got)
	}
}

func TestPlacesOfTheEnvironment(t *testing.T) {
	t.Setenv("AWS_REGION", "eu-north-1")
	t.Setenv("AWS_DEFAULT_REGION", "us-east-1")
	t.Setenv("ARM_SUBSCRIPTION_ID", "--debug")
	t.Setenv("GOOGLE_PROJECT", "")
	got := OfEnvironment([]Place{{AWS, ""}, {Azure, ""}, {Google, "p"}})
	if want := []Place{{AWS, "eu-north-1"}, {Azure, ""}, {Google, "p"}}; !reflect.DeepEqual(got, want) {
		t.Errorf("places are %v, want %v", got, want)
	}
}
