package result

// Warning is a fact that a reader of the numbers must know. Arm and Workload say which numbers; empty is all.
type Warning struct {
	Code     string `json:"code"`
	Message  string `json:"message"`
	Arm      string `json:"arm"`
	Workload string `json:"workload"`
}
