package main

import (
	"context"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// described is what all providers here have in common: their schemas, and answers that follow from them. The methods
// that OpenTofu does not call come from the nil interface.
type described struct {
	tfprotov6.ProviderServer
	known schemas
}

func capabilities() *tfprotov6.ServerCapabilities {
	return &tfprotov6.ServerCapabilities{GetProviderSchemaOptional: true, PlanDestroy: true}
}

func (d described) GetMetadata(
	context.Context, *tfprotov6.GetMetadataRequest,
) (*tfprotov6.GetMetadataResponse, error) {
	m := &tfprotov6.GetMetadataResponse{ServerCapabilities: capabilities()}
	for name := range d.known.resources {
		m.Resources = append(m.Resources, tfprotov6.ResourceMetadata{TypeName: name})
	}
	for name := range d.known.data {
		m.DataSources = append(m.DataSources, tfprotov6.DataSourceMetadata{TypeName: name})
	}
	return m, nil
}

func (d described) GetProviderSchema(
	context.Context, *tfprotov6.GetProviderSchemaRequest,
) (*tfprotov6.GetProviderSchemaResponse, error) {
	return &tfprotov6.GetProviderSchemaResponse{
		ServerCapabilities: capabilities(), Provider: d.known.provider,
		ResourceSchemas: d.known.resources, DataSourceSchemas: d.known.data,
	}, nil
}

func (described) GetResourceIdentitySchemas(
	context.Context, *tfprotov6.GetResourceIdentitySchemasRequest,
) (*tfprotov6.GetResourceIdentitySchemasResponse, error) {
	return &tfprotov6.GetResourceIdentitySchemasResponse{}, nil
}

func (described) ValidateProviderConfig(
	_ context.Context, r *tfprotov6.ValidateProviderConfigRequest,
) (*tfprotov6.ValidateProviderConfigResponse, error) {
	return &tfprotov6.ValidateProviderConfigResponse{PreparedConfig: r.Config}, nil
}

// StopProvider changes nothing: as in most providers, operations that have begun are finished.
func (described) StopProvider(
	context.Context, *tfprotov6.StopProviderRequest,
) (*tfprotov6.StopProviderResponse, error) {
	return &tfprotov6.StopProviderResponse{}, nil
}

// ValidateResourceConfig accepts everything: OpenTofu itself has compared the arguments with the schema.
func (described) ValidateResourceConfig(
	context.Context, *tfprotov6.ValidateResourceConfigRequest,
) (*tfprotov6.ValidateResourceConfigResponse, error) {
	return &tfprotov6.ValidateResourceConfigResponse{}, nil
}

func (described) ValidateDataResourceConfig(
	context.Context, *tfprotov6.ValidateDataResourceConfigRequest,
) (*tfprotov6.ValidateDataResourceConfigResponse, error) {
	return &tfprotov6.ValidateDataResourceConfigResponse{}, nil
}

func (d described) UpgradeResourceState(
	_ context.Context, r *tfprotov6.UpgradeResourceStateRequest,
) (*tfprotov6.UpgradeResourceStateResponse, error) {
	t := d.known.resources[r.TypeName].ValueType()
	value, err := r.RawState.Unmarshal(t)
	if err != nil {
		return nil, err
	}
	state, err := tfprotov6.NewDynamicValue(t, value)
	return &tfprotov6.UpgradeResourceStateResponse{UpgradedState: &state}, err
}
