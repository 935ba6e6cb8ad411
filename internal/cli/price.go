package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"nearfar/internal/base/clean"
	"nearfar/internal/cloud/provision"
	"nearfar/internal/declare/experiment"
)

// printCost prints what the resources of a plan cost for an hour, and until the machines are past their time.
func printCost(w io.Writer, c provision.Cost, ttl time.Duration, now time.Time) {
	var sources []string // of the table's prices, with their dates; a price has the number of its source
	for _, item := range c.Items {
		what := item.Resource + textIf(item.Size != "", " ("+item.Size+")")
		if item.Count != 1 {
			what = fmt.Sprintf("%d of %s", item.Count, what)
		}
		hourly, known := item.Hourly()
		if !known {
			fmt.Fprintf(w, "  %s: price not known\n", clean.Line(what))
			continue
		}
		from := "(" + item.Price.Source + ")"
		if item.Price.Date != "" {
			source := sourceOf(item.Price)
			if !slices.Contains(sources, source) {
				sources = append(sources, source)
			}
			from = fmt.Sprintf("[%d]", slices.Index(sources, source)+1)
		}
		fmt.Fprintf(w, "  %s: %s an hour %s\n", clean.Line(what), sum(hourly, item.AtLeast), clean.Line(from))
	}
	if c.Others > 0 {
		fmt.Fprintf(w, "  other resources: %d; whether they cost anything is not known\n", c.Others)
	}
	hourly, atLeast := c.Hourly()
	if !c.Known() {
		fmt.Fprintln(w, "No price is known here: ask the provider, or give prices in the file (provision: prices).")
	} else {
		fmt.Fprintf(w, "In all %s an hour, %s for %s.\n", sum(hourly, atLeast), sum(hourly*ttl.Hours(), atLeast),
			experiment.FormatDuration(ttl))
	}
	if slices.ContainsFunc(c.Items, func(i provision.CostItem) bool { return i.Machine && i.Price != nil }) {
		fmt.Fprintln(w, "The price of a machine is without its system disk, its own public address and what it sends.")
	}
	printZones(w, c)
	printSources(w, c, sources, now)
}

// printZones says what data between zones costs.
func printZones(w io.Writer, c provision.Cost) {
	if len(c.Zones) < 2 {
		return
	}
	zones := clean.Line(strings.Join(c.Zones, ", "))
	switch b := c.BetweenZones; {
	case b == nil:
		fmt.Fprintf(w, "Data between the zones %s can cost extra: its price is not known here.\n", zones)
	case b.PerGB == 0:
		fmt.Fprintf(w, "Data between the zones %s costs nothing (%s, %s).\n", zones, b.Date, b.Source)
	default:
		fmt.Fprintf(w, "Data between the zones %s costs %s for 1 GB (%s, %s).\n", zones, dollars(b.PerGB), b.Date,
			b.Source)
	}
}

// printSources lists the sources of prices with their numbers, and warns of old ones.
func printSources(w io.Writer, c provision.Cost, sources []string, now time.Time) {
	if len(sources) == 0 {
		return
	}
	fmt.Fprintln(w, "Prices of nearfar's table, in US dollars without tax and discounts:")
	for i, source := range sources {
		fmt.Fprintf(w, "  [%d] %s\n", i+1, clean.Line(source))
	}
	if oldest, _ := c.Dates(); provision.IsOld(oldest, now) {
		fmt.Fprintf(w, "Warning: the oldest of these prices is from %s. Prices may have changed.\n", oldest)
	}
}

// sourceOf says when and where a price was published, and for which system it is.
func sourceOf(p *provision.Price) string {
	return p.Date + ", " + textIf(p.System != "", p.System+", ") + p.Source + textIf(p.Note != "", " ("+p.Note+")")
}

// sum writes a sum of US dollars.
func sum(v float64, atLeast bool) string {
	return textIf(atLeast, "at least ") + dollars(v)
}

// dollars writes a sum with at least two, and at most four digits after the point.
func dollars(v float64) string {
	text := fmt.Sprintf("%.4f", v)
	for range 2 {
		text = strings.TrimSuffix(text, "0")
	}
	return "$" + text
}

// spent says what machines have cost so far.
func spent(r *provision.Record, now time.Time) string {
	if r.Hourly == nil {
		return "not known"
	}
	return sum(*r.Hourly*now.Sub(r.Since).Hours(), r.HourlyAtLeast)
}

// printPriceDates prints the dates and sources of the prices that the costs are computed with.
func printPriceDates(w io.Writer, records []listedMachine, now time.Time) {
	for _, r := range records {
		if r.HourlyDate == "" {
			continue
		}
		fmt.Fprintf(w, "%s: prices from %s or later (%s).\n", clean.Line(r.Name), clean.Line(r.HourlyDate),
			clean.Line(strings.Join(r.HourlySources, " and ")))
		if provision.IsOld(r.HourlyDate, now) {
			fmt.Fprintf(w, "%s: prices may have changed since then.\n", clean.Line(r.Name))
		}
	}
}
