package preflight

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"nearfar/internal/cloud/cloudtool"
)

// azurePolicies asks Azure Policy what it would deny: a public address, and a VM of each size. Azure evaluates the
// policies itself. Source of the form:
// https://learn.microsoft.com/rest/api/policyinsights/policy-restrictions/check-at-subscription-scope.
func (a *asker) azurePolicies(ctx context.Context, subscription string) {
	asked := map[string]object{}
	if a.place.Counts[kindAddress] > 0 {
		asked["a public address"] = object{"type": "Microsoft.Network/publicIPAddresses", "location": a.place.Region,
			"sku": object{"name": "Standard"}, "properties": object{"publicIPAllocationMethod": "Static"}}
		asked["an interface with a public address"] = object{
			"type": "Microsoft.Network/networkInterfaces", "location": a.place.Region, "properties": object{
				"ipConfigurations": []any{object{"name": "ip", "properties": object{"publicIPAddress": object{
					"id": "/subscriptions/" + subscription +
						"/resourceGroups/nearfar/providers/Microsoft.Network/publicIPAddresses/nearfar",
				}}}},
			},
		}
	}
	for _, m := range a.place.Machines {
		if !m.Node {
			asked["a VM of "+m.Size] = object{"type": "Microsoft.Compute/virtualMachines", "location": a.place.Region,
				"properties": object{"hardwareProfile": object{"vmSize": m.Size}}}
		}
	}
	var tasks []func()
	for _, about := range slices.Sorted(maps.Keys(asked)) {
		tasks = append(tasks, func() { a.azurePolicy(ctx, subscription, about, asked[about]) })
	}
	cloudtool.Each(tasks...)
}

type object = map[string]any

// azurePolicy asks about one resource.
func (a *asker) azurePolicy(ctx context.Context, subscription, about string, resource object) {
	body, err := json.Marshal(object{"resourceDetails": object{"resourceContent": resource, "apiVersion": "2023-09-01"}})
	if err != nil {
		a.unknown(checkPolicy, about, err)
		return
	}
	type policy struct {
		Definition string `json:"policyDefinitionId"`
		Assignment string `json:"policyAssignmentId"`
	}
	var answer struct {
		Fields []struct {
			Field        string
			Restrictions []struct {
				Result string
				Policy policy
			}
		} `json:"fieldRestrictions"`
		Content struct {
			Evaluations []struct {
				Result string `json:"evaluationResult"`
				Policy policy `json:"policyInfo"`
			} `json:"policyEvaluations"`
		} `json:"contentEvaluationResult"`
	}
	err = a.az(ctx, &answer, "rest", "--method", "post", "--url", "/subscriptions/"+subscription+
		"/providers/Microsoft.PolicyInsights/checkPolicyRestrictions?api-version=2023-03-01", "--body", string(body))
	if err != nil {
		a.unknown(checkPolicy, about, err)
		return
	}
	denied := false
	for _, e := range answer.Content.Evaluations {
		if e.Result == "NonCompliant" {
			denied = true
			a.note(checkPolicy, about, Refused, "denied by the policy "+e.Policy.Assignment,
				"ask its owner for an exemption; machines without a public address need a way of your own to reach them")
		}
	}
	for _, f := range answer.Fields {
		for _, r := range f.Restrictions {
			if r.Result == "Deny" || r.Result == "Removed" {
				denied = true
				a.note(checkPolicy, about, Refused, fmt.Sprintf("%s of %s by the policy %s", r.Result, f.Field,
					r.Policy.Assignment), "ask its owner for an exemption")
			}
		}
	}
	if !denied {
		a.note(checkPolicy, about, OK, "no policy of the subscription denies it", "")
	}
}
