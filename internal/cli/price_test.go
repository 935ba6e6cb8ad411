package cli

import (
	"strings"
	"testing"
	"time"

	"nearfar/internal/cloud/provision"
)

func TestCostIsPrinted(t *testing.T) {
	known := provision.CostItem{
		Resource: "aws_instance.a", Size: "c5n.large", Count: 1, Machine: true,
		Price: &provision.Price{Hourly: 0.108, Source: provision.FromFile},
	}
	linux := &provision.Price{Hourly: 0.005, Date: "2026-01-02", System: "linux", Source: "https://x"}
	nodes := provision.CostItem{Resource: "pool", Count: 3, Machine: true, Price: linux}
	atLeast := provision.CostItem{Resource: "aws_instance.c", Count: 1, Machine: true, Price: linux, AtLeast: true}
	address := provision.CostItem{
		Resource: "aws_eip.a", Count: 1,
		Price: &provision.Price{Hourly: 0.01, Date: "2025-05-30", Source: "https://y", Note: "in all regions"},
	}
	unknown := provision.CostItem{Resource: "aws_instance.b", Size: "odd", Count: 1, Machine: true}
	between := &provision.BetweenZones{PerGB: 0.02, Date: "2026-05", Source: "https://z"}
	free := &provision.BetweenZones{Date: "2024-05", Source: "https://z"}
	zones := []string{"1", "2"}
	const without = "The price of a machine is without its system disk, its own public address and what it sends.\n"
	const table = "Prices of nearfar's table, in US dollars without tax and discounts:\n"
	for _, c := range []struct {
		cost provision.Cost
		want string
	}{
		{provision.Cost{}, "No price is known here: ask the provider, or give prices in the file (provision: prices).\n"},
		{provision.Cost{Items: []provision.CostItem{known, nodes}}, `  aws_instance.a (c5n.large): $0.108 an hour (the experiment file)
  3 of pool: $0.015 an hour [1]
In all $0.123 an hour, $0.492 for 4h.
` + without + table + `  [1] 2026-01-02, linux, https://x
`},
		{provision.Cost{Items: []provision.CostItem{known, unknown}, Others: 2, Zones: zones},
			`  aws_instance.a (c5n.large): $0.108 an hour (the experiment file)
  aws_instance.b (odd): price not known
  other resources: 2; whether they cost anything is not known
In all at least $0.108 an hour, at least $0.432 for 4h.
` + without + `Data between the zones 1, 2 can cost extra: its price is not known here.
`},
		{provision.Cost{Items: []provision.CostItem{atLeast, address}, Zones: zones, BetweenZones: between},
			`  aws_instance.c: at least $0.005 an hour [1]
  aws_eip.a: $0.01 an hour [2]
In all at least $0.015 an hour, at least $0.06 for 4h.
` + without + `Data between the zones 1, 2 costs $0.02 for 1 GB (2026-05, https://z).
` + table + `  [1] 2026-01-02, linux, https://x
  [2] 2025-05-30, https://y (in all regions)
Warning: the oldest of these prices is from 2025-05-30. Prices may have changed.
`},
		{provision.Cost{Items: []provision.CostItem{address}, Zones: zones[:1], BetweenZones: between},
			`  aws_eip.a: $0.01 an hour [1]
In all $0.01 an hour, $0.04 for 4h.
` + table + `  [1] 2025-05-30, https://y (in all regions)
Warning: the oldest of these prices is from 2025-05-30. Prices may have changed.
`},
		{provision.Cost{Items: []provision.CostItem{unknown}, Zones: zones, BetweenZones: free},
			`  aws_instance.b (odd): price not known
No price is known here: ask the provider, or give prices in the file (provision: prices).
Data between the zones 1, 2 costs nothing (2024-05, https://z).
`},
	} {
		var out strings.Builder
		// 180 days after 2026-01-02.
		printCost(&out, c.cost, 4*time.Hour, time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC))
		if out.String() != c.want {
			t.Errorf("printed:\n%s\nwant:\n%s", out.String(), c.want)
		}
	}
}

// Below the list, each name has the date and the sources of its prices. Prices of the experiment file have none.
func TestPriceDatesOfList(t *testing.T) {
	var out strings.Builder
	printPriceDates(&out, []listedMachine{
		{Record: &provision.Record{Name: "own"}},
		{Record: &provision.Record{
			Name: "new", HourlyDate: "2026-02-01", HourlySources: []string{"https://x", "https://y"},
		}},
		{Record: &provision.Record{Name: "old", HourlyDate: "2023-12-18", HourlySources: []string{"https://z"}}},
	}, time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC))
	const want = `new: prices from 2026-02-01 or later (https://x and https://y).
old: prices from 2023-12-18 or later (https://z).
old: prices may have changed since then.
`
	if out.String() != want {
		t.Errorf("printed:\n%s\nwant:\n%s", out.String(), want)
	}
}

func TestSpent(t *testing.T) {
	since := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	hourly := 0.5
	r := &provision.Record{Since: since}
	for want, set := range map[string]func(){
		"not known":      func() { r.Hourly = nil },
		"$0.75":          func() { r.Hourly, r.HourlyAtLeast = &hourly, false },
		"at least $0.75": func() { r.Hourly, r.HourlyAtLeast = &hourly, true },
	} {
		set()
		if got := spent(r, since.Add(90*time.Minute)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
