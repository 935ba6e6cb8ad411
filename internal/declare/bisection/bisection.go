// Package bisection is the record of a bisection: an ordered list of steps, of which the first is good and the last is
// bad, and the visits to them.
//
//	bisections/20261121T192200Z-service/
//	  bisection.json    the steps, how one is put in place, what is measured, and the options
//	  experiment.yaml   the experiment file as it was
//	  visits.jsonl      a line for each visit, synced as it is written; never rewritten
//	  place.log         what the command printed that puts steps in place
//	  runs/             the run directory of each visit
//
// A visit is one time that a step was put in place and measured. The search for the step follows from the visits alone,
// so that a bisection that was killed at any instant loses at most one visit.
package bisection

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// The limits of what is read.
const (
	// MaxSteps is how many steps a bisection has at most, and maxStep how long the name of one is, in bytes.
	MaxSteps = 100_000
	maxStep  = 1000
	// MaxVisits is how many visits are read.
	MaxVisits = 100_000
	maxRecord = 64 << 20 // bytes of bisection.json and of visits.jsonl
)

// A Step is one of an ordered list of states of something.
type Step struct {
	// Name is what the command that puts the step in place gets, such as a commit or the tag of an image.
	Name string `json:"name"`
	// About is a text for people, such as the subject of a commit; empty for none.
	About string `json:"about,omitempty"`
}

// A name of at least commitHash hexadecimal digits is a commit, of which shownHash digits are shown.
const (
	commitHash = 40
	shownHash  = 12
)

// String is the step as people read it. A commit has the beginning of its hash.
func (s Step) String() string {
	name := s.Name
	if len(name) >= commitHash && !strings.ContainsFunc(name, func(r rune) bool { return !isHex(r) }) {
		name = name[:shownHash]
	}
	return name
}

func isHex(r rune) bool { return '0' <= r && r <= '9' || 'a' <= r && r <= 'f' }

// CheckSteps checks a list of steps. The names go into command lines.
func CheckSteps(steps []Step) error {
	if len(steps) < 2 {
		return fmt.Errorf("a bisection needs two steps or more, and there are %d", len(steps))
	}
	if len(steps) > MaxSteps {
		return fmt.Errorf("there are %d steps; at most %d", len(steps), MaxSteps)
	}
	seen := map[string]int{}
	for i, s := range steps {
		switch {
		case s.Name == "":
			return fmt.Errorf("step %d has no name", i+1)
		case len(s.Name) > maxStep:
			return fmt.Errorf("step %d has a name of %d bytes; at most %d", i+1, len(s.Name), maxStep)
		case !utf8.ValidString(s.Name) || strings.ContainsFunc(s.Name, func(r rune) bool { return !unicode.IsPrint(r) }):
			return fmt.Errorf("step %d: its name has characters that cannot be printed", i+1)
		case strings.HasPrefix(s.Name, "-"):
			return fmt.Errorf("step %d, %s: a name that begins with - would be an option of the command", i+1, s.Name)
		}
		if before, twice := seen[s.Name]; twice {
			return fmt.Errorf("%s is step %d and step %d", s.Name, before, i+1)
		}
		seen[s.Name] = i + 1
	}
	return nil
}

// Plan is bisection.json.
type Plan struct {
	// Nearfar is the version of the format: "v1".
	Nearfar string `json:"nearfar"`
	// Name is the experiment's, File the experiment file's, as it was named.
	Name  string `json:"name"`
	File  string `json:"file"`
	Steps []Step `json:"steps"`
	// Place are the words of the command that puts a step in place; empty if the file has the step as a variable.
	Place []string `json:"place,omitempty"`
	// PlaceLimit is how long the command may take.
	PlaceLimit time.Duration `json:"place_limit"`
	// Arm and Workload are what is measured, with Trials trials a visit.
	Arm      string `json:"arm"`
	Workload string `json:"workload"`
	Trials   int    `json:"trials"`
	// Metric and Stat are the figure; empty for the first one of the workload.
	Metric string `json:"metric,omitempty"`
	Stat   string `json:"stat,omitempty"`
	// By is how far from good a step is bad, as written; empty for half of the difference between good and bad.
	By string `json:"by,omitempty"`
	// Alpha is the chance of a wrong step, and Seed the seed of the order of visits.
	Alpha float64 `json:"alpha"`
	Seed  uint64  `json:"seed"`
	// Checks is how many steps are visited after the answer, to see whether the figure changed back or more than once.
	Checks  int       `json:"checks"`
	Started time.Time `json:"started"`
}

// check checks what was read.
func (p Plan) check() error {
	switch {
	case p.Nearfar != "v1":
		return fmt.Errorf("version %q, and this program reads v1", p.Nearfar)
	case !(p.Alpha > 0 && p.Alpha < 1):
		return fmt.Errorf("alpha is %v", p.Alpha)
	case p.Trials < 1 || p.Checks < 0 || p.PlaceLimit <= 0:
		return fmt.Errorf("%d trials a visit, %d checks, and %v to put a step in place", p.Trials, p.Checks, p.PlaceLimit)
	}
	return CheckSteps(p.Steps)
}

// A Visit is one time that a step was put in place and measured: a line of visits.jsonl.
type Visit struct {
	// Step is the index of the step in the plan.
	Step int `json:"step"`
	// Skip says why the step cannot be put in place; empty if it was. It is not visited again.
	Skip string `json:"skip,omitempty"`
	// Error says why the visit has no figure; empty if it has one.
	Error string `json:"error,omitempty"`
	// Value is the median of the trials' figures, in Unit.
	Value float64 `json:"value"`
	// Metric, Stat and Unit are the figure, and BetterIf which values of it are better, if the experiment says it.
	Metric   string `json:"metric,omitempty"`
	Stat     string `json:"stat,omitempty"`
	Unit     string `json:"unit,omitempty"`
	BetterIf string `json:"better_if,omitempty"`
	// Trials is how many trials were run, and Run their run directory, relative to the bisection's.
	Trials  int       `json:"trials,omitempty"`
	Run     string    `json:"run,omitempty"`
	Started time.Time `json:"started"`
	// PlaceSeconds and MeasureSeconds are how long it took to put the step in place, and to measure.
	PlaceSeconds   float64 `json:"place_seconds"`
	MeasureSeconds float64 `json:"measure_seconds"`
}
