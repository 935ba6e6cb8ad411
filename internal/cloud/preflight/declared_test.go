package preflight

import "testing"

// What scripts make is what the file says of it, and no more.
func TestVariables(t *testing.T) {
	nothing := func(string) string { return "" }
	given := func(values map[string]string) func(string) string {
		return func(name string) string { return values[name] }
	}
	for _, c := range []struct {
		values map[string]string
		want   string
	}{
		{map[string]string{"size": "Standard_D4as_v5", "location": "West Europe"},
			"azure westeurope: 4 Standard_D4as_v5; network 1, network interface 4, public address 4"},
		{map[string]string{"instance_type": "c5.large", "region": "eu-west-1", "zone": "a"}, "aws eu-west-1: 4 c5.large; "},
		{map[string]string{"machine_type": "c2-standard-4", "zone": "europe-west4-a"},
			"google europe-west4: 4 c2-standard-4 in europe-west4-a; "},
		{map[string]string{"size": "Standard_D4as_v5"}, ""},
	} {
		w := OfVariables(given(c.values), 4, nothing)
		if got := describe(w); got != c.want || len(w.Unknown) != 1 {
			t.Errorf("%v: %q, %q, want %q", c.values, got, w.Unknown, c.want)
		}
	}
}

// A template of CloudFormation is read as the module for the same cluster is.
func TestTemplate(t *testing.T) {
	w, err := OfTemplate([]byte(`{"Resources": {
		"Vpc": {"Type": "AWS::EC2::VPC"}, "Gateway": {"Type": "AWS::EC2::InternetGateway"},
		"Cluster": {"Type": "AWS::EKS::Cluster", "Properties": {"Version": "1.34"}},
		"Group": {"Type": "AWS::EC2::PlacementGroup", "Properties": {"Strategy": "cluster"}},
		"A": {"Type": "AWS::EKS::Nodegroup", "Properties": {"InstanceTypes": ["c5.large"],
			"AmiType": "AL2023_x86_64_STANDARD", "ScalingConfig": {"DesiredSize": 2}}},
		"B": {"Type": "AWS::EKS::Nodegroup", "Properties": {"InstanceTypes": ["c5.large"],
			"ScalingConfig": {"DesiredSize": 2}}},
		"Route": {"Type": "AWS::EC2::Route"}}}`), "eu-west-1")
	const want = "aws eu-west-1: 2 c5.large, 2 c5.large; cluster 1, internet gateway 1, network 1"
	if got := describe(w); err != nil || got != want || w.Places[0].Groups[0] != "cluster" ||
		w.Places[0].Clusters[0] != "1.34" {
		t.Errorf("%q, %v, want %q: %+v", got, err, want, w.Places)
	}
	if w, err := OfTemplate([]byte(`{}`), "eu-west-1"); err != nil || len(w.Places) > 0 || len(w.Unknown) != 1 {
		t.Errorf("an empty template: %+v, %v", w, err)
	}
}

// A place without a region belongs to the other region of its provider.
func TestWithoutRegion(t *testing.T) {
	all := withoutRegion([]Place{
		{Provider: Azure, Counts: map[string]int{kindSet: 1}, Types: []string{"azurerm_subnet"}},
		{Provider: Azure, Region: "westeurope", Counts: map[string]int{kindSet: 1}, Types: []string{"azurerm_public_ip"}},
		{Provider: AWS, Region: ""},
	})
	if len(all) != 2 || all[0].Counts[kindSet] != 2 || len(all[0].Types) != 2 || all[1].Provider != AWS {
		t.Errorf("%+v", all)
	}
}

// No plan and no template makes it fail in another way than with an error. Small plans: a step with one of a lab takes a
// second on a busy machine.
func FuzzPlan(f *testing.F) {
	for _, text := range []string{
		`{}`, `{"Resources": {"A": {"Type": "AWS::EKS::Nodegroup", "Properties": {"InstanceTypes": ["c5.large"]}}}}`,
		`{"resource_changes": [{"address": "a", "type": "azurerm_linux_virtual_machine", "index": "x", "change": {
			"actions": ["create"], "after": {"size": "s", "location": "West Europe"}, "after_unknown": {"zone": true}}}]}`,
		`{"resource_changes": [{"type": "google_compute_instance", "change": {"actions": ["create"], "after": {
			"machine_type": "c2-standard-4", "zone": "europe-west4-a", "network_interface": [{"access_config": [{}]}]}}}],
			"configuration": {"provider_config": {"google": {"expressions": {"project": {"references": ["var.p"]}}}}},
			"variables": {"p": {"value": "p"}}}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if w, err := OfPlan(text, func(string) string { return "" }); err == nil && len(w.Places) > maxPlaces {
			t.Errorf("%d places", len(w.Places))
		}
		if w, err := OfTemplate(text, "r"); err == nil && len(w.Places) > 1 {
			t.Errorf("%d places", len(w.Places))
		}
	})
}
