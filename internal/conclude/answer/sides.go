package answer

import "time"

// Source is one of the two sides of `compare`: a run, or imported results.
type Source struct {
	// Side is the name in figures and messages: "A" or "B".
	Side string `json:"side"`
	// Source is what the user wrote; Kind is "run" or "file".
	Source string `json:"source"`
	Kind   string `json:"kind"`
	// Runs are the sources of a side with several runs.
	Runs []string `json:"runs,omitempty"`
	// Name is the name of the experiment; empty for a file.
	Name    string    `json:"name"`
	State   string    `json:"state"`
	Started time.Time `json:"started,omitzero"`
	Arms    []string  `json:"arms"`
	// Blocks is the number of planned blocks, Trials the number of trials that ran, Failed how many of these have no
	// result. Trials count for the requested arms only.
	Blocks   int               `json:"blocks"`
	Trials   int               `json:"trials"`
	Failed   int               `json:"failed"`
	Versions map[string]string `json:"versions,omitempty"`
}
