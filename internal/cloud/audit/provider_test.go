//go:build linux

package audit

import (
	"os"
	"strings"
	"testing"

	"nearfar/internal/kits/cloudtest"
	"nearfar/internal/kits/tofutest"
)

// What the real provider hashicorp/aws makes of the labs in moto, a fake of AWS, is found by an audit, changes nothing
// when it is planned again, and is gone in the end. moto says nothing about capacity and placement.
func TestProvidersAWS(t *testing.T) {
	real := tofutest.NewReal(t, "aws")
	t.Setenv("MOTO_IAM_LOAD_MANAGED_POLICIES", "true")
	cloudtest.Moto(t)
	for _, lab := range real.Labs() {
		t.Run(lab, func(t *testing.T) {
			env := append(tofutest.Variables(lab), "AWS_REGION=eu-west-1")
			for _, one := range os.Environ() {
				if strings.HasPrefix(one, "AWS_") {
					env = append(env, one)
				}
			}
			module := real.Module(t, lab, env...)
			module.Must("apply", "-auto-approve", "-input=false", "-no-color")
			audit := func() Answer {
				t.Helper()
				query := Query{Run: lab, Owner: "me@here", Places: []Place{{AWS, "eu-west-1"}}}
				answer := Auditor{}.Audit(t.Context(), query)[0]
				for _, why := range answer.Unknown {
					t.Errorf("unknown: %s", why)
				}
				return answer
			}
			found := audit()
			t.Logf("found are %q", names(found.Left))
			if found.None() {
				t.Error("an audit finds nothing")
			}
			module.Must("plan", "-detailed-exitcode", "-input=false", "-no-color")
			module.Must("destroy", "-auto-approve", "-input=false", "-no-color")
			// An audit asks for tags, which moto keeps of what is deleted. So what there is is listed.
			for kind, list := range map[string]string{
				"vpcs": "Vpcs", "subnets": "Subnets", "internet-gateways": "InternetGateways",
				"route-tables": "RouteTables", "security-groups": "SecurityGroups", "key-pairs": "KeyPairs",
				"launch-templates": "LaunchTemplates",
			} {
				left := strings.TrimSpace(string(module.Run("aws", "ec2", "describe-"+kind, "--region", "eu-west-1",
					"--output", "text", "--filters", "Name=tag:nearfar_run,Values="+lab, "--query", "length("+list+")")))
				if left != "0" {
					t.Errorf("left are %s %s", left, kind)
				}
			}
		})
	}
}
