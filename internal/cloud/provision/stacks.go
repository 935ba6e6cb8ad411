package provision

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"

	"nearfar/internal/base/files"
	"nearfar/internal/cloud/cloudtool"
)

// stack is a stack that was deployed.
type stack struct {
	Name string `json:"name"`
	// Environment says where it is.
	Environment struct {
		Region string `json:"region"`
	} `json:"environment"`
}

// stacksName is the file in the project's folder with all stacks that were ever deployed.
const stacksName = "stacks.json"

// stacks reads which stacks were deployed.
func (a *app) stacks() (known []stack, err error) {
	text, err := readBounded(a.project.own(stacksName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &known)
	}
	return known, err
}

// save writes which stacks were deployed.
func (a *app) save(known []stack) error {
	text, err := json.Marshal(known)
	if err != nil {
		return err
	}
	return files.WriteWhole(a.project.own(stacksName), text)
}

// list asks cdk for the stacks of templates.
func (a *app) list(ctx context.Context, folder string) (all []stack, err error) {
	out, err := a.output(ctx, nil, a.flags(folder, "list", "--long", "--json")...)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(out, &all); err != nil {
		return nil, fmt.Errorf("cdk list --json: %w", err)
	}
	return all, nil
}

// know adds the stacks that are planned to those that are known, before they are deployed.
func (a *app) know(ctx context.Context) error {
	planned, err := a.list(ctx, a.project.own(assemblyPlan))
	if err != nil {
		return err
	}
	known, err := a.stacks()
	if err != nil {
		return err
	}
	return a.save(append(otherThan(known, planned), planned...))
}

// trust takes the stacks of these templates from the known ones, after cdk said that they are deleted, if nobody else
// can be asked.
func (a *app) trust(ctx context.Context, folder string) error {
	if _, err := exec.LookPath("aws"); err == nil {
		return nil // resources asks CloudFormation
	}
	deleted, err := a.list(ctx, folder)
	if err != nil {
		return err
	}
	known, err := a.stacks()
	if err != nil {
		return err
	}
	return a.save(otherThan(known, deleted))
}

// otherThan gives the stacks that are not among others.
func otherThan(all, others []stack) []stack {
	return slices.DeleteFunc(slices.Clone(all), func(s stack) bool { return slices.Contains(others, s) })
}

// resources asks CloudFormation with aws for the resources of all known stacks. Without aws, the stacks are listed that
// cdk has not deleted.
func (a *app) resources(ctx context.Context) (found Remaining, err error) {
	known, err := a.stacks()
	if err != nil {
		return found, err
	}
	if _, err := exec.LookPath("aws"); err != nil {
		for _, s := range known {
			found.Vague = true
			found.Resources = append(found.Resources, "stack "+short(s.Name))
		}
		return found, nil
	}
	for _, s := range known {
		resources, err := ask(ctx, s)
		if err != nil {
			return found, err
		}
		found.Resources = append(found.Resources, resources...)
	}
	return found, nil
}

// ask asks CloudFormation for the resources of a stack; none if there is no such stack.
func ask(ctx context.Context, s stack) (resources []string, err error) {
	call := func(verb string, into any) error {
		args := []string{"aws", "cloudformation", verb, "--stack-name", s.Name, "--output", "json"}
		region := s.Environment.Region
		if region == "unknown-region" { // the app leaves it to cdk, which takes this first
			region = os.Getenv("AWS_REGION")
		}
		if region != "" {
			args = append(args, "--region", region)
		}
		out, err := cloudtool.Run(ctx, maxOutput, args...)
		if err == nil {
			err = json.Unmarshal(out, into)
		}
		if err != nil && ctx.Err() == nil {
			err = fmt.Errorf("%s: %w", cloudtool.Name(args...), err)
		}
		return err
	}
	var described struct {
		Stacks []struct{ StackStatus string }
	}
	err = call("describe-stacks", &described)
	if err != nil && strings.Contains(err.Error(), "does not exist") {
		return nil, nil
	}
	if err != nil || len(described.Stacks) == 0 || described.Stacks[0].StackStatus == "DELETE_COMPLETE" {
		return nil, err
	}
	var listed struct {
		StackResourceSummaries []struct {
			Name   string `json:"LogicalResourceId"`
			Type   string `json:"ResourceType"`
			Status string `json:"ResourceStatus"`
		}
	}
	if err := call("list-stack-resources", &listed); err != nil {
		return nil, err
	}
	for _, r := range listed.StackResourceSummaries {
		if r.Status != "DELETE_COMPLETE" {
			resources = append(resources, short(fmt.Sprintf("%s/%s (%s)", s.Name, r.Name, r.Type)))
		}
	}
	if len(resources) == 0 {
		resources = []string{fmt.Sprintf("stack %s (%s)", short(s.Name), short(described.Stacks[0].StackStatus))}
	}
	return resources, nil
}
