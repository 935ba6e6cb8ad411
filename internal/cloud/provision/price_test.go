package provision

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"nearfar/internal/declare/experiment"
)

func costOf(t *testing.T, file string, given ...experiment.Price) Cost {
	t.Helper()
	plan, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	c, err := cost(plan, given)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

// The sums are checked by hand: 2 x 0.005 for addresses and 0.045 for the gateway in us-east-2 are in the table, and
// 2 x 0.108 for instances and 3 x 0.096 for nodes are given. The table has no machines of us-east-2.
func TestCostOfPlanOnAWS(t *testing.T) {
	c := costOf(t, "plan-aws.json")
	if hourly, atLeast := c.Hourly(); !near(hourly, 0.055) || !atLeast || !c.Known() {
		t.Errorf("the table gives %v an hour, at least: %v", hourly, atLeast)
	}
	if c.Others != 2 || !slices.Equal(c.Zones, []string{"us-east-2a", "us-east-2b"}) {
		t.Errorf("%d others, zones %q", c.Others, c.Zones)
	}
	c = costOf(t, "plan-aws.json", experiment.Price{Of: "c5n.large", Hourly: 0.108},
		experiment.Price{Of: "m5.large", Hourly: 0.096})
	if hourly, atLeast := c.Hourly(); !near(hourly, 0.559) || !atLeast {
		t.Errorf("with given prices it is %v an hour, at least: %v", hourly, atLeast)
	}
	for _, item := range c.Items {
		if item.Resource == "aws_instance.old" {
			t.Error("what is deleted costs something")
		}
		if item.Price == nil {
			t.Errorf("%s has no price", item.Resource)
		}
	}
	// Given prices go before the table.
	c = costOf(t, "plan-aws.json", experiment.Price{Of: "aws_nat_gateway", Hourly: 1})
	if hourly, _ := c.Hourly(); !near(hourly, 1.01) {
		t.Errorf("with a given gateway it is %v an hour", hourly)
	}
}

// 2 x 0.20 for the machines; the other size and a pool without a number are not known.
func TestCostOfPlanOnAzure(t *testing.T) {
	c := costOf(t, "plan-azure.json")
	if hourly, atLeast := c.Hourly(); hourly != 0 || !atLeast || c.Known() {
		t.Errorf("the table gives %v an hour, at least: %v", hourly, atLeast)
	}
	c = costOf(t, "plan-azure.json", experiment.Price{Of: "Standard_D4s_v5", Hourly: 0.2})
	if hourly, atLeast := c.Hourly(); !near(hourly, 0.4) || !atLeast {
		t.Errorf("%v an hour, at least: %v", hourly, atLeast)
	}
	for _, item := range c.Items {
		unknown := item.Size == "Standard_D8s_v5" || strings.HasSuffix(item.Type, "node_pool")
		if unknown != (item.Price == nil) || !unknown && item.Region != "westeurope" {
			t.Errorf("%+v", item)
		}
	}
	c = costOf(t, "plan-azure.json", experiment.Price{Of: "azurerm_linux_virtual_machine", Hourly: 0.2},
		experiment.Price{Of: "Standard_D8s_v5", Hourly: 0.9})
	c.Items = slices.DeleteFunc(c.Items, func(i CostItem) bool { return i.Price == nil })
	if hourly, atLeast := c.Hourly(); !near(hourly, 1.3) || atLeast {
		t.Errorf("%v an hour, at least: %v", hourly, atLeast)
	}
}

// A total is never less than a part of it, and is exact only if all parts are known.
func TestTotalHasAllParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var changes []map[string]any
		var given []experiment.Price
		unknown := 0
		for i := range rapid.IntRange(0, 20).Draw(t, "resources") {
			size := fmt.Sprint("size-", i)
			if rapid.Bool().Draw(t, "known") {
				hourly := rapid.Float64Range(0, 100).Draw(t, "price")
				given = append(given, experiment.Price{Of: size, Hourly: hourly})
			} else {
				unknown++
			}
			changes = append(changes, map[string]any{
				"address": fmt.Sprint("aws_instance.x", i), "mode": "managed", "type": "aws_instance",
				"change": map[string]any{"after": map[string]any{"instance_type": size}},
			})
		}
		plan, err := json.Marshal(map[string]any{"resource_changes": changes})
		if err != nil {
			t.Fatal(err)
		}
		c, err := cost(plan, given)
		if err != nil {
			t.Fatal(err)
		}
		total, atLeast := c.Hourly()
		sum := 0.0
		for _, item := range c.Items {
			one, _ := item.Hourly()
			if sum += one; one > total {
				t.Errorf("%v is more than the total %v", one, total)
			}
		}
		if !near(sum, total) || atLeast != (unknown > 0) || len(c.Items) != len(changes) {
			t.Errorf("%v of %v, at least %v with %d unknown", sum, total, atLeast, unknown)
		}
	})
}

// Plans from elsewhere have no effect but unknown prices.
func TestCostOfStrangePlans(t *testing.T) {
	for _, plan := range []string{
		`{}`, `{"resource_changes": [{"type": "aws_instance", "change": {"after": {"instance_type": 3}}}]}`,
		`{"resource_changes": [{"type": "aws_eks_node_group", "change": {"after": {"instance_types": [],
			"scaling_config": [{"desired_size": -1}]}}}]}`,
		`{"configuration": {"provider_config": {"aws": {"expressions": {"region": []}}}},
			"resource_changes": [{"type": "aws_nat_gateway", "change": {"after": {}}}]}`,
	} {
		c, err := cost([]byte(plan), nil)
		if hourly, _ := c.Hourly(); err != nil || hourly != 0 || c.Known() {
			t.Errorf("%s: %+v, %v", plan, c, err)
		}
	}
	if _, err := cost([]byte(`[]`), nil); err == nil {
		t.Error("a list is a plan")
	}
}
