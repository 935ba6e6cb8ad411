package experiment

import (
	"strconv"
	"strings"
)

// Text describes an element of a path for people: "firewall (100 rules)".
func (e Element) Text() string {
	var with []string
	if e.Kind == Firewall {
		with = append(with, strconv.Itoa(e.Rules)+" rules")
	}
	if e.Delay > 0 {
		with = append(with, e.Delay.String()+" each way")
	}
	if e.Rate > 0 {
		with = append(with, strconv.FormatFloat(e.Rate/1e6, 'g', 6, 64)+" Mbit/s")
	}
	if e.Loss > 0 {
		with = append(with, strconv.FormatFloat(100*e.Loss, 'g', 4, 64)+" % loss")
	}
	if len(with) == 0 {
		return e.Kind
	}
	return e.Kind + " (" + strings.Join(with, ", ") + ")"
}

// PathsDiffer says that all arms are labs, and that not all have the same path.
func (e *Experiment) PathsDiffer() bool {
	differ := false
	for _, a := range e.Arms {
		if a.Lab == nil {
			return false
		}
		differ = differ || a.PathText() != e.Arms[0].PathText()
	}
	return differ
}

// PathText describes the path of a lab in a line: "bridge, router, bridge". It is empty for other arms.
func (a Arm) PathText() string {
	if a.Lab == nil {
		return ""
	}
	texts := make([]string, len(a.Lab.Path))
	for i, element := range a.Lab.Path {
		texts[i] = element.Text()
	}
	return strings.Join(texts, ", ")
}
