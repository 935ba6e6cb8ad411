package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"nearfar/internal/experiment"
)

// listArms describes the arms by their paths, and by what they set.
func (c *collector) listArms() []Arm {
	arms := []Arm{}
	for _, arm := range c.experiment.Arms {
		a := Arm{Name: arm.Name, Layers: arm.Layers, Elements: []Element{}, Set: settings(arm)}
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

// settings lists what an arm sets otherwise than the workloads: the key "set" of the arm as run.json has it, flat or by workload.
func settings(arm experiment.Arm) []string {
	document, err := json.Marshal(arm)
	if err != nil {
		return nil
	}
	var own struct {
		Set map[string]any `json:"set"`
	}
	d := json.NewDecoder(bytes.NewReader(document))
	d.UseNumber()
	if d.Decode(&own) != nil {
		return nil
	}
	return setWords("", own.Set)
}

func setWords(prefix string, set map[string]any) []string {
	var words []string
	for _, key := range slices.Sorted(maps.Keys(set)) {
		switch v := set[key].(type) {
		case map[string]any:
			words = append(words, setWords(prefix+key+": ", v)...)
		case []any:
			text, _ := listed(v)
			words = append(words, clip(prefix+key+" "+text))
		case nil:
		default:
			words = append(words, clip(prefix+key+" "+scalar(v)))
		}
	}
	return words
}
