package preflight

import (
	"testing"
	"time"

	"nearfar/internal/kits/cloudtest"
)

// The real aws asks moto, a fake of AWS, about the lab of EC2. What moto does not know was not looked at.
func TestAWSWithMoto(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts aws and moto, which takes seconds")
	}
	cloudtest.Moto(t)
	t.Setenv("AWS_MAX_ATTEMPTS", "1")                                                // else aws asks five times what moto does not know
	all := Checker{Now: today(), Limit: 20 * time.Minute}.Check(t.Context(), ec2(t)) // the machine can be busy
	wantCheck(t, all, checkLogin, "account 123456789012", OK, "arn:aws:")
	wantCheck(t, all, checkSize, "c6gn.4xlarge", OK, "16 vCPUs, offered in [")
	wantCheck(t, all, checkPlacement, "c6gn.4xlarge in a placement group", OK, "")
	wantCheck(t, all, checkQuota, "network (L-F678F1CE)", OK, "1 of 5 are used, and 1 more are wanted")
	wantCheck(t, all, checkQuota, "internet gateway (L-A4707A72)", OK, "of 5 are used, and 1 more are wanted")
	wantCheck(t, all, checkImage, "", Refused, "there is no such image")
	wantCheck(t, all, checkQuota, "vCPUs of running on-demand standard instances", Unknown,
		"get-aws-default-service-quota")
}
