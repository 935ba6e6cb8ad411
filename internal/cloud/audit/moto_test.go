//go:build linux

package audit

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"nearfar/internal/kits/cloudtest"
)

// do runs the real aws, and gives what it prints.
func do(t *testing.T, args ...string) string {
	t.Helper()
	out, err := Installed(t.Context(), "aws", append(args, "--region", "us-east-1", "--output", "text")...)
	if err != nil {
		t.Fatalf("aws %q: %v", args, err)
	}
	return strings.TrimSpace(string(out))
}

// Resources that the real aws makes in moto, a fake of AWS, are found until they are deleted.
func TestAWSWithMoto(t *testing.T) {
	cloudtest.Moto(t)
	tag := func(kind string) string {
		return fmt.Sprintf("ResourceType=%s,Tags=[{Key=nearfar_run,Value=r},{Key=nearfar_owner,Value=me}]", kind)
	}
	instance := do(t, "ec2", "run-instances", "--image-id", "ami-12c6146b", "--instance-type", "t3.micro",
		"--tag-specifications", tag("instance"), "--query", "Instances[0].InstanceId")
	volume := do(t, "ec2", "create-volume", "--availability-zone", "us-east-1a", "--size", "1",
		"--tag-specifications", tag("volume"), "--query", "VolumeId")
	do(t, "ec2", "create-volume", "--availability-zone", "us-east-1a", "--size", "1", "--tag-specifications",
		"ResourceType=volume,Tags=[{Key=nearfar_run,Value=other}]")
	do(t, "ec2", "create-placement-group", "--group-name", "pg", "--strategy", "cluster", "--tag-specifications",
		tag("placement-group"))
	do(t, "elb", "create-load-balancer", "--load-balancer-name", "old", "--listeners",
		"Protocol=HTTP,LoadBalancerPort=80,InstanceProtocol=HTTP,InstancePort=80", "--availability-zones", "us-east-1a",
		"--tags", "Key=nearfar_run,Value=r")
	audit := func() Answer {
		t.Helper()
		answer := Auditor{}.Audit(t.Context(), Query{Run: "r", Owner: "me", Places: []Place{{AWS, "us-east-1"}}})[0]
		for _, why := range answer.Unknown {
			t.Errorf("unknown: %s", why)
		}
		return answer
	}
	want := []string{"classic load balancer old", "instance " + instance, "placement-group pg", "volume " + volume}
	if got := audit(); !slices.Equal(names(got.Left), want) || got.Left[1].Owner != "me" {
		t.Errorf("left are %v, want %q", got.Left, want)
	}
	do(t, "ec2", "terminate-instances", "--instance-ids", instance) // moto and AWS go on listing it
	do(t, "ec2", "delete-volume", "--volume-id", volume)
	do(t, "ec2", "delete-placement-group", "--group-name", "pg")
	do(t, "elb", "delete-load-balancer", "--load-balancer-name", "old")
	if got := audit(); !got.None() {
		t.Errorf("left are %v", got.Left)
	}
}
