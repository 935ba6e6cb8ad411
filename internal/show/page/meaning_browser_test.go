//go:build linux

package page

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/conclude/answer/meaning"
	"nearfar/internal/declare/result"
	"nearfar/internal/show/page/pagetest"
)

// The page says how many round trips an application's difference is worth, and calculates for a page of the reader's.
func testMeaning(t *testing.T, b *pagetest.Tab) {
	d, _ := collected(t, sample{arms: []string{"l2", "routed"}, blocks: 8, rounds: 300, plain: true}.write(t))
	of := func(value, low, high float64) meaning.Estimate {
		return meaning.Estimate{Value: value, Interval: &figures.Bounds{low, high}}
	}
	slope, worth, trips := of(40.2, 39.6, 40.9), of(40.1, 38.2, 41.9), 40
	d.Answer.Meaning = []meaning.Meaning{{
		Workload: "page", Quantity: figures.Quantity{Metric: result.ResponseTime, Stat: result.P50, Unit: result.Seconds},
		RoundTrip: "rr", RoundTripStat: result.P50, Slope: &slope, Trips: &trips, Between: &figures.Bounds{38.8, 41.7}, Text: "40 round trips explain it.",
		Arms: []meaning.Arm{{Arm: "routed", Application: of(.31e-3, .29e-3, .33e-3), RoundTrip: of(7.8e-6, 7.7e-6, 7.9e-6),
			Differs: true, ApplicationDiffers: true, Worth: &worth}},
	}}
	each, byteOf := of(7.8e-6, 7.7e-6, 7.9e-6), of(1e-9, .5e-9, 1.5e-9)
	d.Answer.Added = &meaning.Added{RoundTrip: "rr", Stream: "bulk", Confidence: .975,
		Arms: []meaning.AddedArm{{Arm: "routed", RoundTrip: &each, Byte: &byteOf}}}
	b.Show(t, written(t, d))

	if got := rows(t, b, "#meaning > div"); len(got) == 0 ||
		!strings.Contains(got[0], "+310.0[+290.0, +330.0]|+7.80[+7.70, +7.90]|40.10[38.20, 41.90]") {
		t.Errorf("the table is %q", got)
	}
	if got := rows(t, b, "#calculator"); len(got) != 1 || !strings.Contains(got[0], "+312.0 us|[+308.0, +316.0] us") {
		t.Errorf("40 round trips: %q", got)
	}
	set := func(field int, value string) {
		b.Do(t, chromedp.Evaluate[chromedp.Void](`(() => { const i = document.querySelectorAll("#calculator input")[`+
			string(rune('0'+field))+`]; i.value = "`+value+`"; i.dispatchEvent(new Event("input")); })()`))
	}
	set(1, "1000") // a megabyte
	if got := rows(t, b, "#calculator"); !strings.Contains(got[0], "+1.31 ms|[+0.808, +1.82] ms") {
		t.Errorf("with a megabyte: %q", got)
	}
	set(0, "-1")
	if got := texts(t, b, "#calculator .caution"); len(got) != 1 {
		t.Errorf("of -1 round trips the page says %q", got)
	}
	b.Do(t, chromedp.EmulateViewport(390, 844))
	if wide := pagetest.Eval[int](t, b, `document.documentElement.scrollWidth`); wide > 390 {
		t.Errorf("the page is %d pixels wide on a screen of 390", wide)
	}
	b.NoMessages(t)

	d.Answer.Meaning, d.Answer.Added = nil, nil
	b.Show(t, written(t, d))
	if pagetest.Eval[bool](t, b, `!document.querySelector("#meaning").hidden`) {
		t.Error("a run without an application has the section")
	}
}
