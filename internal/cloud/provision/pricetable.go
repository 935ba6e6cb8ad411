package provision

import (
	"cmp"
	_ "embed" // for prices.json
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

//go:embed prices.json
var priceTable []byte

// Price is what a provider asks for an hour of a resource, in US dollars.
type Price struct {
	// Type is the type of the resource, or for a machine the name of its provider in the types of resources: aws,
	// azurerm or google.
	Type string
	// System is the operating system of a machine; empty for what is no machine, and for prices of the experiment file.
	System string
	// Size is empty if the type has no sizes. Region is empty for all regions.
	Size, Region string
	// Hourly is the price of one resource, or of one node of a group, for an hour. PerGiB says that it is the price of
	// 1 GiB of a disk.
	Hourly float64
	PerGiB bool
	// Date is when the price was published or read (YYYY-MM-DD), Source where. Prices of the experiment file have no
	// date.
	Date   string
	Source string
	Note   string
}

// FromFile is the source of prices that the experiment file gives.
const FromFile = "the experiment file"

// PriceAge is how old a price is at most, without a warning that it may have changed.
const PriceAge = 180 * 24 * time.Hour

// IsOld says whether a date of prices (YYYY-MM-DD) is longer ago than PriceAge. Text that is no date is never old.
func IsOld(date string, now time.Time) bool {
	at, err := time.Parse(time.DateOnly, date)
	return err == nil && now.Sub(at) > PriceAge
}

// BetweenZones is what a provider asks for data that goes from one zone of a region to another.
type BetweenZones struct {
	// Provider is aws, azurerm or google, as in the types of resources.
	Provider string `json:"provider"`
	// PerGB is the price of 10^9 bytes in US dollars, for sender and receiver together.
	PerGB float64 `json:"per_gb"`
	// Date is when the price was published, as a day or a month (YYYY-MM); Source says where.
	Date   string `json:"date"`
	Source string `json:"source"`
	Note   string `json:"note"`
}

// table is nearfar's own table of prices, in US dollars.
type table struct {
	prices       []Price
	betweenZones []BetweenZones
}

const (
	systemLinux   = "linux"
	systemWindows = "windows"
	// systemUnknown is a machine whose operating system is not in the plan. It costs at least what Linux costs.
	systemUnknown = "unknown"
	// systemOther is a machine for which a price of the table can be too high or too low: of spot capacity, or with an
	// image or a device that costs extra.
	systemOther = "other"
)

// perMonth is the unit of disks. Sources publish a month of 730 hours.
const (
	perMonth      = "GiB month"
	hoursPerMonth = 730
)

// readTable reads prices.json. It has a sheet for each source, with prices by region and by size.
func readTable() (t table, err error) {
	var file struct {
		Sheets []struct {
			Machines string                        `json:"machines"`
			System   string                        `json:"system"`
			Type     string                        `json:"type"`
			Per      string                        `json:"per"`
			Date     string                        `json:"date"`
			Source   string                        `json:"source"`
			Note     string                        `json:"note"`
			Prices   map[string]map[string]float64 `json:"prices"`
		} `json:"sheets"`
		BetweenZones []BetweenZones `json:"between_zones"`
	}
	if err := json.Unmarshal(priceTable, &file); err != nil {
		return table{}, fmt.Errorf("the table of prices: %w", err)
	}
	for _, s := range file.Sheets {
		for region, sizes := range s.Prices {
			for size, price := range sizes {
				p := Price{
					Type: cmp.Or(s.Type, s.Machines), System: s.System, Size: size, Region: region, Hourly: price,
					Date: s.Date, Source: s.Source, Note: s.Note,
				}
				if s.Per == perMonth {
					p.Hourly, p.PerGiB = price/hoursPerMonth, true
				}
				t.prices = append(t.prices, p)
			}
		}
	}
	t.betweenZones = file.BetweenZones
	return t, nil
}

// find finds a price; nil if none is known. An empty system is what is no machine.
func (t table) find(kind, system, size, region string) *Price {
	for _, p := range t.prices {
		if p.Type == kind && p.System == system && strings.EqualFold(p.Size, size) &&
			(p.Region == "" || p.Region == region) {
			return &p
		}
	}
	return nil
}

// between finds the price of data between zones of a provider; nil if none is known.
func (t table) between(provider string) *BetweenZones {
	if i := slices.IndexFunc(t.betweenZones, func(b BetweenZones) bool { return b.Provider == provider }); i >= 0 {
		return &t.betweenZones[i]
	}
	return nil
}
