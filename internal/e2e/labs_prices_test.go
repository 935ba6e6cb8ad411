//go:build linux

package e2e

import (
	"path/filepath"
	"strings"
	"testing"
)

// The sums of the labs on Azure are those of the published prices, computed by hand. What has no price in the table is
// said to have none.
func TestPricesOfAzureLabs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ lab, file, sum, line, without string }{
		// On 2026-08-20, Azure's list had "Virtual Machines Dasv4 Series", D4as v4, westeurope, at $0.23 an hour
		// (data/latest/vm-eu-west.json of andy-diericks/azure-pricing-radar). A standard public address cost $3.65 for
		// a month of 730 hours, $0.005 an hour.
		// 6 x 0.23 + 6 x 0.005 = 1.41 an hour; x 4 h = 5.64.
		{
			lab: "azure-zones", file: "made.yaml",
			sum:  "In all at least $1.41 an hour, at least $5.64 for 4h.\n",
			line: "Data between the zones 1, 3 costs nothing (2024-05, ",
		},
		// On 2023-12-18, a Standard_D4as_v5 in australiaeast cost $0.216 an hour with Linux
		// (pkg/providers/pricing/zz_generated.pricing.go of Azure/karpenter-provider-azure).
		// 8 x 0.216 + 8 x 0.005 = 1.768 an hour; x 6 h = 10.608.
		{
			lab: "azure-ppg", file: "linux.yaml",
			sum:  "In all at least $1.768 an hour, at least $10.608 for 6h.\n",
			line: "Warning: the oldest of these prices is from 2023-12-18. Prices may have changed.\n",
		},
		// The same with Windows: no price of Windows in australiaeast is known, so 8 x 0.005 = 0.04.
		{
			lab: "azure-ppg", file: "experiment.yaml",
			sum:     "In all at least $0.04 an hour, at least $0.24 for 6h.\n",
			line:    `azurerm_windows_virtual_machine.this["neither-front"] (Standard_D4as_v5): price not known` + "\n",
			without: "$0.216",
		},
		// On 2026-08-20, A4 v2 cost $0.182 and D4as v5 $0.208 with Linux, $0.274 and $0.392 with Windows, in westeurope
		// (the same file as above). Linux: 1 x 0.208 + 2 x 0.182 + 2 x 0.208 = 0.988; x 4 h = 3.952.
		{
			lab: "aks-accelerated-networking", file: "experiment.yaml",
			sum:  "In all at least $0.988 an hour, at least $3.952 for 4h.\n",
			line: "  azurerm_kubernetes_cluster.this: price not known\n",
		},
		// Windows, where the pool of AKS itself has Linux: 0.208 + 2 x 0.274 + 2 x 0.392 = 1.54; x 4 h = 6.16.
		{
			lab: "aks-accelerated-networking", file: "windows.yaml",
			sum:  "In all at least $1.54 an hour, at least $6.16 for 4h.\n",
			line: `2 of azurerm_kubernetes_cluster_node_pool.this["winon"] (Standard_D4as_v5): $0.784 an hour [`,
		},
		// On 2026-07-22, a c2-standard-4 in europe-west4 cost $0.229872 an hour (pricing.yml of
		// Cyclenerd/google-cloud-pricing-cost-calculator). 4 x 0.229872 = 0.919488; x 4 h = 3.677952.
		{
			lab: "gcp-compact-placement", file: "experiment.yaml",
			sum:  "In all at least $0.9195 an hour, at least $3.678 for 4h.\n",
			line: "  [1] 2026-07-22, linux, https://github.com/Cyclenerd/google-cloud-pricing-cost-calculator/",
		},
	} {
		t.Run(c.lab+" "+c.file, func(t *testing.T) {
			t.Parallel()
			s := newLabStand(t, c.lab)
			printed := s.must(0, "up", "--dry-run", filepath.Join(s.lab, c.file)).printed()
			for _, want := range []string{c.sum, c.line} {
				if !strings.Contains(printed, want) {
					t.Errorf("up --dry-run does not print %q:\n%s", want, printed)
				}
			}
			if c.without != "" && strings.Contains(printed, c.without) {
				t.Errorf("up --dry-run prints %q:\n%s", c.without, printed)
			}
		})
	}
}

// The sums of the labs on AWS, computed by hand in the same way. On 2026-02-09, a c6gn.4xlarge cost $0.6912 an hour and
// a c5.large $0.085 in us-east-1 with Linux (pkg/providers/pricing/zz_generated.pricing_aws.go of
// aws/karpenter-provider-aws); on 2026-04-01, a cluster of EKS cost $0.10 there (cloudburn.io/blog/amazon-eks-pricing).
func TestPricesOfAWSLabs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lab, region string
		want        []string
	}{
		// 6 x 0.6912 = 4.1472 an hour; x 2 h = 8.2944. The plan has the id of an image and not its system.
		{"ec2-placement-group", "us-east-1", []string{
			"In all at least $4.1472 an hour, at least $8.2944 for 2h.\n",
			`aws_instance.this["apart-client"] (c6gn.4xlarge): at least $0.6912 an hour [1]` + "\n",
		}},
		{"ec2-placement-group", "eu-west-1", []string{
			"No price is known here: ask the provider, or give prices in the file (provision: prices).\n",
		}},
		// 0.10 + 4 x 0.085 = 0.44 an hour; x 3 h = 1.32.
		{"eks-placement-group", "us-east-1", []string{
			"In all at least $0.44 an hour, at least $1.32 for 3h.\n",
			"Data between the zones us-east-1a, us-east-1b costs $0.02 for 1 GB (2026-05, ",
		}},
	} {
		t.Run(c.lab+" "+c.region, func(t *testing.T) {
			t.Parallel()
			l := newAWSLab(t, c.lab, awsLabs()[c.lab]...)
			l.providers.Values(map[string]map[string]string{"aws_region.": {"region": c.region}})
			printed := l.nearfar(0, "up", "--dry-run", l.file)
			for _, want := range c.want {
				if !strings.Contains(printed, want) {
					t.Errorf("up --dry-run does not print %q:\n%s", want, printed)
				}
			}
		})
	}
}
