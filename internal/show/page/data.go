package page

import (
	"encoding/json"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/check"
)

// Data is the JSON document that the page draws. Within a version, keys are stable and new ones may be added. Values
// are in base units. Most lists refer to an arm or a workload by its index in Arms or Workloads.
//
// The page has the types of the document in TypeScript from here: `make types` writes them.
type Data struct {
	// Nearfar is the version of nearfar's documents, Page the version of this document.
	Nearfar string `json:"nearfar"`
	Page    int    `json:"page"`
	// Kind is empty for a run, and Compare or Gate for a comparison of two sides.
	Kind string `json:"kind,omitempty"`
	// Gate is what `gate -f json` prints, for the page of a gate.
	Gate json.RawMessage `json:"gate,omitempty"`
	// Answer is what `-f json` prints. All figures with intervals come from here. Long texts are cut; figures are never
	// changed.
	Answer answer.Answer `json:"answer"`
	// Lead is the index of the finding that the answer's headline tells; none if it tells no finding.
	Lead *int `json:"lead,omitempty"`
	// Planned is how many trials the run will have; 0 once it has ended.
	Planned int `json:"planned,omitempty"`
	// Name is the name of the experiment. Started and Ended say when it ran (RFC 3339, UTC; empty if not known).
	Name     string            `json:"name"`
	Started  string            `json:"started"`
	Ended    string            `json:"ended"`
	Seed     uint64            `json:"seed"`
	Versions map[string]string `json:"versions"`

	Arms       []Arm      `json:"arms"`
	Workloads  []Workload `json:"workloads"`
	Quantities []Quantity `json:"quantities"`
	// Trials are the trials of the run, in the order of execution: []Trial.
	Trials Packed `json:"trials"`
	// Curves are the distributions within the trials: []Curve.
	Curves Packed `json:"curves"`
	// Courses are statistics over the time within the trials: []Course.
	Courses Packed `json:"courses"`
	// Loads groups workloads that differ only in the offered rate.
	Loads []Load `json:"loads"`
	// Hosts has the facts about the hosts.
	Hosts Hosts `json:"hosts"`
	// Commands are the exact command lines.
	Commands []Commands `json:"commands"`
	// Records are the trials in full, with the outputs of the programs, by workload and arm.
	Records []Records `json:"records"`
	// Notes say what is missing on the page.
	Notes []string `json:"notes"`
}

// pageVersion is the version of Data.
const pageVersion = 1

// Packed is JSON, compressed with gzip, in base64. The page unpacks it when it needs it.
type Packed string

// Arm is a configuration under comparison.
type Arm struct {
	Name string `json:"name"`
	// Path is the network path in words; empty if it is not known.
	Path string `json:"path"`
	// Elements are the elements of the path, from the client to the server; none if it is not known.
	Elements []Element `json:"elements"`
	// Set is what the arm sets differently from the workloads, in words; none if it sets nothing.
	Set    []string       `json:"set,omitempty"`
	Layers map[string]int `json:"layers"`
}

// Element is a network element on the path of an arm.
type Element struct {
	Kind string `json:"kind"`
	// With has its parameters in words: "200us each way, 1Gbit/s".
	With string `json:"with"`
}

// Workload is a workload of the experiment.
type Workload struct {
	Name string `json:"name"`
	Tool string `json:"tool"`
	Mode string `json:"mode"`
	// Description is the workload in words.
	Description string `json:"description"`
	// Skipped says why it did not run; empty if it ran.
	Skipped string `json:"skipped"`
}

// Quantity is a number that the answer reports for a workload.
type Quantity struct {
	Workload int `json:"workload"`
	figures.Quantity
	// Better is "lower", "higher", or empty if neither is better.
	Better string `json:"better"`
	// Compared says that the answer compares the arms in this quantity.
	Compared bool `json:"compared"`
}

// Trial is a trial in short form.
type Trial struct {
	Trial    int `json:"t"`
	Block    int `json:"b"`
	Arm      int `json:"a"`
	Workload int `json:"w"`
	// Values has one value for each quantity of the workload, in the order of Data.Quantities; null if there is none.
	Values []*float64 `json:"v"`
	// Error says why the trial failed; empty if it did not.
	Error string `json:"e,omitempty"`
	// Unproved is refuted or unknown if not all expectations of the arm were proved in the trial.
	Unproved check.Outcome `json:"p,omitempty"`
	// Started is in seconds since the run's first trial; -1 if it is not known.
	Started float64 `json:"s"`
}

// Curve is the distribution of the observations within the trials of an arm: for each percentile the median over the
// trials, and a band that shows how much the trials differ.
type Curve struct {
	Workload int `json:"workload"`
	Arm      int `json:"arm"`
	// Metric is the metric of the observations.
	Metric string `json:"metric"`
	Unit   string `json:"unit"`
	// Trials is the number of trials. Printed says that the tool printed the percentiles, and there are no histograms.
	Trials  int  `json:"trials"`
	Printed bool `json:"printed"`
	// Inner is the part of the trials that the band holds: 0.8, or 1 if there are fewer than 10 trials.
	Inner  float64  `json:"inner"`
	Points []Spread `json:"points"`
}

// Course is a statistic over the time within the trials of an arm.
type Course struct {
	Workload int     `json:"workload"`
	Arm      int     `json:"arm"`
	Metric   string  `json:"metric"`
	Stat     string  `json:"stat"`
	Unit     string  `json:"unit"`
	Trials   int     `json:"trials"`
	Inner    float64 `json:"inner"`
	// Points are at the middle of each interval, in seconds since the window began.
	Points []Spread `json:"points"`
}

// Spread is the median of a value over trials, and the bounds of the band.
type Spread struct {
	// At is the percentile, or the time in seconds.
	At     float64 `json:"x"`
	Median float64 `json:"m"`
	Low    float64 `json:"l"`
	High   float64 `json:"h"`
}

// Load is a list of workloads that differ only in the offered rate, in the order of the rate.
type Load struct {
	// Description describes what the workloads have in common.
	Description string      `json:"description"`
	Rates       []LoadPoint `json:"rates"`
}

// LoadPoint is one workload of a Load.
type LoadPoint struct {
	Workload int `json:"workload"`
	// Offered is in requests per second.
	Offered float64 `json:"offered"`
}

// Hosts has the facts about the hosts.
type Hosts struct {
	// Run has facts about the whole run, in the order of run.json.
	Run []Fact `json:"run"`
	// Arms has facts about the hosts of single arms.
	Arms []ArmFact `json:"arms"`
	// Trials has the facts that the tools found, by workload, if they are equal in all trials of an arm.
	Trials []ArmFact `json:"trials"`
	// Varying names the facts that differ between trials of one arm. The trials' records have them.
	Varying []string `json:"varying"`
}

// Fact is a name and a value.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// ArmFact is a fact with its value in each arm, in the order of Data.Arms; empty if an arm has none.
type ArmFact struct {
	// Workload is the index of the workload, or -1 for a fact about the hosts.
	Workload int      `json:"workload"`
	Name     string   `json:"name"`
	Values   []string `json:"values"`
	// Differs says that the arms have different values.
	Differs bool `json:"differs"`
	// Own says that the values of two arms always differ, such as the addresses and counters of the arm's own hosts.
	Own bool `json:"own"`
}

// Commands are the command lines of a workload in an arm.
type Commands struct {
	Workload int `json:"workload"`
	Arm      int `json:"arm"`
	// Lines has the server's and the client's command line, and those of the background.
	Lines []string `json:"lines"`
	// Variants is how many different sets of lines the trials had. The trials' records have the others.
	Variants int `json:"variants"`
}

// Records are the trials of a workload in an arm.
type Records struct {
	Workload int `json:"workload"`
	Arm      int `json:"arm"`
	Count    int `json:"count"`
	// Trials are []Record.
	Trials Packed `json:"trials"`
}

// Record is a trial in full.
type Record struct {
	Trial      int               `json:"trial"`
	Tool       string            `json:"tool"`
	Started    string            `json:"started"`
	Duration   float64           `json:"duration_seconds"`
	ReportedAs string            `json:"reported_as"`
	Definition string            `json:"definition"`
	Metrics    []Number          `json:"metrics"`
	Facts      map[string]string `json:"facts"`
	Treatment  map[string]string `json:"treatment"`
	Commands   []string          `json:"commands"`
	Notes      []string          `json:"notes"`
	Error      string            `json:"error"`
	Outputs    []Output          `json:"outputs"`
	// Expect says which expectations held, Observed what was observed meanwhile. Observed is left out with the outputs.
	Expect   []check.Judgement `json:"expect,omitempty"`
	Observed []Observed        `json:"observed,omitempty"`
}

// Number is a metric of a trial.
type Number struct {
	Name  string  `json:"name"`
	Unit  string  `json:"unit"`
	Value float64 `json:"value"`
}

// Output is what a program printed: all of it, or its beginning and its end.
type Output struct {
	Name string `json:"name"`
	// Bytes is the size of the file; -1 if it cannot be read, and Head then says why.
	Bytes int64  `json:"bytes"`
	Head  string `json:"head"`
	// Cut is how many bytes between Head and Tail are left out.
	Cut  int64  `json:"cut"`
	Tail string `json:"tail"`
}
