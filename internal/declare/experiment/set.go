package experiment

import "strings"

// Setting is a key of workloads to which an arm gives another value.
type Setting struct {
	Key string `json:"key"`
	// Value is the text of Workload.Value.
	Value string `json:"value"`
	// Workloads are the names of the workloads that it changes, in the order of the file. It is never empty.
	Workloads []string `json:"workloads"`
}

// whyFixed says why an arm cannot set a key.
func whyFixed(k key) string {
	switch k.fixed {
	case sameMeasure:
		return "arms are compared within one workload, whose figures come from one tool in one mode; " +
			"write a second workload"
	case sameEnd, sameLength:
		return "the trials of all arms take the same time; write a second workload"
	}
	return "it is the same in all arms; leave it out of set"
}

// String writes the setting as in reports: "wait spin in rr".
func (s Setting) String() string {
	return s.Key + " " + s.Value + " in " + strings.Join(s.Workloads, ", ")
}
