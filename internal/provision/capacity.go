package provision

import (
	"fmt"
	"strings"
)

// A Refusal is a provider's answer that it lacks capacity, or that the account's quota is used up.
type Refusal struct {
	// Code is the provider's code, Resource the address of what was refused; it may be empty.
	Code, Resource string
	// text is how an error without the code begins; empty if all have it.
	text string
	// Meaning says in words what the code means, and what helps.
	Meaning string
}

// String is one line.
func (r Refusal) String() string {
	if r.Resource == "" {
		return fmt.Sprintf("%s: %s", r.Code, r.Meaning)
	}
	return fmt.Sprintf("%s for %s: %s", r.Code, r.Resource, r.Meaning)
}

// codes are the codes for lack of capacity and quota, as providers write them into their errors, the longer ones before
// those that they contain. Sources: Azure, "Troubleshoot allocation failures" and "Resolve errors for SKU not
// available" and "... quotas"; AWS, "Error codes for the Amazon EC2 API" with the messages there, as CloudFormation
// leaves some of these codes out, and CloudFormation's "Handler error codes"; Google Cloud, "Troubleshoot resource
// availability" and "Allocation quotas".
func codes() []Refusal {
	const (
		group = "no data centre can hold all that this placement asks for at once. Other sizes help, the larger ones " +
			"first; fewer constraints help too. A proximity placement group stays in its data centre until its last " +
			"machine is deleted, so delete its machines before a change of sizes"
		full = "the provider has no room for this size there now. Another size, another zone or a later time helps. " +
			"A proximity placement group stays in its data centre until its last machine is deleted"
		offered = "the provider does not offer this size there, or not to this account. Another size or zone helps"
		quota   = "the account's quota is used up. A smaller size, fewer machines or a higher quota helps; waiting " +
			"does not"
	)
	return []Refusal{
		{Code: "OverconstrainedZonalAllocationRequest", Meaning: group},
		{Code: "OverconstrainedAllocationRequest", Meaning: group},
		{Code: "ZonalAllocationFailed", Meaning: full},
		{Code: "AllocationFailed", Meaning: full},
		{Code: "SkuNotAvailable", Meaning: offered},
		{Code: "InsufficientInstanceCapacity", Meaning: full, text: "We currently do not have sufficient "},
		{Code: "InsufficientHostCapacity", Meaning: full},
		{Code: "InsufficientReservedInstanceCapacity", Meaning: full},
		{Code: "ZONE_RESOURCE_POOL_EXHAUSTED", Meaning: full},
		{Code: "VcpuLimitExceeded", Meaning: quota, text: "You have requested more vCPU capacity than "},
		{Code: "InstanceLimitExceeded", Meaning: quota},
		{Code: "MaxSpotInstanceCountExceeded", Meaning: quota},
		{Code: "ServiceLimitExceeded", Meaning: quota},
		{Code: "QuotaExceeded", Meaning: quota},
		{Code: "QUOTA_EXCEEDED", Meaning: quota},
	}
}

// refusal finds the first error that is about capacity or quota.
func refusal(found []diagnostic) (Refusal, bool) {
	for _, d := range found {
		text := d.Summary + " " + d.Detail
		for _, r := range codes() {
			if strings.Contains(text, r.Code) || r.text != "" && strings.Contains(text, r.text) {
				r.Resource = d.Address
				return r, true
			}
		}
	}
	return Refusal{}, false
}
