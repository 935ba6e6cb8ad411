package provision

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nearfar/internal/declare/experiment"
)

// cdkProject is a project with an app, without a record.
func cdkProject(t *testing.T) (*Project, *app) {
	t.Helper()
	p := testProject(t)
	p.kind, p.module = kindCdk, filepath.Dir(p.file)
	if err := makeFolder(p.folder); err != nil {
		t.Fatal(err)
	}
	return p, &app{project: p}
}

// Lines of cdk diff about resources are changes. Those about other things are none.
func TestCdkDifferences(t *testing.T) {
	var plan Plan
	for line := range strings.Lines(`Stack stand (aws://123456789012/us-east-1)
Parameters
[+] Parameter Ami Ami: {"Type":"AWS::SSM::Parameter::Value<String>"}
Resources
[+] AWS::EC2::VPC Vpc
[-] AWS::EC2::Subnet net/A netA1B2 destroy
[~] AWS::EC2::Instance vm vmA1B2 replace
 └─ [~] InstanceType (requires replacement)
Outputs
[+] Output hosts: {"Value":"x"}
`) {
		plan.difference(strings.TrimRight(line, "\n"))
	}
	want := []Change{
		{"AWS::EC2::VPC Vpc", "create"}, {"AWS::EC2::Subnet net/A netA1B2 destroy", "delete"},
		{"AWS::EC2::Instance vm vmA1B2 replace", "update"},
	}
	if !slices.Equal(plan.Changes, want) || plan.Add != 1 || plan.Change != 1 || plan.Remove != 1 {
		t.Errorf("%+v", plan)
	}
}

// The lines with which CloudFormation and az refuse for lack of capacity are found, with the resource.
func TestSaid(t *testing.T) {
	for line, want := range map[string][2]string{
		`stand | 1/4 | 1:02:03 PM | CREATE_FAILED        | AWS::EC2::Instance | vm (vmA1B2) Resource handler returned ` +
			`message: "We currently do not have sufficient c5.large capacity in the Availability Zone you requested ` +
			`(us-east-1a). (Service: Ec2, Status Code: 500)" (HandlerErrorCode: GeneralServiceException)`: {
			"InsufficientInstanceCapacity", "AWS::EC2::Instance vm"},
		`stand | 1/4 | 1:02:03 PM | CREATE_FAILED | AWS::EC2::EIP | ip (ipA1) limit (HandlerErrorCode: ServiceLimitExceeded)`: {
			"ServiceLimitExceeded", "AWS::EC2::EIP ip"},
		"ERROR: (OverconstrainedAllocationRequest) Allocation failed.": {"OverconstrainedAllocationRequest", ""},
		"(ZonalAllocationFailed) Allocation failed. We do not have sufficient capacity for this size.": {
			"ZonalAllocationFailed", ""},
	} {
		seen := &said{}
		seen.line([]byte(line), stackEvent([]byte(line)))
		var failed *FailedError
		err := seen.failure("x", errors.New("exit status 1"))
		if !errors.As(err, &failed) || failed.Refusal == nil || failed.Refusal.Code != want[0] ||
			failed.Refusal.Resource != want[1] {
			t.Errorf("%s: %+v", line, failed)
		}
	}
	seen := &said{}
	for _, line := range []string{"one", "", "two"} {
		seen.line([]byte(line), "")
	}
	if err := seen.failure("up.sh", errors.New("exit status 1")); err.Error() != "up.sh: one\ntwo\nexit status 1" {
		t.Errorf("%q", err)
	}
}

// The outputs of all stacks are put together.
func TestCdkHosts(t *testing.T) {
	p, a := cdkProject(t)
	for outputs, want := range map[string]string{
		`{"one": {"hosts": "{\"a\": {\"ssh\": \"x\"}}"}, "two": {"hosts": "{\"b\": {}}", "other": "y"}}`: `{"a":{"ssh":"x"},"b":{}}`,
		`{"one": {"other": "y"}}`: "", "": "", `{"one": {"hosts": "vm"}}`: "is no mapping of hosts in JSON",
	} {
		if err := os.WriteFile(p.own(outputsName), []byte(outputs), 0o600); err != nil {
			t.Fatal(err)
		}
		got, _, err := a.hosts(t.Context())
		if text := string(got); err != nil && !strings.Contains(err.Error(), want) || err == nil && compact(t, text) != want {
			t.Errorf("%s: %s (%v), want %s", outputs, got, err, want)
		}
	}
}

func compact(t *testing.T, text string) string {
	t.Helper()
	if text == "" {
		return ""
	}
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(again)
}

// Without aws, stacks are left that cdk has not deleted: also one that the app no longer has.
func TestStacksWithoutAws(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, a := cdkProject(t)
	old, now := stack{Name: "old"}, stack{Name: "now"}
	if err := a.save([]stack{old, now}); err != nil {
		t.Fatal(err)
	}
	found, err := a.resources(t.Context())
	if err != nil || !found.Vague || !slices.Equal(found.Resources, []string{"stack old", "stack now"}) {
		t.Errorf("%+v, %v", found, err)
	}
	if rest := otherThan([]stack{old, now}, []stack{now}); !slices.Equal(rest, []stack{old}) {
		t.Errorf("%v", rest)
	}
}

// Scripts and apps get the variables under their own names, and nearfar's. The file's own values hold.
func TestEnvironment(t *testing.T) {
	t.Setenv("zone", "outside")
	p, _ := cdkProject(t)
	env := p.environment([]experiment.ModuleVariable{{Name: "zone", Value: "1"}})
	values := map[string]string{}
	for _, one := range env {
		name, value, _ := strings.Cut(one, "=")
		values[name] = value
	}
	for name, want := range map[string]string{
		"zone": "1", "NEARFAR_RUN": "x", "NEARFAR_OWNER": "me@here", "NEARFAR_HOSTS": p.own(hostsName),
	} {
		if values[name] != want {
			t.Errorf("%s is %q, want %q", name, values[name], want)
		}
	}
}
