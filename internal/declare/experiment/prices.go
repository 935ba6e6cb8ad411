package experiment

import (
	"math"
	"strconv"
)

// A Price is what an hour of something costs.
type Price struct {
	// Of is a size, such as c5n.large, or a type of resources of the module, such as aws_nat_gateway.
	Of string `json:"of"`
	// Hourly is in US dollars.
	Hourly float64 `json:"hourly"`
}

// Limits of prices.
const (
	maxPrices = 100
	maxHourly = 10_000 // US dollars
)

// prices reads prices of sizes and types.
func (r *reader) prices(v field) (all []Price) {
	if !r.isMapping(v.value, "prices") {
		return nil
	}
	if !r.most(v.key, "prices", len(v.value.Content)/2, maxPrices) {
		return nil
	}
	for key, value := range r.entries(v.value, "", keepOne) {
		hourly, err := strconv.ParseFloat(value.Value, 64)
		if err != nil {
			hourly = -1 // no price, which the check reports
		}
		all = append(all, Price{key.Value, hourly})
	}
	return all
}

// check checks a price.
func (p Price) check(c *checker) {
	c.refuse(atKey("prices", p.Of), checkResource(p.Of))
	if !(p.Hourly >= 0 && p.Hourly <= maxHourly) || math.Signbit(p.Hourly) {
		c.wrong(value("prices", p.Of), "write US dollars for an hour, for example 0.108", "%s has no price", quote(p.Of))
	}
}
