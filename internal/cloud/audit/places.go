package audit

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"nearfar/internal/base/lazyregexp"
)

// ParsePlace reads "aws:eu-west-1", or "azure" for the default of the provider's program.
func ParsePlace(text string) (Place, error) {
	provider, part, _ := strings.Cut(text, ":")
	if !slices.Contains([]string{AWS, Azure, Google}, provider) {
		return Place{}, fmt.Errorf("%q is no provider: write %s, %s or %s, and after a colon a region, a subscription "+
			"or a project", text, AWS, Azure, Google)
	}
	if part != "" && !isPart(part) {
		return Place{}, fmt.Errorf("%q is no region, subscription or project", part)
	}
	return Place{provider, part}, nil
}

// part is a region, a subscription or a project. It becomes an argument, and so must not look like a flag.
var part = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$`)

func isPart(text string) bool { return part.MatchString(text) }

// Join merges places. A provider without a part is left out if it is there with one.
func Join(all ...[]Place) (places []Place) {
	for _, some := range all {
		for _, p := range some {
			if len(places) < maxPlaces && !slices.Contains(places, p) {
				places = append(places, p)
			}
		}
	}
	named := map[string]bool{}
	for _, p := range places {
		named[p.Provider] = named[p.Provider] || p.Part != ""
	}
	places = slices.DeleteFunc(places, func(p Place) bool { return p.Part == "" && named[p.Provider] })
	slices.SortFunc(places, func(a, b Place) int { return strings.Compare(a.String(), b.String()) })
	return places
}

// maxPlaces bounds how many places are asked.
const maxPlaces = 50

// byProvider are the providers of OpenTofu's registry by the clouds that they make things in. Those that make nothing
// in any cloud have an empty one.
func byProvider() map[string]string {
	return map[string]string{
		"hashicorp/aws": AWS, "hashicorp/awscc": AWS,
		"hashicorp/azurerm": Azure, "azure/azapi": Azure,
		"hashicorp/google": Google, "hashicorp/google-beta": Google,
		"hashicorp/archive": "", "hashicorp/cloudinit": "", "hashicorp/external": "", "hashicorp/http": "",
		"hashicorp/local": "", "hashicorp/null": "", "hashicorp/random": "", "hashicorp/time": "", "hashicorp/tls": "",
		"builtin/terraform": "",
	}
}

// ofProvider finds the cloud of a provider's address, HOST/NAMESPACE/NAME. It is false for those without a cloud.
func ofProvider(address string) (string, bool) {
	name := strings.ToLower(path.Join(path.Base(path.Dir(address)), path.Base(address)))
	if cloud, ok := byProvider()[name]; ok {
		return cloud, cloud != ""
	}
	return address, address != ""
}

// locked finds the providers in a lock file of OpenTofu or Terraform.
var locked = lazyregexp.New(`(?m)^provider "([^"\\]{1,300})" \{`)

// OfLockFile finds the providers that a lock file of OpenTofu or Terraform names (.terraform.lock.hcl).
func OfLockFile(text []byte) (places []Place) {
	for _, match := range locked.FindAllSubmatch(text, maxPlaces) {
		if cloud, ok := ofProvider(string(match[1])); ok {
			places = append(places, Place{Provider: cloud})
		}
	}
	return Join(places)
}

// OfEnvironment adds the parts that variables of the environment name to providers that have none: providers of
// OpenTofu read other variables than some programs.
func OfEnvironment(places []Place) []Place {
	variables := map[string][]string{
		AWS:    {"AWS_REGION", "AWS_DEFAULT_REGION"},
		Azure:  {"ARM_SUBSCRIPTION_ID"},
		Google: {"GOOGLE_PROJECT", "GOOGLE_CLOUD_PROJECT", "CLOUDSDK_CORE_PROJECT"},
	}
	var all []Place
	for _, p := range places {
		for _, name := range variables[p.Provider] {
			if value := os.Getenv(name); p.Part == "" && isPart(value) {
				p.Part = value
			}
		}
		all = append(all, p)
	}
	return Join(all)
}

// OfTofu finds the places of the resources in what `tofu show -json` prints of a plan or a state: the regions,
// subscriptions and projects that their attributes and the providers' settings name.
func OfTofu(shown []byte) ([]Place, error) {
	var all struct {
		Variables map[string]struct {
			Value any `json:"value"`
		} `json:"variables"`
		Configuration struct {
			Providers map[string]struct {
				FullName    string                     `json:"full_name"`
				Expressions map[string]json.RawMessage `json:"expressions"`
			} `json:"provider_config"`
		} `json:"configuration"`
	}
	var tree any
	if err := json.Unmarshal(shown, &all); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(shown, &tree); err != nil {
		return nil, err
	}
	var places []Place
	add := func(cloud, part string) {
		if isPart(part) || part == "" {
			places = append(places, Place{cloud, part})
		}
		if len(places) > 2*maxPlaces {
			places = Join(places)
		}
	}
	resources(tree, func(provider string, values map[string]any) {
		cloud, ok := ofProvider(provider)
		if !ok {
			return
		}
		add(cloud, "")
		for _, part := range partsOf(cloud, values) {
			add(cloud, part)
		}
	})
	for _, p := range all.Configuration.Providers {
		cloud, ok := ofProvider(p.FullName)
		if !ok {
			continue
		}
		add(cloud, "")
		var setting struct {
			Constant   any      `json:"constant_value"`
			References []string `json:"references"`
		}
		key := map[string]string{AWS: "region", Azure: "subscription_id", Google: "project"}[cloud]
		if json.Unmarshal(p.Expressions[key], &setting) != nil {
			continue
		}
		if len(setting.References) == 1 {
			name, _ := strings.CutPrefix(setting.References[0], "var.")
			setting.Constant = all.Variables[name].Value
		}
		if text, ok := setting.Constant.(string); ok {
			add(cloud, text)
		}
	}
	return Join(places), nil
}

// resources finds all resources of a plan or a state.
func resources(tree any, found func(provider string, values map[string]any)) {
	switch node := tree.(type) {
	case []any:
		for _, one := range node {
			resources(one, found)
		}
	case map[string]any:
		if provider, ok := node["provider_name"].(string); ok {
			if node["mode"] == "managed" {
				values, _ := node["values"].(map[string]any)
				found(provider, values)
			}
			return
		}
		for key, one := range node {
			if key == "planned_values" || key == "prior_state" || strings.HasSuffix(key, "values") ||
				strings.HasSuffix(key, "module") || strings.HasSuffix(key, "modules") || key == "resources" {
				resources(one, found)
			}
		}
	}
}

// partsOf finds regions, subscriptions or projects in the attributes of a resource.
func partsOf(cloud string, values map[string]any) (parts []string) {
	text := func(name string) string { value, _ := values[name].(string); return value }
	switch cloud {
	case AWS:
		if arn := strings.SplitN(text("arn"), ":", 6); len(arn) == 6 && arn[3] != "" {
			parts = append(parts, arn[3])
		}
		if zone := awsZone.FindStringSubmatch(text("availability_zone")); zone != nil {
			parts = append(parts, zone[1])
		}
		if region := text("region"); region != "" {
			parts = append(parts, region)
		}
	case Azure:
		id := strings.Split(text("id"), "/")
		if len(id) > 2 && id[0] == "" && strings.EqualFold(id[1], "subscriptions") {
			parts = append(parts, strings.ToLower(id[2]))
		}
	case Google:
		if project := text("project"); project != "" {
			parts = append(parts, project)
		}
	}
	return parts
}

// awsZone is an availability zone or a local zone: its region begins its name.
var awsZone = lazyregexp.New(`^([a-z]{2,}(?:-[a-z]+)+-[0-9]+)`)
