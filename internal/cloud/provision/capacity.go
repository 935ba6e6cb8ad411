package provision

import (
	"fmt"
	"slices"
	"strings"
)

// A Refusal is a provider's answer that it lacks capacity, or that the account's quota is used up.
type Refusal struct {
	// Code is the provider's code, Resource the address of what was refused; it may be empty.
	Code, Resource string
	// texts are parts of errors that have no code; * stands for any words. The providers of OpenTofu print the message
	// that they get, and not always its code.
	texts []string
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
// those that they contain. testdata/refusals.json has errors that others have seen. Sources: Azure, "Troubleshoot
// allocation failures" and "Resolve errors for SKU not available" and "... quotas"; AWS, "Error codes for the Amazon
// EC2 API" with the messages there, as CloudFormation leaves some of these codes out, and CloudFormation's "Handler
// error codes"; Google Cloud, "Troubleshoot resource availability" and "Allocation quotas".
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
		addresses = "the account's quota of public addresses is used up. Fewer machines, the deletion of addresses that " +
			"are not used, or a higher quota helps"
		networks = "the account's quota of networks in this region is used up. The deletion of one that is not used, " +
			"another region or a higher quota helps"
	)
	return []Refusal{
		{Code: "OverconstrainedZonalAllocationRequest", Meaning: group},
		{Code: "OverconstrainedAllocationRequest", Meaning: group},
		{Code: "ZonalAllocationFailed", Meaning: full},
		{Code: "AllocationFailed", Meaning: full},
		{Code: "SkuNotAvailable", Meaning: offered, texts: []string{
			"The requested * is currently not available in location "}},
		{Code: "VMSizeNotSupported", Meaning: offered, texts: []string{
			"The VM size of * is not allowed in your subscription in location "}},
		{Code: "ErrCode_InsufficientVCPUQuota", Meaning: quota, texts: []string{"Insufficient vcpu quota requested "}},
		{Code: "PublicIPCountLimitReached", Meaning: addresses, texts: []string{
			"Cannot create more than * public IP addresses "}},
		{Code: "InsufficientInstanceCapacity", Meaning: full, texts: []string{"We currently do not have sufficient "}},
		{Code: "InsufficientHostCapacity", Meaning: full},
		{Code: "InsufficientReservedInstanceCapacity", Meaning: full},
		// The word alone is in many errors, such as "Unsupported argument" of OpenTofu.
		{Code: unsupported, Meaning: offered, texts: []string{
			"is not supported in your requested Availability Zone",
			"The requested configuration is currently not supported", `Code="Unsupported"`}},
		{Code: "ZONE_RESOURCE_POOL_EXHAUSTED", Meaning: full, texts: []string{
			"does not have enough resources available to fulfill the request", "VM instance * is currently unavailable in "}},
		{Code: "VcpuLimitExceeded", Meaning: quota, texts: []string{"You have requested more vCPU capacity than "}},
		{Code: "InstanceLimitExceeded", Meaning: quota, texts: []string{"You have requested more instances ("}},
		{Code: "AddressLimitExceeded", Meaning: addresses, texts: []string{
			"The maximum number of addresses has been reached"}},
		{Code: "VpcLimitExceeded", Meaning: networks, texts: []string{"The maximum number of VPCs has been reached"}},
		{Code: "MaxSpotInstanceCountExceeded", Meaning: quota},
		{Code: "ServiceLimitExceeded", Meaning: quota},
		{Code: "QuotaExceeded", Meaning: quota, texts: []string{
			"results in exceeding approved * quota", "results in exceeding quota limits of "}},
		// A rate of requests has quotas too ("Quota exceeded for quota group"): waiting helps there.
		{Code: "QUOTA_EXCEEDED", Meaning: quota, texts: []string{
			"Quota '*' exceeded", "Quota limit '*' has been exceeded", "Insufficient regional quota to satisfy request"}},
	}
}

// unsupported is EC2's code for a type of instance that a zone does not have.
const unsupported = "Unsupported"

// in says whether an error is this refusal. Its text has single spaces.
func (r Refusal) in(text string) bool {
	if r.Code != unsupported && strings.Contains(text, r.Code) {
		return true
	}
	return slices.ContainsFunc(r.texts, func(part string) bool { return holds(text, part) })
}

// holds says whether a text has the parts of a pattern between its *, in this order.
func holds(text, pattern string) bool {
	for part := range strings.SplitSeq(pattern, "*") {
		_, rest, found := strings.Cut(text, part)
		if !found {
			return false
		}
		text = rest
	}
	return true
}

// refusal finds the first error that is about capacity or quota.
func refusal(found []diagnostic) (Refusal, bool) {
	for _, d := range found {
		text := strings.Join(strings.Fields(d.Summary+" "+d.Detail), " ") // programs break lines anywhere
		for _, r := range codes() {
			if r.in(text) {
				r.Resource = d.Address
				return r, true
			}
		}
	}
	return Refusal{}, false
}
