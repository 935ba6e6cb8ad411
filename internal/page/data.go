package page

import (
	"encoding/json"

	"nearfar/internal/answer"
)

// Data is the JSON document that the page draws. Keys are stable within a version, additions allowed. Values are in base
// units. Arms and workloads are named by their index in Arms and Workloads where there are many of them.
type Data struct {
	// Nearfar is the version of nearfar's documents, Page that of this one.
	Nearfar string `json:"nearfar"`
	Page    int    `json:"page"`
	// Kind is empty for a run, and Compare or Gate where two sides are set side by side.
	Kind string `json:"kind,omitempty"`
	// Gate is what `gate -f json` prints, for the page of a gate.
	Gate json.RawMessage `json:"gate,omitempty"`
	// Answer is what `-f json` prints: every figure that has an interval comes from here. Texts that came from hosts are
	// clipped, figures never changed.
	Answer answer.Answer `json:"answer"`
	// Name is that of the experiment, Started and Ended when it ran (RFC 3339, UTC; empty where not known).
	Name     string            `json:"name"`
	Started  string            `json:"started"`
	Ended    string            `json:"ended"`
	Seed     uint64            `json:"seed"`
	Versions map[string]string `json:"versions"`

	Arms       []Arm      `json:"arms"`
	Workloads  []Workload `json:"workloads"`
	Quantities []Quantity `json:"quantities"`
	// Trials are those of the run, in the order of execution: []Trial.
	Trials Packed `json:"trials"`
	// Curves are the distributions within the trials: []Curve.
	Curves Packed `json:"curves"`
	// Courses are how the trials went from their beginning to their end: []Course.
	Courses Packed `json:"courses"`
	// Loads are the workloads that differ in nothing but the offered rate.
	Loads []Load `json:"loads"`
	// Hosts is what the hosts were.
	Hosts Hosts `json:"hosts"`
	// Commands are the exact command lines.
	Commands []Commands `json:"commands"`
	// Records are the trials in full, with what was printed, by workload and arm.
	Records []Records `json:"records"`
	// Notes say what of the run is not on the page.
	Notes []string `json:"notes"`
}

// pageVersion is that of Data.
const pageVersion = 1

// Packed is JSON, compressed with gzip, in base64. The page unpacks it when it needs it.
type Packed string

// Arm is a configuration under comparison.
type Arm struct {
	Name string `json:"name"`
	// Path is what a packet crosses, in words; empty where it is not known.
	Path string `json:"path"`
	// Elements are those of the path, from the client to the server; none where it is not known.
	Elements []Element `json:"elements"`
	// Set is what the arm sets otherwise than the workloads, in words; none where it sets nothing.
	Set    []string       `json:"set,omitempty"`
	Layers map[string]int `json:"layers"`
}

// Element is what a packet crosses.
type Element struct {
	Kind string `json:"kind"`
	// With are its parameters in words: "200us each way, 1 Gbit/s".
	With string `json:"with"`
}

// Workload is what was run in every arm.
type Workload struct {
	Name string `json:"name"`
	Tool string `json:"tool"`
	Mode string `json:"mode"`
	// Description is the workload in words.
	Description string `json:"description"`
	// Skipped is why it did not run; empty if it did.
	Skipped string `json:"skipped"`
}

// Quantity is a number that trials of a workload have and that the answer reports.
type Quantity struct {
	Workload int `json:"workload"`
	answer.Quantity
	// Better is "lower", "higher", or empty where neither is better.
	Better string `json:"better"`
	// Compared says that the arms are compared by it.
	Compared bool `json:"compared"`
}

// Trial is a trial in short.
type Trial struct {
	Trial    int `json:"t"`
	Block    int `json:"b"`
	Arm      int `json:"a"`
	Workload int `json:"w"`
	// Values are those of the quantities of the workload, in the order of Data.Quantities; null where it has none.
	Values []*float64 `json:"v"`
	// Error is why it failed; empty for a good one.
	Error string `json:"e,omitempty"`
	// Started is in seconds since the run's first trial; -1 where it is not known.
	Started float64 `json:"s"`
}

// Curve is the distribution of the observations within the trials of an arm: for each percentile the median over the trials,
// and how far the trials lie apart.
type Curve struct {
	Workload int `json:"workload"`
	Arm      int `json:"arm"`
	// Metric is what is distributed.
	Metric string `json:"metric"`
	Unit   string `json:"unit"`
	// Trials is how many it is of. Printed says that the percentiles are those that the tool printed, and not from a
	// histogram.
	Trials  int  `json:"trials"`
	Printed bool `json:"printed"`
	// Inner is the part of the trials that the band holds: 0.8, or 1 for all where they are few.
	Inner  float64  `json:"inner"`
	Points []Spread `json:"points"`
}

// Course is a statistic within the trials of an arm, from their beginning to their end.
type Course struct {
	Workload int     `json:"workload"`
	Arm      int     `json:"arm"`
	Metric   string  `json:"metric"`
	Stat     string  `json:"stat"`
	Unit     string  `json:"unit"`
	Trials   int     `json:"trials"`
	Inner    float64 `json:"inner"`
	// Points are at the middle of each interval, in seconds since the window's beginning.
	Points []Spread `json:"points"`
}

// Spread is a value over trials: median, and the bounds of the band.
type Spread struct {
	// At is the percentile, or the time in seconds.
	At     float64 `json:"x"`
	Median float64 `json:"m"`
	Low    float64 `json:"l"`
	High   float64 `json:"h"`
}

// Load is a row of workloads that differ in the offered rate alone, by rising rate.
type Load struct {
	// Description says what they have in common.
	Description string      `json:"description"`
	Rates       []LoadPoint `json:"rates"`
}

// LoadPoint is one workload of a Load.
type LoadPoint struct {
	Workload int `json:"workload"`
	// Offered is in requests per second.
	Offered float64 `json:"offered"`
}

// Hosts is what is known of the hosts.
type Hosts struct {
	// Run are facts of the whole run, in the order in which they were found.
	Run []Fact `json:"run"`
	// Arms are facts of the hosts of single arms.
	Arms []ArmFact `json:"arms"`
	// Trials are what the tools found on the hosts, by workload, where it is the same in all trials of an arm.
	Trials []ArmFact `json:"trials"`
	// Varying are the names of facts that differ from trial to trial of one arm: they are in the trials' records.
	Varying []string `json:"varying"`
}

// Fact is a name and a value.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// ArmFact is a fact with its value in each arm, in the order of Data.Arms; empty where it has none.
type ArmFact struct {
	// Workload is the index, or -1 for a fact of the hosts.
	Workload int      `json:"workload"`
	Name     string   `json:"name"`
	Values   []string `json:"values"`
	// Differs says that the arms have different values.
	Differs bool `json:"differs"`
	// Own says that the fact differs in any case, because it names the arm's own hosts: addresses, names.
	Own bool `json:"own"`
}

// Commands are the command lines of a workload in an arm.
type Commands struct {
	Workload int `json:"workload"`
	Arm      int `json:"arm"`
	// Lines are the server's and the client's, and those of the background.
	Lines []string `json:"lines"`
	// Variants is how many different sets of lines the trials had. The others are in the trials' records.
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
	// Bytes is the size of the file; -1 where it cannot be read, and Head then says why.
	Bytes int64  `json:"bytes"`
	Head  string `json:"head"`
	// Cut is how many bytes are left out between Head and Tail.
	Cut  int64  `json:"cut"`
	Tail string `json:"tail"`
}
