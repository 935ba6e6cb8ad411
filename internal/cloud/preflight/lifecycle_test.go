package preflight

import (
	"strings"
	"testing"
	"time"
)

// The table is right, and what it says depends on the day alone.
func TestRetirements(t *testing.T) {
	table, err := Retirements()
	if err != nil {
		t.Fatal(err)
	}
	day := func(text string) time.Time {
		d, err := time.Parse(time.DateOnly, text)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for _, c := range []struct {
		name, today string
		warning     string
		ended       bool
	}{
		{"Windows2022", "2026-11-24", "", false},
		{"Windows2022", "2028-03-31", "", false},
		{"Windows2022", "2028-04-01", "ends on 2028-06-30, in 90 days", false},
		{"Windows2022", "2028-06-29", "in 1 days", false},
		{"Windows2022", "2028-06-30", "the creation of new ones has ended on 2028-06-30", true},
		{"2022-datacenter", "2032-01-01", "support has ended on 2031-10-14", false},
		{"Standard_D3_v2", "2028-05-01", "has ended", true},
		{"Standard_DS3_v2", "2028-05-01", "has ended", true},
		{"Standard_A4_v2", "2028-11-14", "in 1 days", false},
		{"Standard_D4as_v5", "2040-01-01", "", false},
		{"eks-1.31", "2026-11-24", "ends on 2026-11-26, in 2 days", false},
		{"eks-1.35", "2040-01-01", "", false},
	} {
		r, there := Retired(table, c.name)
		if !there {
			t.Errorf("%s is not in the table", c.name)
			continue
		}
		got := r.Warning(day(c.today))
		if r.Ended(day(c.today)) != c.ended || (c.warning == "") != (got == "") || !strings.Contains(got, c.warning) {
			t.Errorf("%s on %s: %q, %v, want %q", c.name, c.today, got, r.Ended(day(c.today)), c.warning)
		}
	}
	for _, name := range []string{"Standard_D4as_v99x", "x", ""} {
		if r, there := Retired(table, name); there {
			t.Errorf("%q is %s", name, r.Name)
		}
	}
}

// What a plan makes is looked up: a check that would be refused after the end, and warnings before.
func TestRetirementsOfPlans(t *testing.T) {
	w := wantsOf(t, "aks-accelerated-networking")
	w.Places[0].Machines[0].System = "Windows2022"
	soon := time.Date(2028, 6, 1, 0, 0, 0, 0, time.UTC)
	warnings, err := w.Warnings(soon)
	if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], "2028-06-30") {
		t.Errorf("%q, %v", warnings, err)
	}
	run := answers{t, "nothing", nil}.run
	wantCheck(t, Checker{Now: soon, Run: run}.Check(t.Context(), w), checkLifecycle, "Windows2022", OK, "soon: ")
	over := soon.AddDate(0, 2, 0)
	wantCheck(t, Checker{Now: over, Run: run}.Check(t.Context(), w), checkLifecycle, "Windows2022", Refused, "has ended")
}

// Entries without a source, a date or a reason are refused.
func TestRetirementsRefused(t *testing.T) {
	for _, entry := range []string{
		`{"name": "x", "pattern": "x"}`, `{"name": "x", "pattern": "(", "note": "n"}`,
		`{"name": "x", "pattern": "x", "ends": "2028-13-01", "what": "creation", "source": "https://x"}`,
		`{"name": "x", "pattern": "x", "ends": "2028-01-01", "what": "creation"}`,
		`{"name": "x", "pattern": "x", "ends": "2028-01-01", "what": "all", "source": "https://x"}`,
		`{"name": "x", "pattern": "x", "note": "n", "what": "support"}`, `{"unknown": 1}`,
	} {
		if _, err := readRetirements([]byte(`{"entries": [` + entry + `]}`)); err == nil {
			t.Errorf("%s is taken", entry)
		}
	}
}
