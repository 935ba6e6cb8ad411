package provision

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"nearfar/internal/cloud/preflight"
)

// extendable fails if a plan that only renews the time of machines would delete one, or stop it. Whatever a machine got
// at its start says when it ends, so a new time can mean a new machine. That has to be said in words of its own: who
// renews the time wants to keep the machines.
func (plan Plan) extendable() error {
	var lost []string
	for _, c := range plan.Changes {
		if c.Action == "delete" || c.Action == "replace" {
			lost = append(lost, c.Resource+" ("+c.Action+")")
		}
	}
	for _, resource := range plan.stops {
		lost = append(lost, resource+" (stopped and started: its public address changes)")
	}
	if len(lost) == 0 {
		return nil
	}
	// OpenTofu prints the changes in the order in which it found them, which differs from plan to plan.
	slices.Sort(lost)
	const most = 5
	text := strings.Join(lost[:min(len(lost), most)], ", ")
	if more := len(lost) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return errors.New("more time would cost the machines, and nothing was done: " + text + ". They got the time of " +
		"their end when they were made. Delete them with nearfar down, and make new ones with a greater ttl")
}

// stopped lists the machines that a plan, as `tofu show -json` prints it, changes by stopping and starting them: those
// of EC2 whose user_data changes (resource aws_instance of hashicorp/aws, "Updates to this field will trigger a
// stop/start of the EC2 instance by default").
func stopped(shown []byte) ([]string, error) {
	var plan preflight.ShownPlan
	if err := json.Unmarshal(shown, &plan); err != nil {
		return nil, err
	}
	var all []string
	for _, c := range plan.Changes {
		if c.Type != "aws_instance" || len(c.Change.Actions) != 1 || c.Change.Actions[0] != "update" {
			continue
		}
		for _, key := range []string{"user_data", "user_data_base64", "instance_type"} {
			if c.Change.Before[key] != c.Change.After[key] {
				all = append(all, short(c.Address))
				break
			}
		}
	}
	return all, nil
}
