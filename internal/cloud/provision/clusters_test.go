package provision

import (
	"slices"
	"testing"
)

// Clusters that are made are found wherever they are in the module; what is there already, and what ends, are not.
func TestPlanClusters(t *testing.T) {
	var p Plan
	var want []string
	for _, name := range []string{
		"aws_eks_cluster.this", "azurerm_kubernetes_cluster.a[0]", "module.m.google_container_cluster.c",
		`module.m["a.b]c"].module.n.aws_eks_cluster.this["x"]`, "AWS::EKS::Cluster Cluster Cluster1A2B",
	} {
		p.Changes = append(p.Changes, Change{name, "create"}, Change{name, "update"})
		want = append(want, name)
	}
	for _, name := range []string{
		"aws_eks_node_group.aws_eks_cluster", "module.aws_eks_cluster.aws_vpc.this", "aws_instance.a", "module.", "",
		"module.m[", "AWS::EKS::Nodegroup Cluster Cluster1", `module.m["].`,
	} {
		p.Changes = append(p.Changes, Change{name, "create"})
	}
	if got := p.Clusters(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
