//go:build linux

package audit

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"nearfar/internal/cloudtest"
)

// startMoto starts moto on loopback, and lets the real aws talk to it.
func startMoto(t *testing.T) {
	t.Helper()
	programs := cloudtest.Folder(t, "aws")
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(free.Addr().String())
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", programs+string(os.PathListSeparator)+os.Getenv("PATH"))
	for _, one := range os.Environ() { // the user's own configuration
		if name, _, _ := strings.Cut(one, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, "")
			if err := os.Unsetenv(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	nothing := filepath.Join(t.TempDir(), "nothing")
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": "http://127.0.0.1:" + port, "AWS_ACCESS_KEY_ID": "test", "AWS_CONFIG_FILE": nothing,
		"AWS_SHARED_CREDENTIALS_FILE": nothing, "AWS_SECRET_ACCESS_KEY": "CANARY", "AWS_EC2_METADATA_DISABLED": "true",
		"NO_PROXY": "127.0.0.1",
	} {
		t.Setenv(name, value)
	}
	cmd := exec.Command(filepath.Join(programs, "python"), "testdata/moto_with_groups.py", "-H", "127.0.0.1",
		"-p", port)
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // it was killed
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		<-ended
	})
	for limit := time.Now().Add(5 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		answer, err := http.Get("http://127.0.0.1:" + port + "/moto-api/")
		if err == nil {
			_ = answer.Body.Close() // only its existence counts
			return
		}
		if time.Now().After(limit) {
			t.Fatalf("moto does not answer: %v", err)
		}
	}
}

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
	startMoto(t)
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
