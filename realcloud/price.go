package main

import (
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// priceReserve is added to the price for what prices of machines do not have: their system disks, their public
// addresses and what they send.
const priceReserve = 0.10

// A bill is what nearfar up --dry-run says of the price for an hour, in US dollars.
type bill struct {
	hourly float64
	// atLeast says that something has no known price. hourly is 0 then, if nothing has one.
	atLeast bool
}

var inAll = regexp.MustCompile(`(?m)^In all (at least )?\$([0-9]+(?:\.[0-9]+)?) an hour\b`)

// readBill reads what up --dry-run printed. A price that is not found is not known.
func readBill(printed string) bill {
	found := inAll.FindAllStringSubmatch(printed, -1)
	if len(found) != 1 {
		return bill{atLeast: true}
	}
	hourly, err := strconv.ParseFloat(found[0][2], 64)
	if err != nil {
		return bill{atLeast: true}
	}
	return bill{hourly, found[0][1] != ""}
}

// most is the greatest sum for the given time, in US dollars. given is the price for an hour that the user gave, 0 for
// none; a known price that is greater counts. The error says why there is no such sum, or that it is above the limit.
func (b bill) most(given, limit float64, of time.Duration) (float64, error) {
	hourly := max(b.hourly, given)
	most := hourly * of.Hours() * (1 + priceReserve)
	sum := fmt.Sprintf("$%.2f an hour for %v, and %.0f %% for disks, addresses and traffic, are $%.2f", hourly, of,
		100*priceReserve, most)
	switch {
	case most > limit:
		return most, refusedf("%s, which is more than the limit of $%.2f: give a greater LIMIT or a shorter TIME", sum,
			limit)
	case b.atLeast && given == 0:
		return most, refusedf("the price of some of this is not known, so that the limit of $%.2f cannot be checked: "+
			"find out what all of it costs for an hour, in US dollars, and give it as PRICE", limit)
	}
	return most, nil
}
