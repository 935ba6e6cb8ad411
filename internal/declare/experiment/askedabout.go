package experiment

import (
	"fmt"
	"slices"
	"strings"
)

// askedAbout reads the name of the arm that the question is about; empty if the file names none.
func (r *reader) askedAbout(f fields, baseline string) string {
	v, ok := r.optional(f, "asked_about")
	if !ok {
		return ""
	}
	name, ok := r.text(v.value, "asked_about", "the name of an arm")
	others := slices.DeleteFunc(armNames(f), func(arm string) bool { return arm == baseline })
	switch {
	case !ok || len(others) == 0:
	case name == baseline:
		r.wrong(v.value, "write an arm that is compared with it: "+strings.Join(others, ", "),
			"asked_about %s is the baseline", quote(name))
	case !slices.Contains(others, name):
		r.wrong(v.value, Suggest(name, others), "asked_about %s is none of the arms", quote(name))
	}
	return name
}

// checkAskedAbout checks the arm of an experiment that was read from a run directory.
func (e *Experiment) checkAskedAbout() error {
	if e.AskedAbout == "" {
		return nil
	}
	if _, ok := e.Arm(e.AskedAbout); !ok || e.AskedAbout == e.Baseline {
		return fmt.Errorf("asked_about %s is no arm that is compared with the baseline", quote(e.AskedAbout))
	}
	return nil
}
