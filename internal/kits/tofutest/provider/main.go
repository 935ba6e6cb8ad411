// Command provider is a provider of OpenTofu and Terraform for tests. Its cloud is a folder: a machine is a file in it.
// Other files of the folder say which machines are refused, and hold the provider at a step, so that a test can kill
// what runs at that moment.
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
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"
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

// refusal makes the creation of a machine fail. An empty size or zone stands for any.
type refusal struct {
	Size    string `json:"size"`
	Zone    string `json:"zone"`
	Message string `json:"message"`
}

// server is the provider. The methods that OpenTofu does not call for this schema come from the nil interface.
type server struct {
	tfprotov6.ProviderServer
	cloud string
}

func attribute(name string, t tftypes.Type, set func(*tfprotov6.SchemaAttribute)) *tfprotov6.SchemaAttribute {
	a := &tfprotov6.SchemaAttribute{Name: name, Type: t}
	set(a)
	return a
}

func required(a *tfprotov6.SchemaAttribute) { a.Required = true }
func optional(a *tfprotov6.SchemaAttribute) { a.Optional = true }
func computed(a *tfprotov6.SchemaAttribute) { a.Computed = true }

func tags() tftypes.Type { return tftypes.Map{ElementType: tftypes.String} }

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
		attribute("tags", tags(), optional),
		attribute("id", tftypes.String, computed),
		attribute("ssh", tftypes.String, computed),
		attribute("address", tftypes.String, computed),
	}}}
}

func (*server) GetMetadata(
	context.Context, *tfprotov6.GetMetadataRequest,
) (*tfprotov6.GetMetadataResponse, error) {
	return &tfprotov6.GetMetadataResponse{
		ServerCapabilities: capabilities(), Resources: []tfprotov6.ResourceMetadata{{TypeName: resourceType}},
	}, nil
}

func capabilities() *tfprotov6.ServerCapabilities {
	return &tfprotov6.ServerCapabilities{GetProviderSchemaOptional: true, PlanDestroy: true}
}

func (*server) GetProviderSchema(
	context.Context, *tfprotov6.GetProviderSchemaRequest,
) (*tfprotov6.GetProviderSchemaResponse, error) {
	return &tfprotov6.GetProviderSchemaResponse{
		ServerCapabilities: capabilities(), Provider: configSchema(),
		ResourceSchemas: map[string]*tfprotov6.Schema{resourceType: machineSchema()},
	}, nil
}

func (*server) GetResourceIdentitySchemas(
	context.Context, *tfprotov6.GetResourceIdentitySchemasRequest,
) (*tfprotov6.GetResourceIdentitySchemasResponse, error) {
	return &tfprotov6.GetResourceIdentitySchemasResponse{}, nil
}

func (*server) ValidateProviderConfig(
	_ context.Context, r *tfprotov6.ValidateProviderConfigRequest,
) (*tfprotov6.ValidateProviderConfigResponse, error) {
	return &tfprotov6.ValidateProviderConfigResponse{PreparedConfig: r.Config}, nil
}

func (s *server) ConfigureProvider(
	_ context.Context, r *tfprotov6.ConfigureProviderRequest,
) (*tfprotov6.ConfigureProviderResponse, error) {
	values, err := attributes(r.Config, configSchema())
	if err == nil {
		err = values["cloud"].As(&s.cloud)
	}
	return &tfprotov6.ConfigureProviderResponse{Diagnostics: problem(err)}, nil
}

// StopProvider changes nothing: as in most providers, operations that have begun are finished.
func (*server) StopProvider(
	context.Context, *tfprotov6.StopProviderRequest,
) (*tfprotov6.StopProviderResponse, error) {
	return &tfprotov6.StopProviderResponse{}, nil
}

func (*server) ValidateResourceConfig(
	context.Context, *tfprotov6.ValidateResourceConfigRequest,
) (*tfprotov6.ValidateResourceConfigResponse, error) {
	return &tfprotov6.ValidateResourceConfigResponse{}, nil
}

func (*server) UpgradeResourceState(
	_ context.Context, r *tfprotov6.UpgradeResourceStateRequest,
) (*tfprotov6.UpgradeResourceStateResponse, error) {
	value, err := r.RawState.Unmarshal(machineSchema().ValueType())
	if err != nil {
		return nil, err
	}
	state, err := tfprotov6.NewDynamicValue(machineSchema().ValueType(), value)
	return &tfprotov6.UpgradeResourceStateResponse{UpgradedState: &state}, err
}

func (s *server) ReadResource(
	_ context.Context, r *tfprotov6.ReadResourceRequest,
) (*tfprotov6.ReadResourceResponse, error) {
	values, err := attributes(r.CurrentState, machineSchema())
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

// PlanResourceChange replaces a machine whose arguments change: this cloud changes none.
func (s *server) PlanResourceChange(
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
func (s *server) ApplyResourceChange(
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
		values, err := attributes(r.PriorState, machineSchema())
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
func (s *server) create(values map[string]tftypes.Value) (id string, host map[string]string, err error) {
	m := machine{Name: text(values["name"]), Size: text(values["size"]), Zone: text(values["zone"]),
		Tags: map[string]string{}}
	all := map[string]tftypes.Value{}
	if values["tags"].IsKnown() && !values["tags"].IsNull() {
		if err := values["tags"].As(&all); err != nil {
			return "", nil, err
		}
	}
	for name, value := range all {
		m.Tags[name] = text(value)
	}
	var refusals []refusal
	if err := s.read("refusals.json", &refusals); err != nil {
		return "", nil, err
	}
	for _, r := range refusals {
		if (r.Size == "" || r.Size == m.Size) && (r.Zone == "" || r.Zone == m.Zone) {
			return "", nil, fmt.Errorf("creating %s: %s", m.Name, r.Message)
		}
	}
	hosts := map[string]map[string]string{}
	if err := s.read("hosts.json", &hosts); err != nil {
		return "", nil, err
	}
	if host = hosts[m.Name]; host == nil {
		host = map[string]string{"ssh": m.Name, "address": "192.0.2.1"}
	}
	if id = text(values["id"]); id == "" { // else only the tags change
		id = fmt.Sprintf("%s-%d", m.Name, time.Now().UnixNano())
	}
	data, err := json.Marshal(m)
	if err == nil {
		err = os.WriteFile(s.path(id), data, 0o600)
	}
	return id, host, err
}

// path is the file of a machine.
func (s *server) path(id string) string {
	return filepath.Join(s.cloud, "machines", filepath.Base(id)+".json")
}

// read reads a file of the cloud; one that is not there changes nothing.
func (s *server) read(name string, into any) error {
	data, err := os.ReadFile(filepath.Join(s.cloud, name))
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}

// step adds a line to the file "steps", "create vm-a". If the file "hold" has the number of this line, it waits until
// "hold" is gone, or until it has waited for longest.
func (s *server) step(what string, name tftypes.Value) {
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

func text(v tftypes.Value) (s string) {
	if v.IsKnown() && !v.IsNull() {
		_ = v.As(&s) // it is a string
	}
	return s
}

// attributes reads an object.
func attributes(v *tfprotov6.DynamicValue, schema *tfprotov6.Schema) (map[string]tftypes.Value, error) {
	object, err := v.Unmarshal(schema.ValueType())
	values := map[string]tftypes.Value{}
	if err == nil {
		err = object.As(&values)
	}
	return values, err
}

// problem is the diagnostic for an error; none for nil.
func problem(err error) []*tfprotov6.Diagnostic {
	if err == nil {
		return nil
	}
	return []*tfprotov6.Diagnostic{{
		Severity: tfprotov6.DiagnosticSeverityError, Summary: "the cloud refuses", Detail: err.Error(),
	}}
}

func main() {
	err := tf6server.Serve("nearfar.test/tests/stand", func() tfprotov6.ProviderServer { return &server{} })
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
