//go:build linux

package e2e

import (
	"encoding/json"
	"os/exec"
	"testing"

	"nearfar/internal/declare/check"
	"nearfar/internal/kits/kubetest"
)

// labsOfPods are the labs whose hosts are pods. The real Kubernetes of the tests stands in for the clusters that their
// modules make: its nodes have the labels of the pools and node groups.
func labsOfPods() []madeLab {
	return []madeLab{
		{
			lab: "aks-accelerated-networking", file: "experiment.yaml", place: "azure",
			machine: "azurerm_kubernetes_cluster /azurerm_kubernetes_cluster/nearfar-aks-accelerated-networking",
			check:   (*labStand).checkPools,
		},
		{
			lab: "eks-placement-group", file: "experiment.yaml", place: "aws eu-west-1",
			machine: "eks cluster nearfar-eks-",
			check: func(s *labStand, _ []madeResource) {
				s.aws().tagged("eks-placement-group")
				checkEKSLab(s.aws())
			},
			real: []string{check.ExpectDifferentNodes},
		},
	}
}

// The labels of the pools of labs/aks-accelerated-networking.
const (
	poolLabel       = "kubernetes.azure.com/agentpool"
	plainPool       = "linoff"
	acceleratedPool = "linon"
)

// labsMade runs the labs whose hosts are pods as a whole, as TestLabsMade does with VMs. Two nodes, near1 and near2,
// have the label placementGroup=true, and far1 and far2 placementGroup=false, as those of the node groups of EKS.
func (r *kubeRig) labsMade() {
	r.Kubectl("label", "node", "near1", "near2", poolLabel+"="+acceleratedPool)
	r.Kubectl("label", "node", "far1", "far2", poolLabel+"="+plainPool)
	for _, l := range labsOfPods() {
		r.t.Run(l.lab, func(t *testing.T) {
			t.Parallel()
			s := newLabStand(t, l.lab)
			s.variables["PLAIN"], s.variables["ACCELERATED"] = plainPool, acceleratedPool
			s.variables["TOOLS_IMAGE"] = kubetest.Tools
			s.whole(l, func(args ...string) *exec.Cmd {
				cmd := exec.Command(program, append(args, "--kubeconfig", r.kubeconfig)...)
				cmd.Dir, cmd.Env = s.dir, s.env()
				return cmd
			})
		})
	}
}

// checkPools checks that the module says which pools it has made.
func (s *labStand) checkPools([]madeResource) {
	s.t.Helper()
	var pools struct{ Plain, Accelerated string }
	value := s.state("aks-accelerated-networking").Outputs["pools"].Value
	err := json.Unmarshal(value, &pools)
	if err != nil || pools.Plain != plainPool || pools.Accelerated != acceleratedPool {
		s.t.Errorf("the output pools is %s (%v)", value, err)
	}
}
