package experiment

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Provision says how machines are made: by a module of OpenTofu or Terraform, by scripts, or by an app of the AWS CDK.
// Hosts that are Provisioned come from its output.
type Provision struct {
	// Tofu is the folder of a module, Az the folder of the scripts up.sh and down.sh, and Cdk the folder of an app: one
	// of them is given. A relative path begins at the folder of the experiment file.
	Tofu string `json:"tofu,omitempty"`
	Az   string `json:"az,omitempty"`
	Cdk  string `json:"cdk,omitempty"`
	// Variables are for the module, the scripts or the app, in the order of the file. They can be secrets and are not
	// recorded.
	Variables []ModuleVariable `json:"-"`
	// TTL is how long the machines are meant to exist. Default 4h.
	TTL time.Duration `json:"ttl"`
	// Retry says what to do after a refusal for lack of capacity or quota.
	Retry Retry `json:"retry,omitzero"`
	// Replace are the resources that decide where the machines are: types, or addresses of the module. They are made
	// anew for each deployment of the schedule.
	Replace []string `json:"replace,omitempty"`
	// Prices are prices that nearfar does not know.
	Prices []Price `json:"prices,omitempty"`
	// File is the absolute path of the experiment file. A run with several deployments records it: the machines and the
	// values of Variables are found with it.
	File string `json:"file,omitempty"`
}

// A ModuleVariable is an input variable of a module, or a variable for scripts or an app. Its value is the text for the
// environment variable, TF_VAR_name for a module.
type ModuleVariable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Retry says which values of variables are tried, and how often, when a provider lacks capacity.
type Retry struct {
	// Variables are tried in this order, each in place of the values of Provision.Variables. They are recorded.
	Variables [][]ModuleVariable `json:"variables,omitempty"`
	// Wait is the time between two rounds: after the last of Variables, the next attempt has the values of
	// Provision.Variables again. Default 1m.
	Wait time.Duration `json:"wait,omitempty"`
	// Attempts is how often is tried in all, at least 1. Default: each of Variables once, after the first attempt.
	Attempts int `json:"attempts,omitempty"`
}

// In gives the variables of an attempt, which counts from 1, and which of r.Variables they come from: 0 for none.
func (p *Provision) In(attempt int) (variables []ModuleVariable, choice int) {
	variables = p.Variables
	if choice = (attempt - 1) % (len(p.Retry.Variables) + 1); choice > 0 {
		variables = slices.Clone(variables)
		for _, v := range p.Retry.Variables[choice-1] {
			same := func(old ModuleVariable) bool { return old.Name == v.Name }
			variables = append(slices.DeleteFunc(variables, same), v)
		}
	}
	return variables, choice
}

// Provisioned lists the hosts whose machines are still to be made, in the order of the file.
func (e *Experiment) Provisioned() (names []string) {
	for _, h := range e.Hosts {
		if h.Provisioned {
			names = append(names, h.Name)
		}
	}
	return names
}

// Limits and defaults of provision.
const (
	maxChoices   = 50
	minTTL       = time.Minute
	maxTTL       = 30 * 24 * time.Hour
	maxRetryWait = 24 * time.Hour
)

// checkFolder checks the path of a folder on this machine.
func checkFolder(path string) error {
	switch {
	case len(path) > maxHostPath:
		return refused("at most "+strconv.Itoa(maxHostPath), "a path of %d characters", len(path))
	case strings.TrimSpace(path) == "", strings.ContainsFunc(path, func(c rune) bool { return !unicode.IsPrint(c) }):
		return refused("write a folder, for example ./tofu", "%s is no folder", quote(path))
	}
	return nil
}

// check checks how machines are made.
func (p *Provision) check(c *Checker) {
	if p == nil {
		return
	}
	if n := len(p.Tofu) + len(p.Az) + len(p.Cdk) + len(p.File); n > maxHostPath+maxFilePath {
		c.wrong(AtValue(), "", "its paths have %d bytes", n)
	}
	c.Most(AtValue("retry", "variables"), "entries", len(p.Retry.Variables), maxChoices)
	c.Most(AtKey("prices"), "prices", len(p.Prices), MaxPrices)
	if c.Most(AtValue("replace"), "resources", len(p.Replace), maxReplaced) {
		for i, one := range p.Replace {
			c.refuse(AtValue("replace", Item(i)), checkResource(one))
		}
	}
	if !c.strict {
		return
	}
	for _, price := range p.Prices {
		price.check(c)
	}
	c.texts(p.Texts())
	c.spans(AtValue("ttl"), "ttl", p.TTL, minTTL, maxTTL)
	if p.Retry.Wait > maxRetryWait {
		c.wrong(AtValue("retry", "wait"), "at most "+FormatDuration(maxRetryWait), "wait cannot be %s",
			FormatDuration(p.Retry.Wait))
	}
	c.In("retry").numbers(p.Retry.Numbers())
}

// Texts are the keys for the folder of what makes the machines.
func (p *Provision) Texts() []TextKey {
	return []TextKey{{"tofu", "./tofu", &p.Tofu, checkFolder, false}, {"az", "./az", &p.Az, checkFolder, false},
		{"cdk", "./cdk", &p.Cdk, checkFolder, false}}
}

// Numbers are the keys of retry that have whole numbers.
func (t *Retry) Numbers() []NumberKey {
	return []NumberKey{{"attempts", &t.Attempts, Range{1, maxChoices}}}
}

// A Price is what an hour of something costs.
type Price struct {
	// Of is a size, such as c5n.large, or a type of resources of the module, such as aws_nat_gateway.
	Of string `json:"of"`
	// Hourly is in US dollars.
	Hourly float64 `json:"hourly"`
}

// Limits of prices.
const (
	MaxPrices = 100
	maxHourly = 10_000 // US dollars
)

// check checks a price.
func (p Price) check(c *Checker) {
	c.refuse(AtKey("prices", p.Of), checkResource(p.Of))
	if !(p.Hourly >= 0 && p.Hourly <= maxHourly) || math.Signbit(p.Hourly) {
		c.wrong(AtValue("prices", p.Of), "write US dollars for an hour, for example 0.108", "%s has no price", quote(p.Of))
	}
}

// Limits of the lists of resources that are made anew for each deployment.
const (
	maxReplaced = 100
	maxResource = 1000 // characters
	maxFilePath = 4096 // bytes
)

// Made lists the hosts whose machines Provision has made, in the order of the file.
func (e *Experiment) Made() (names []string) {
	for _, h := range e.Hosts {
		if h.Made {
			names = append(names, h.Name)
		}
	}
	return names
}

// Redeploys says that Provision makes the machines of arms anew for each deployment of the schedule.
func (e *Experiment) Redeploys() bool {
	return e.Schedule.DeploymentCount() > 1 && e.Provision != nil && len(e.Provision.Replace) > 0 &&
		slices.ContainsFunc(e.Arms, Arm.HasHosts)
}

// madeFrom says whether the hosts that an arm names are machines that provision makes. Both are, if it names none.
func (a Arm) madeFrom(hosts []HostSpec) bool {
	for _, name := range []string{a.Client, a.Server} {
		made := func(h HostSpec) bool { return h.Name == name && (h.Made || h.Provisioned) }
		if name != "" && !slices.ContainsFunc(hosts, made) {
			return false
		}
	}
	return true
}

// checkResource checks the type or the address of a resource. Whether the module has it is known when it was applied.
func checkResource(address string) error {
	const hint = "write a type, or an address such as module.pair.aws_instance.a"
	first, _ := utf8.DecodeRuneInString(address)
	switch {
	case utf8.RuneCountInString(address) > maxResource:
		return refused("at most "+strconv.Itoa(maxResource), "an address of %d characters",
			utf8.RuneCountInString(address))
	case !unicode.IsLetter(first) && first != '_', strings.HasPrefix(address, "data."),
		strings.ContainsFunc(address, func(c rune) bool { return !unicode.IsPrint(c) }):
		return refused(hint, "%s is no resource", quote(address))
	}
	return nil
}
