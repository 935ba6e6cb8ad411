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

// String writes the setting as in reports: "wait spin in rr".
func (s Setting) String() string {
	return s.Key + " " + s.Value + " in " + strings.Join(s.Workloads, ", ")
}
