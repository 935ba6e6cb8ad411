package page

import (
	"fmt"
	"strings"

	"nearfar/internal/experiment"
)

// listArms describes the arms by their paths, and by what they set.
func (c *collector) listArms() []Arm {
	arms := []Arm{}
	for _, arm := range c.experiment.Arms {
		a := Arm{Name: arm.Name, Layers: arm.Layers, Elements: []Element{}, Set: c.settings(arm)}
		if arm.Lab != nil {
			var words []string
			for _, e := range arm.Lab.Path {
				with := parameters(e)
				a.Elements = append(a.Elements, Element{Kind: e.Kind, With: with})
				if with != "" {
					with = " (" + with + ")"
				}
				words = append(words, e.Kind+with)
			}
			a.Path = strings.Join(words, ", ")
		}
		arms = append(arms, a)
	}
	return arms
}

// parameters writes those of an element of a path.
func parameters(e experiment.Element) string {
	var with []string
	if e.Rules > 0 {
		with = append(with, fmt.Sprintf("%d rules", e.Rules))
	}
	if e.Delay > 0 {
		with = append(with, experiment.FormatDuration(e.Delay)+" each way")
	}
	if e.Rate > 0 {
		with = append(with, experiment.FormatRate(e.Rate))
	}
	if e.Loss > 0 {
		with = append(with, "loses "+experiment.FormatRatio(e.Loss))
	}
	return strings.Join(with, ", ")
}

// settings lists what an arm sets otherwise than the workloads. What holds for some workloads only names them.
func (c *collector) settings(arm experiment.Arm) []string {
	var words []string
	for _, s := range arm.Set {
		text := s.Key + " " + s.Value
		if len(s.Workloads) < len(c.experiment.Workloads) {
			text = s.String()
		}
		words = append(words, clip(text))
	}
	return words
}
