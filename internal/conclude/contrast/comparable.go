package contrast

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"nearfar/internal/conclude/answer/environment"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// differences says how two groups of trials do not measure the same thing. Tools may differ, which gives a warning.
// Properties that follow from keys that the arms set are allowed to differ: they are compared.
func differences(base, other []result.Trial, set []string) []string {
	if len(base) == 0 || len(other) == 0 {
		return []string{"no good trials on one side"}
	}
	var reasons []string
	for _, property := range append(figures.Properties(), figures.Property{Name: "waiting", Of: environment.Waiting}) {
		if property.Name == "tool" {
			continue
		}
		b, n := figures.Distinct(base, property.Of), figures.Distinct(other, property.Of)
		switch {
		case property.Name == "waiting" && (slices.Contains(b, "") || slices.Contains(n, "")): // some trials do not say
			continue
		case len(b) == 1 && len(n) == 1 && (property.FollowsFrom(set) ||
			property.Name == "waiting" && slices.Contains(set, "wait")):
			continue
		}
		if !slices.Equal(b, n) || len(b) > 1 {
			reasons = append(reasons, fmt.Sprintf("%s: %s against %s", property.Name, list(n), list(b)))
		}
	}
	return reasons
}

// otherWorkload says how two declarations of one name are not the same workload: in what a transaction or the load
// is. Differences in conditions only give a warning. Keys that the arms set may differ: they are compared.
func otherWorkload(base, other experiment.Workload, set []string) []string {
	return differing("%s: %s against %s", base.Parts(), other.Parts(), set)
}

// measuredOtherwise says how two declarations of one workload differ in ways that can influence its figures.
func measuredOtherwise(base, other experiment.Workload, set []string) []string {
	return differing("%s %s against %s", base.Without(set).Conditions(), other.Without(set).Conditions(), nil)
}

// differing lists the values that differ and do not follow from keys that are set.
func differing(format string, base, other []experiment.Part, set []string) (reasons []string) {
	for i, p := range base {
		if b, n := written(p.Value), written(other[i].Value); b != n && !isSet(p.Key, set) {
			reasons = append(reasons, fmt.Sprintf(format, p.Name, n, b))
		}
	}
	return reasons
}

// isSet says whether the value of a key follows from one of the keys that are set.
func isSet(key string, set []string) bool {
	return slices.Contains(set, key) || key == "response" && slices.Contains(set, "request") // its default size
}

// written is a value in one line, for messages and comparisons.
func written(v any) string {
	switch v := v.(type) {
	case string:
		return cmp.Or(v, "none")
	case *experiment.Workload:
		if v == nil {
			return "none"
		}
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return strings.ReplaceAll(string(text), `"`, "")
}

// list joins names with commas, and counts those after the first 20.
func list(names []string) string {
	const most = 20
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}
