// Command schema is a provider of OpenTofu and Terraform for tests. Its cloud is a folder: a resource is a file in it.
//
// The name of the program says which provider it is. terraform-provider-stand_v1.0.0 makes machines that no real
// provider has (see stand). All others have the resources and arguments of a real provider:
// terraform-provider-azurerm_v5.2.0 reads all files azurerm/*.json in the folder that the environment names in
// NEARFAR_TEST_SCHEMAS. They have the form of `tofu providers schema -json`. NEARFAR_TEST_CLOUD is the folder of the
// cloud.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// server is a provider with the schemas of a real one.
type server struct {
	described
	cloud    cloud
	features features
}

func main() {
	kind, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(os.Args[0]), "terraform-provider-"), "_")
	if err := serve(kind); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// serve is the provider of a kind.
func serve(kind string) error {
	if kind == "stand" {
		return tf6server.Serve("nearfar.test/tests/stand", func() tfprotov6.ProviderServer { return newStand() })
	}
	known, err := readSchemas(filepath.Join(os.Getenv("NEARFAR_TEST_SCHEMAS"), kind))
	if err != nil {
		return err
	}
	s := &server{described: described{known: known}, cloud: cloud{os.Getenv("NEARFAR_TEST_CLOUD")}}
	return tf6server.Serve("registry.opentofu.org/hashicorp/"+kind, func() tfprotov6.ProviderServer { return s })
}

func (s *server) ConfigureProvider(
	_ context.Context, r *tfprotov6.ConfigureProviderRequest,
) (_ *tfprotov6.ConfigureProviderResponse, err error) {
	s.features, err = readFeatures(r.Config, s.known.provider.ValueType())
	return &tfprotov6.ConfigureProviderResponse{}, err
}

// ReadDataSource makes up all values that the configuration does not give.
func (s *server) ReadDataSource(
	_ context.Context, r *tfprotov6.ReadDataSourceRequest,
) (*tfprotov6.ReadDataSourceResponse, error) {
	schema := s.known.data[r.TypeName]
	config, err := r.Config.Unmarshal(schema.ValueType())
	if err != nil {
		return nil, err
	}
	unknown, err := computedUnknown(schema.Block, config)
	if err != nil {
		return nil, err
	}
	state, err := s.cloud.complete(r.TypeName, schema, unknown)
	return &tfprotov6.ReadDataSourceResponse{State: state}, err
}

// ReadResource says that a resource is gone if its file is.
func (s *server) ReadResource(
	_ context.Context, r *tfprotov6.ReadResourceRequest,
) (*tfprotov6.ReadResourceResponse, error) {
	t := s.known.resources[r.TypeName].ValueType()
	values, err := object(r.CurrentState, t)
	if err != nil {
		return nil, err
	}
	if s.cloud.has(text(values["id"])) {
		return &tfprotov6.ReadResourceResponse{NewState: r.CurrentState}, nil
	}
	gone, err := tfprotov6.NewDynamicValue(t, tftypes.NewValue(t, nil))
	return &tfprotov6.ReadResourceResponse{NewState: &gone}, err
}

// PlanResourceChange leaves open what a new resource computes. This cloud changes every argument in place, but for
// those of which the files of schemas say that the real provider makes another resource.
func (s *server) PlanResourceChange(
	_ context.Context, r *tfprotov6.PlanResourceChangeRequest,
) (*tfprotov6.PlanResourceChangeResponse, error) {
	schema := s.known.resources[r.TypeName]
	prior, err := r.PriorState.Unmarshal(schema.ValueType())
	if err != nil {
		return nil, err
	}
	proposed, err := r.ProposedNewState.Unmarshal(schema.ValueType())
	if err != nil {
		return nil, err
	}
	if proposed.IsNull() || !prior.IsNull() {
		planned := &tfprotov6.PlanResourceChangeResponse{PlannedState: r.ProposedNewState}
		if !proposed.IsNull() {
			planned.RequiresReplace, err = s.known.replacing(r.TypeName, prior, proposed)
		}
		return planned, err
	}
	unknown, err := computedUnknown(schema.Block, proposed)
	if err != nil {
		return nil, err
	}
	planned, err := tfprotov6.NewDynamicValue(schema.ValueType(), unknown)
	return &tfprotov6.PlanResourceChangeResponse{PlannedState: &planned}, err
}

// ApplyResourceChange makes, changes or deletes a resource.
func (s *server) ApplyResourceChange(
	_ context.Context, r *tfprotov6.ApplyResourceChangeRequest,
) (*tfprotov6.ApplyResourceChangeResponse, error) {
	schema := s.known.resources[r.TypeName]
	planned, err := r.PlannedState.Unmarshal(schema.ValueType())
	if err != nil {
		return nil, err
	}
	if planned.IsNull() {
		values, err := object(r.PriorState, schema.ValueType())
		if err == nil {
			err = s.cloud.delete(r.TypeName, text(values["id"]), s.features)
		}
		if err != nil {
			return &tfprotov6.ApplyResourceChangeResponse{NewState: r.PriorState, Diagnostics: problem(err)}, nil
		}
		return &tfprotov6.ApplyResourceChangeResponse{NewState: r.PlannedState}, nil
	}
	state, refused, err := s.make(r, schema, planned)
	switch {
	case err != nil:
		return &tfprotov6.ApplyResourceChangeResponse{NewState: r.PriorState, Diagnostics: problem(err)}, nil
	case refused != nil && !s.features.persist:
		state = r.PriorState // it exists, and the state does not know it
	}
	return &tfprotov6.ApplyResourceChangeResponse{NewState: state, Diagnostics: problem(refused)}, nil
}

// make makes or changes a resource. If it is refused, it exists all the same.
func (s *server) make(
	r *tfprotov6.ApplyResourceChangeRequest, schema *tfprotov6.Schema, planned tftypes.Value,
) (state *tfprotov6.DynamicValue, refused, err error) {
	prior, err := r.PriorState.Unmarshal(schema.ValueType())
	if err != nil {
		return nil, nil, err
	}
	values := map[string]tftypes.Value{}
	if err := planned.As(&values); err != nil {
		return nil, nil, err
	}
	if prior.IsNull() {
		// Parts of a resource can have the names of other resources' parts.
		if text(values["resource_group_name"]) != "" {
			if err := s.cloud.exists(r.TypeName, nameOf(values)); err != nil {
				return nil, nil, err
			}
		}
		refused = s.cloud.refused(r.TypeName, values)
	}
	state, err = s.cloud.complete(r.TypeName, schema, planned)
	if err == nil {
		err = s.cloud.save(r.TypeName, state, schema.ValueType())
	}
	return state, refused, err
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

// object reads the attributes of a value.
func object(v *tfprotov6.DynamicValue, t tftypes.Type) (map[string]tftypes.Value, error) {
	value, err := v.Unmarshal(t)
	values := map[string]tftypes.Value{}
	if err == nil {
		err = value.As(&values)
	}
	return values, err
}

// text is a known string; "" for everything else.
func text(v tftypes.Value) (s string) {
	if v.Type() != nil && v.Type().Is(tftypes.String) && v.IsKnown() && !v.IsNull() {
		_ = v.As(&s) // it is a string
	}
	return s
}

// readJSON reads a file into a value. A file that does not exist changes nothing.
func readJSON(path string, into any) error {
	data, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
