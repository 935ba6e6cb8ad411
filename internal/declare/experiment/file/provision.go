package file

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"nearfar/internal/declare/experiment"
)

// reservedVariables is how names of variables begin that nearfar itself gives to modules.
const reservedVariables = "nearfar_"

// Limits and defaults of provision, which only a file has.
const (
	maxModuleVariables = 100
	defaultTTL         = 4 * time.Hour
	defaultRetryWait   = time.Minute
)

// provision reads how machines are made; nil without that.
func (r *reader) provision(f fields) *experiment.Provision {
	v, ok := r.optional(f, "provision")
	if !ok {
		return nil
	}
	inner, ok := r.fields(v.value, v.key, "provision", experiment.KeysOf("provision"))
	if !ok {
		return nil
	}
	p := &experiment.Provision{TTL: defaultTTL}
	r.maker(inner, p)
	if one, ok := r.optional(inner, "variables"); ok {
		p.Variables = r.moduleVariables(one, "variables")
	}
	experiment.Quantity(inner, "ttl", "4h", experiment.ParseDuration, &p.TTL)
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
func (r *reader) maker(f fields, p *experiment.Provision) {
	var first string
	folders := map[string]*string{"tofu": &p.Tofu, "az": &p.Az, "cdk": &p.Cdk}
	for _, key := range experiment.KeysOf("maker") {
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
func (r *reader) retry(v field) experiment.Retry {
	inner, ok := r.fields(v.value, v.key, "retry", experiment.KeysOf("retry"))
	if !ok {
		return experiment.Retry{}
	}
	t := experiment.Retry{Wait: defaultRetryWait}
	if one, ok := r.optional(inner, "variables"); ok {
		if r.isSequence(one.value, "variables", "[{size: Standard_D8s_v5}, {zone: \"2\"}]") {
			for _, item := range one.value.Content {
				t.Variables = append(t.Variables, r.moduleVariables(field{item, item}, "an entry of variables"))
			}
		}
	}
	t.Attempts = 1 + len(t.Variables)
	experiment.Quantity(inner, "wait", "1m", experiment.ParseDuration, &t.Wait)
	inner.numbers(t.Numbers())
	return t
}

// moduleVariables reads the values of input variables.
func (r *reader) moduleVariables(v field, what string) (variables []experiment.ModuleVariable) {
	if !r.isMapping(v.value, what) {
		return nil
	}
	if !r.most(v.key, "variables", len(v.value.Content)/2, maxModuleVariables) {
		return nil
	}
	for key, value := range r.entries(v.value, "", keepOne) {
		switch {
		case !experiment.IsVariable(key.Value):
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
			variables = append(variables, experiment.ModuleVariable{Name: key.Value, Value: text})
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

// notMade reports hosts whose machines nothing makes. Hosts that a file of hosts replaces are reached as that file
// says.
func (r *reader) notMade(p *experiment.Provision, f fields) {
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

// prices reads prices of sizes and types.
func (r *reader) prices(v field) (all []experiment.Price) {
	if !r.isMapping(v.value, "prices") {
		return nil
	}
	if !r.most(v.key, "prices", len(v.value.Content)/2, experiment.MaxPrices) {
		return nil
	}
	for key, value := range r.entries(v.value, "", keepOne) {
		hourly, err := strconv.ParseFloat(value.Value, 64)
		if err != nil {
			hourly = -1 // no price, which the check reports
		}
		all = append(all, experiment.Price{Of: key.Value, Hourly: hourly})
	}
	return all
}

// replaced reads the resources that are made anew for each deployment.
func (r *reader) replaced(v field) (all []string) {
	const example = "[azurerm_linux_virtual_machine, azurerm_proximity_placement_group.near]"
	if !r.isSequence(v.value, "replace", example) {
		return nil
	}
	for _, item := range v.value.Content {
		one, _ := r.text(item, "an entry of replace", "aws_instance")
		all = append(all, one)
	}
	return all
}
