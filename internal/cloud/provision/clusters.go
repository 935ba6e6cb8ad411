package provision

import (
	"slices"
	"strings"
)

// clusterTypes are types of resources that are clusters. A node of a cluster cannot end itself when its time is over:
// the provider repairs or replaces a node that shuts itself down.
func clusterTypes() []string {
	return []string{
		"azurerm_kubernetes_cluster", "aws_eks_cluster", "google_container_cluster", // OpenTofu and Terraform
		"AWS::EKS::Cluster", // CloudFormation
	}
}

// Clusters are the resources that the plan makes and that stay after their time, whatever the machines in them do.
func (p Plan) Clusters() (names []string) {
	for _, c := range p.Changes {
		if c.Action == "create" && slices.Contains(clusterTypes(), typeOfResource(c.Resource)) {
			names = append(names, c.Resource)
		}
	}
	return names
}

// typeOfResource is the type of a resource of a plan: of its address in a module, or of a resource of CloudFormation,
// "AWS::EKS::Cluster Cluster Cluster1A2B".
func typeOfResource(resource string) string {
	if kind, _, found := strings.Cut(resource, " "); found && strings.Contains(kind, "::") {
		return kind
	}
	return resourceType(resource)
}
