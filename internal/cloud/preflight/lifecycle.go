package preflight

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"
)

//go:embed lifecycle.json
var lifecycleTable []byte

// A Retirement is the end of something that labs name: a size, an image, a version of Kubernetes.
type Retirement struct {
	Name string `json:"name"`
	// Pattern matches what files name.
	Pattern string `json:"pattern"`
	// Ends is a date (YYYY-MM-DD); empty if none is known, and Note says why.
	Ends string `json:"ends,omitempty"`
	// What ends: creation says that nothing new can be made of it, support that it gets no updates.
	What string `json:"what,omitempty"`
	// Source is the page of the provider that has the date.
	Source string `json:"source,omitempty"`
	Note   string `json:"note,omitempty"`

	matches *regexp.Regexp
	at      time.Time
}

// What ends.
const (
	endOfCreation = "creation"
	endOfSupport  = "support"
)

// warnBefore is how long before its end something gets a warning.
const warnBefore = 90 * 24 * time.Hour

// Retirements reads the table of retirements.
func Retirements() ([]Retirement, error) { return readRetirements(lifecycleTable) }

// readRetirements reads a table. Its error is about the first mistake.
func readRetirements(text []byte) ([]Retirement, error) {
	var table struct {
		Checked string       `json:"checked"`
		Entries []Retirement `json:"entries"`
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&table); err != nil {
		return nil, fmt.Errorf("the table of retirements: %w", err)
	}
	for i := range table.Entries {
		r := &table.Entries[i]
		var err error
		if r.matches, err = regexp.Compile(r.Pattern); err != nil {
			return nil, fmt.Errorf("the table of retirements: %s: %w", r.Name, err)
		}
		if r.Ends == "" {
			if r.Note == "" || r.What != "" {
				return nil, fmt.Errorf("the table of retirements: %s has no date, and does not say why", r.Name)
			}
			continue
		}
		if r.at, err = time.Parse(time.DateOnly, r.Ends); err != nil {
			return nil, fmt.Errorf("the table of retirements: %s: %w", r.Name, err)
		}
		if (r.What != endOfCreation && r.What != endOfSupport) || !strings.HasPrefix(r.Source, "https://") {
			return nil, fmt.Errorf("the table of retirements: %s says not what ends, or has no source", r.Name)
		}
	}
	return table.Entries, nil
}

// Retired finds the entry about a name.
func Retired(table []Retirement, name string) (Retirement, bool) {
	for _, r := range table {
		if r.matches.MatchString(name) {
			return r, true
		}
	}
	return Retirement{}, false
}

// Ended says that nothing new can be made of it today.
func (r Retirement) Ended(today time.Time) bool {
	return r.What == endOfCreation && r.Ends != "" && !today.Before(r.at)
}

// Warning says what ends within 90 days, or has ended; empty if nothing does.
func (r Retirement) Warning(today time.Time) string {
	if r.Ends == "" || today.Before(r.at.Add(-warnBefore)) {
		return ""
	}
	days := int(r.at.Sub(today.Truncate(24*time.Hour)).Hours() / 24)
	when := fmt.Sprintf("ends on %s, in %d days", r.Ends, days)
	if !today.Before(r.at) {
		when = "has ended on " + r.Ends
	}
	what := "the creation of new ones"
	if r.What == endOfSupport {
		what = "support"
	}
	return fmt.Sprintf("%s: %s %s (%s)", r.Name, what, when, r.Source)
}

// names are what a place names, as the table has it.
func (p Place) names() (all []string) {
	for _, m := range p.Machines {
		all = append(all, m.Size)
		if m.System != "" {
			all = append(all, m.System)
		}
		if parts := strings.FieldsFunc(m.Image, func(r rune) bool { return r == ':' || r == '/' }); len(parts) > 1 {
			all = append(all, parts...)
		}
	}
	for _, version := range p.Clusters {
		if p.Provider == AWS && version != "" {
			all = append(all, "eks-"+version)
		}
	}
	return all
}

// retirements looks up what the machines are made of.
func (a *asker) retirements(today time.Time) {
	table, err := Retirements()
	if err != nil || today.IsZero() {
		a.note(checkLifecycle, "sizes, images and versions", Unknown, "the table of retirements was not read", "")
		return
	}
	looked := map[string]bool{}
	for _, name := range a.place.names() {
		if looked[name] {
			continue
		}
		looked[name] = true
		r, there := Retired(table, name)
		switch warning := r.Warning(today); {
		case !there: // images have parts that the table does not name
		case r.Ended(today):
			a.note(checkLifecycle, name, Refused, warning, "choose another one")
		case warning != "":
			a.note(checkLifecycle, name, OK, "soon: "+warning, "choose another one before")
		case r.Ends != "":
			a.note(checkLifecycle, name, OK, fmt.Sprintf("until %s (%s)", r.Ends, r.Source), "")
		}
	}
}

// Warnings are the warnings about what would be made, each once.
func (w Wants) Warnings(today time.Time) (all []string, err error) {
	var names []string
	for _, p := range w.Places {
		names = append(names, p.names()...)
	}
	return WarningsOf(names, today)
}

// WarningsOf are the warnings about names, each once.
func WarningsOf(names []string, today time.Time) (all []string, err error) {
	table, err := Retirements()
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, name := range names {
		r, there := Retired(table, name)
		if warning := r.Warning(today); there && warning != "" && !seen[warning] {
			seen[warning] = true
			all = append(all, warning)
		}
	}
	return all, nil
}
