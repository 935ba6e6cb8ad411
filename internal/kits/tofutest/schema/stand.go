package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

const resourceType = "stand_machine"

// machine is a machine of the cloud, as its file has it.
type machine struct {
	Name string            `json:"name"`
	Size string            `json:"size"`
	Zone string            `json:"zone"`
	Tags map[string]string `json:"tags"`
}

// machineRefusal makes the creation of a machine fail. An empty size or zone stands for any.
type machineRefusal struct {
	Size    string `json:"size"`
	Zone    string `json:"zone"`
	Message string `json:"message"`
}

// stand is a provider whose cloud is a folder that its configuration names: a machine is a file in it. Other files of
// the folder say which machines are refused, and hold the provider at a step, so that a test can kill what runs at that
// moment.
type stand struct {
	described
	cloud string
}

func newStand() *stand {
	return &stand{described: described{known: schemas{
		provider: configSchema(), resources: map[string]*tfprotov6.Schema{resourceType: machineSchema()},
	}}}
}

func attribute(name string, t tftypes.Type, set func(*tfprotov6.SchemaAttribute)) *tfprotov6.SchemaAttribute {
	a := &tfprotov6.SchemaAttribute{Name: name, Type: t}
	set(a)
	return a
}

func required(a *tfprotov6.SchemaAttribute) { a.Required = true }
func optional(a *tfprotov6.SchemaAttribute) { a.Optional = true }
func computed(a *tfprotov6.SchemaAttribute) { a.Computed = true }

func configSchema() *tfprotov6.Schema {
	return &tfprotov6.Schema{Block: &tfprotov6.SchemaBlock{Attributes: []*tfprotov6.SchemaAttribute{
		attribute("cloud", tftypes.String, required),
		attribute("token", tftypes.String, func(a *tfprotov6.SchemaAttribute) { a.Optional, a.Sensitive = true, true }),
	}}}
}

func machineSchema() *tfprotov6.Schema {
	return &tfprotov6.Schema{Block: &tfprotov6.SchemaBlock{Attributes: []*tfprotov6.SchemaAttribute{
		attribute("name", tftypes.String, required),
		attribute("size", tftypes.String, optional),
		attribute("zone", tftypes.String, optional),
		attribute("tags", tftypes.Map{ElementType: tftypes.String}, optional),
		attribute("id", tftypes.String, computed),
		attribute("ssh", tftypes.String, computed),
		attribute("address", tftypes.String, computed),
	}}}
}

func (s *stand) ConfigureProvider(
	_ context.Context, r *tfprotov6.ConfigureProviderRequest,
) (*tfprotov6.ConfigureProviderResponse, error) {
	values, err := object(r.Config, configSchema().ValueType())
	if err == nil {
		err = values["cloud"].As(&s.cloud)
	}
	return &tfprotov6.ConfigureProviderResponse{Diagnostics: problem(err)}, nil
}

func (s *stand) ReadResource(
	_ context.Context, r *tfprotov6.ReadResourceRequest,
) (*tfprotov6.ReadResourceResponse, error) {
	values, err := object(r.CurrentState, machineSchema().ValueType())
	var id string
	if err == nil {
		err = values["id"].As(&id)
	}
	if err != nil {
		return nil, err
	}
	state := r.CurrentState
	if _, err := os.Stat(s.path(id)); os.IsNotExist(err) {
		gone, err := tfprotov6.NewDynamicValue(machineSchema().ValueType(),
			tftypes.NewValue(machineSchema().ValueType(), nil))
		return &tfprotov6.ReadResourceResponse{NewState: &gone}, err
	}
	return &tfprotov6.ReadResourceResponse{NewState: state}, nil
}

// ImportResourceState reads a machine by its id. A cloud with the file "unimportable" has machines that cannot be
// imported, like some types of all providers.
func (s *stand) ImportResourceState(
	_ context.Context, r *tfprotov6.ImportResourceStateRequest,
) (*tfprotov6.ImportResourceStateResponse, error) {
	if _, err := os.Stat(filepath.Join(s.cloud, "unimportable")); err == nil {
		return &tfprotov6.ImportResourceStateResponse{
			Diagnostics: problem(fmt.Errorf("resource %s doesn't support import", r.TypeName)),
		}, nil
	}
	var m machine
	if err := readJSON(s.path(r.ID), &m); err != nil {
		return &tfprotov6.ImportResourceStateResponse{Diagnostics: problem(err)}, nil
	}
	host, err := s.host(m.Name)
	if err != nil {
		return nil, err
	}
	known := map[string]string{"id": r.ID, "name": m.Name, "size": m.Size, "zone": m.Zone,
		"ssh": host["ssh"], "address": host["address"]}
	values := map[string]tftypes.Value{"tags": tftypes.NewValue(tftypes.Map{ElementType: tftypes.String}, nil)}
	for name, value := range known {
		values[name] = tftypes.NewValue(tftypes.String, nil)
		if value != "" {
			values[name] = tftypes.NewValue(tftypes.String, value)
		}
	}
	t := machineSchema().ValueType()
	state, err := tfprotov6.NewDynamicValue(t, tftypes.NewValue(t, values))
	return &tfprotov6.ImportResourceStateResponse{
		ImportedResources: []*tfprotov6.ImportedResource{{TypeName: r.TypeName, State: &state}},
	}, err
}

// PlanResourceChange replaces a machine whose arguments change: this cloud changes none.
func (s *stand) PlanResourceChange(
	_ context.Context, r *tfprotov6.PlanResourceChangeRequest,
) (*tfprotov6.PlanResourceChangeResponse, error) {
	t := machineSchema().ValueType()
	prior, err := r.PriorState.Unmarshal(t)
	if err != nil {
		return nil, err
	}
	proposed, err := r.ProposedNewState.Unmarshal(t)
	if err != nil {
		return nil, err
	}
	if proposed.IsNull() {
		return &tfprotov6.PlanResourceChangeResponse{PlannedState: r.ProposedNewState}, nil
	}
	values := map[string]tftypes.Value{}
	if err := proposed.As(&values); err != nil {
		return nil, err
	}
	s.step("plan", values["name"])
	response := &tfprotov6.PlanResourceChangeResponse{}
	if !prior.IsNull() {
		before := map[string]tftypes.Value{}
		if err := prior.As(&before); err != nil {
			return nil, err
		}
		// Tags change in place, as with real providers.
		for _, name := range []string{"name", "size", "zone"} {
			if !values[name].Equal(before[name]) {
				response.RequiresReplace = append(response.RequiresReplace,
					tftypes.NewAttributePath().WithAttributeName(name))
			}
		}
	}
	if prior.IsNull() || len(response.RequiresReplace) > 0 {
		for _, name := range []string{"id", "ssh", "address"} {
			values[name] = tftypes.NewValue(tftypes.String, tftypes.UnknownValue)
		}
	}
	planned, err := tfprotov6.NewDynamicValue(t, tftypes.NewValue(t, values))
	response.PlannedState = &planned
	return response, err
}

// ApplyResourceChange makes or deletes a machine.
func (s *stand) ApplyResourceChange(
	_ context.Context, r *tfprotov6.ApplyResourceChangeRequest,
) (*tfprotov6.ApplyResourceChangeResponse, error) {
	t := machineSchema().ValueType()
	planned, err := r.PlannedState.Unmarshal(t)
	if err != nil {
		return nil, err
	}
	failed := func(err error) (*tfprotov6.ApplyResourceChangeResponse, error) {
		return &tfprotov6.ApplyResourceChangeResponse{NewState: r.PriorState, Diagnostics: problem(err)}, nil
	}
	if planned.IsNull() {
		values, err := object(r.PriorState, machineSchema().ValueType())
		var id string
		if err == nil {
			err = values["id"].As(&id)
		}
		if err != nil {
			return nil, err
		}
		s.step("delete", values["name"])
		if err := os.Remove(s.path(id)); err != nil && !os.IsNotExist(err) {
			return failed(err)
		}
		s.step("deleted", values["name"])
		return &tfprotov6.ApplyResourceChangeResponse{NewState: r.PlannedState}, nil
	}
	values := map[string]tftypes.Value{}
	if err := planned.As(&values); err != nil {
		return nil, err
	}
	s.step("create", values["name"])
	id, host, err := s.create(values)
	if err != nil {
		return failed(err)
	}
	values["id"] = tftypes.NewValue(tftypes.String, id)
	values["ssh"] = tftypes.NewValue(tftypes.String, host["ssh"])
	values["address"] = tftypes.NewValue(tftypes.String, host["address"])
	s.step("created", values["name"])
	state, err := tfprotov6.NewDynamicValue(t, tftypes.NewValue(t, values))
	return &tfprotov6.ApplyResourceChangeResponse{NewState: &state}, err
}

// create makes a machine, or changes its tags. host says how it is reached: hosts.json of the cloud has it by name.
func (s *stand) create(values map[string]tftypes.Value) (id string, host map[string]string, err error) {
	m := machine{Name: text(values["name"]), Size: text(values["size"]), Zone: text(values["zone"]),
		Tags: texts(values["tags"])}
	var refusals []machineRefusal
	if err := readJSON(filepath.Join(s.cloud, "refusals.json"), &refusals); err != nil {
		return "", nil, err
	}
	for _, r := range refusals {
		if (r.Size == "" || r.Size == m.Size) && (r.Zone == "" || r.Zone == m.Zone) {
			return "", nil, fmt.Errorf("creating %s: %s", m.Name, r.Message)
		}
	}
	if host, err = s.host(m.Name); err != nil {
		return "", nil, err
	}
	if id = text(values["id"]); id == "" { // else only the tags change
		id = fmt.Sprintf("%s-%d", m.Name, time.Now().UnixNano())
	}
	data, err := json.Marshal(m)
	// A test reads all machines at any time: each file is whole.
	file := s.path(id)
	if err == nil {
		err = os.WriteFile(file+".new", data, 0o600)
	}
	if err == nil {
		err = os.Rename(file+".new", file)
	}
	return id, host, err
}

// host says how a machine is reached.
func (s *stand) host(name string) (map[string]string, error) {
	hosts := map[string]map[string]string{}
	err := readJSON(filepath.Join(s.cloud, "hosts.json"), &hosts)
	if host := hosts[name]; host != nil {
		return host, err
	}
	return map[string]string{"ssh": name, "address": "192.0.2.1"}, err
}

// path is the file of a machine.
func (s *stand) path(id string) string {
	return filepath.Join(s.cloud, "machines", filepath.Base(id)+".json")
}

// step adds a line to the file "steps", "create vm-a". If the file "hold" has the number of this line, it waits until
// "hold" is gone, or until it has waited for longest.
func (s *stand) step(what string, name tftypes.Value) {
	const longest = 5 * time.Minute
	f, err := os.OpenFile(filepath.Join(s.cloud, "steps"), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return
	}
	defer func() { _ = f.Close() }()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return
	}
	before, _ := os.ReadFile(f.Name())
	fmt.Fprintf(f, "%s %s\n", what, text(name))
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN)
	number := strings.Count(string(before), "\n") + 1
	for end := time.Now().Add(longest); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		hold, err := os.ReadFile(filepath.Join(s.cloud, "hold"))
		if err != nil || strings.TrimSpace(string(hold)) != fmt.Sprint(number) {
			return
		}
	}
}
