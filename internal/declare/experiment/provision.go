package experiment

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"go.yaml.in/yaml/v4"
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
	maxModuleVariables = 100
	maxChoices         = 50
	defaultTTL         = 4 * time.Hour
	minTTL             = time.Minute
	maxTTL             = 30 * 24 * time.Hour
	defaultRetryWait   = time.Minute
	maxRetryWait       = 24 * time.Hour
)

// reservedVariables is how names of variables begin that nearfar itself gives to modules.
const reservedVariables = "nearfar_"

func provisionKeys() []string {
	return append(makerKeys(), "variables", "ttl", "retry", "replace", "prices")
}

// makerKeys are the keys for the folder of what makes the machines. One of them is given.
func makerKeys() []string { return []string{"tofu", "az", "cdk"} }

func retryKeys() []string { return []string{"variables", "wait", "attempts"} }

// provision reads how machines are made; nil without that.
func (r *reader) provision(f fields) *Provision {
	v, ok := r.optional(f, "provision")
	if !ok {
		return nil
	}
	inner, ok := r.fields(v.value, v.key, "provision", provisionKeys())
	if !ok {
		return nil
	}
	p := &Provision{TTL: defaultTTL}
	r.maker(inner, p)
	if one, ok := r.optional(inner, "variables"); ok {
		p.Variables = r.moduleVariables(one, "variables")
	}
	if one, ok := r.optional(inner, "ttl"); ok {
		p.TTL, _ = quantity(r, one.value, "ttl", "4h", ParseDuration)
	}
	if one, ok := r.optional(inner, "retry"); ok {
		p.Retry = r.retry(one)
	}
	if one, ok := r.optional(inner, "replace"); ok {
		p.Replace = r.replaced(one)
		if p.Tofu == "" && inner.named["tofu"].key == nil {
			r.wrong(one.key, "write a module for OpenTofu or Terraform: tofu: ./tofu",
				"replace names resources of a module, and there is none")
		}
	}
	if one, ok := r.optional(inner, "prices"); ok {
		p.Prices = r.prices(one)
	}
	if len(r.known.provisioned) == 0 && !podsGiven(f) && !r.known.unknown {
		r.wrong(v.key, "declare the hosts that the module makes, for example hosts: {vm-a: {provisioned: true}}",
			"no host is provisioned")
	}
	return p
}

// maker reads the folder of what makes the machines.
func (r *reader) maker(f fields, p *Provision) {
	var first string
	folders := map[string]*string{"tofu": &p.Tofu, "az": &p.Az, "cdk": &p.Cdk}
	for _, key := range makerKeys() {
		one, ok := f.named[key]
		switch {
		case !ok:
		case first != "":
			r.wrong(one.key, "keep one of them", "the machines are made in two ways, %s and %s", first, key)
		default:
			first = key
			one, ok := r.required(f, key, key+": ./"+key)
			if !ok {
				continue
			}
			*folders[key], _ = r.text(one.value, key, "./"+key)
		}
	}
	if first == "" {
		r.required(f, "tofu", "tofu: ./tofu")
	}
	r.jsonValues = first == "az" || first == "cdk"
}

// retry reads the further attempts after a refusal.
func (r *reader) retry(v field) Retry {
	inner, ok := r.fields(v.value, v.key, "retry", retryKeys())
	if !ok {
		return Retry{}
	}
	t := Retry{Wait: defaultRetryWait}
	if one, ok := r.optional(inner, "variables"); ok {
		if r.isSequence(one.value, "variables", "[{size: Standard_D8s_v5}, {zone: \"2\"}]") {
			for _, item := range one.value.Content {
				t.Variables = append(t.Variables, r.moduleVariables(field{item, item}, "an entry of variables"))
			}
		}
	}
	t.Attempts = 1 + len(t.Variables)
	if one, ok := r.optional(inner, "wait"); ok {
		t.Wait, _ = quantity(r, one.value, "wait", "1m", ParseDuration)
	}
	r.numbers(inner, t.numbers())
	return t
}

// moduleVariables reads the values of input variables.
func (r *reader) moduleVariables(v field, what string) (variables []ModuleVariable) {
	if !r.isMapping(v.value, what) {
		return nil
	}
	if !r.most(v.key, "variables", len(v.value.Content)/2, maxModuleVariables) {
		return nil
	}
	for key, value := range r.entries(v.value, "", keepOne) {
		switch {
		case !IsVariable(key.Value):
			r.wrong(key, "a variable's name has letters, digits and _", "%s is no name of a variable", quote(key.Value))
		case strings.HasPrefix(strings.ToLower(key.Value), reservedVariables):
			r.wrong(key, "use another name: nearfar itself gives the variables "+reservedVariables+"*",
				"variable %s is nearfar's own", quote(key.Value))
		default:
			text, ok := r.moduleValue(value, true)
			if !ok {
				r.wrong(value, "give it a text, a number, true or false, a list or a mapping",
					"variable %s has no value that a module can take", quote(key.Value))
				continue
			}
			variables = append(variables, ModuleVariable{key.Value, text})
		}
	}
	return variables
}

// moduleValue gives a value as OpenTofu reads it from an environment variable. A single value is its own text: a
// variable of type string takes it unchanged. A list or a mapping is an expression of the module's language; JSON is
// such an expression, except for templates. Scripts and apps get plain JSON.
func (r *reader) moduleValue(n *yaml.Node, single bool) (text string, ok bool) {
	switch {
	case isNull(n):
		return "", false
	case n.Kind == yaml.ScalarNode && (single || n.ShortTag() == "!!int" || n.ShortTag() == "!!bool"):
		return n.Value, true
	case n.Kind == yaml.ScalarNode && r.jsonValues:
		quoted, err := json.Marshal(n.Value)
		return string(quoted), err == nil
	case n.Kind == yaml.ScalarNode:
		quoted, err := json.Marshal(n.Value)
		return strings.NewReplacer("${", "$${", "%{", "%%{").Replace(string(quoted)), err == nil
	case n.Kind == yaml.SequenceNode:
		var items []string
		for _, item := range n.Content {
			text, ok := r.moduleValue(item, false)
			if !ok {
				return "", false
			}
			items = append(items, text)
		}
		return "[" + strings.Join(items, ", ") + "]", true
	case n.Kind == yaml.MappingNode:
		var items []string
		for key, value := range pairs(n) {
			text, ok := r.moduleValue(value, false)
			name, named := r.moduleValue(&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key.Value}, false)
			if !ok || !named || !r.isKey(key) {
				return "", false
			}
			items = append(items, name+": "+text)
		}
		return "{" + strings.Join(items, ", ") + "}", true
	}
	return "", false // an alias, which is reported
}

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
func (p *Provision) check(c *checker) {
	if p == nil {
		return
	}
	if n := len(p.Tofu) + len(p.Az) + len(p.Cdk) + len(p.File); n > maxHostPath+maxFilePath {
		c.wrong(value(), "", "its paths have %d bytes", n)
	}
	c.most(value("retry", "variables"), "entries", len(p.Retry.Variables), maxChoices)
	c.most(atKey("prices"), "prices", len(p.Prices), maxPrices)
	if c.most(value("replace"), "resources", len(p.Replace), maxReplaced) {
		for i, one := range p.Replace {
			c.refuse(value("replace", item(i)), checkResource(one))
		}
	}
	if !c.strict {
		return
	}
	for _, price := range p.Prices {
		price.check(c)
	}
	c.texts(p.texts())
	c.spans(value("ttl"), "ttl", p.TTL, minTTL, maxTTL)
	if p.Retry.Wait > maxRetryWait {
		c.wrong(value("retry", "wait"), "at most "+FormatDuration(maxRetryWait), "wait cannot be %s",
			FormatDuration(p.Retry.Wait))
	}
	c.in("retry").numbers(p.Retry.numbers())
}

// texts are the keys for the folder of what makes the machines.
func (p *Provision) texts() []textKey {
	return []textKey{{"tofu", "./tofu", &p.Tofu, checkFolder, false}, {"az", "./az", &p.Az, checkFolder, false},
		{"cdk", "./cdk", &p.Cdk, checkFolder, false}}
}

func (t *Retry) numbers() []numberKey {
	return []numberKey{{"attempts", &t.Attempts, Range{1, maxChoices}}}
}

// provisionedHosts finds the hosts of a mapping that are declared as provisioned.
func provisionedHosts(hosts *yaml.Node) map[string]*yaml.Node {
	found := map[string]*yaml.Node{}
	for name, host := range pairs(hosts) {
		if host.Kind != yaml.MappingNode {
			continue
		}
		for key := range pairs(host) {
			if key.Value == HostProvisioned {
				found[name.Value] = key
			}
		}
	}
	return found
}

// notMade reports hosts whose machines nothing makes. Hosts that a file of hosts replaces are reached as that file
// says.
func (r *reader) notMade(p *Provision, f fields) {
	if p != nil || f.named["provision"].key != nil || f.suspected["provision"] {
		return
	}
	for _, h := range r.known.specs {
		if at := r.known.provisioned[h.Name]; h.Provisioned && at != nil {
			r.wrong(at, "add, for example, provision: {tofu: ./tofu}, or give --hosts FILE",
				"host %s is provisioned, and the file does not say how", quote(h.Name))
		}
	}
}
