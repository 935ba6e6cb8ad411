package page

import (
	"fmt"
	"strings"

	"nearfar/internal/declare/experiment"
)

// listArms describes the arms: their paths, and what they set.
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
		} else if arm.Kubernetes != nil {
			a.Path = clip(arm.HostsText())
		} else if arm.Client != "" {
			a.Path = clip(arm.Client) + " to " + clip(arm.Server)
		}
		arms = append(arms, a)
	}
	return arms
}

// parameters writes the parameters of an element of a path: "200us each way, 1Gbit/s".
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

// settings lists what an arm sets differently from the workloads. A setting that does not hold for all workloads names
// those for which it does.
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
