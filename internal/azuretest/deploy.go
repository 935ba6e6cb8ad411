package azuretest

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

// parameter is the only function of templates that the fake knows.
var parameter = regexp.MustCompile(`^\[parameters\('([^']+)'\)\]$`)

// deploy carries out the template of a deployment, as `az vm create` sends it. Resources wait for those that they refer
// to.
func (c *Cloud) deploy(path string, parts []string, body object) answer {
	properties, _ := body["properties"].(object)
	template, _ := properties["template"].(object)
	parameters, _ := properties["parameters"].(object)
	group := "/" + strings.Join(parts[:groupParts], "/")
	waiting := list(replaced(template["resources"], parameters))
	var last answer
	for len(waiting) > 0 {
		var next []any
		for _, one := range waiting {
			r, _ := one.(object)
			if last = c.deployOne(group, copied(r)); last.status >= http.StatusBadRequest {
				next = append(next, one)
			}
		}
		if len(next) == len(waiting) {
			return last
		}
		waiting = next
	}
	made := object{
		"id": path, "name": parts[len(parts)-1], "type": "Microsoft.Resources/deployments",
		"properties": object{"provisioningState": "Succeeded", "outputs": object{}},
	}
	c.resources[strings.ToLower(path)] = made
	return answer{http.StatusOK, made}
}

// deployOne makes one resource of a template.
func (c *Cloud) deployOne(group string, r object) answer {
	kinds := strings.Split(fmt.Sprint(r["type"]), "/")
	names := strings.Split(fmt.Sprint(r["name"]), "/")
	if len(kinds) != len(names)+1 {
		return refused(http.StatusBadRequest, "InvalidTemplate", fmt.Sprintf("%v %v", r["type"], r["name"]))
	}
	path := group + "/providers/" + kinds[0]
	for i, name := range names {
		path += "/" + kinds[i+1] + "/" + name
	}
	for _, key := range []string{"apiVersion", "dependsOn"} {
		delete(r, key)
	}
	return c.put(http.MethodPut, path, split(path), r)
}

// replaced is a value with the values of parameters in place of calls of parameters().
func replaced(value any, parameters object) any {
	switch value := value.(type) {
	case string:
		if call := parameter.FindStringSubmatch(value); call != nil {
			one, _ := parameters[call[1]].(object)
			return one["value"]
		}
	case []any:
		for i, one := range value {
			value[i] = replaced(one, parameters)
		}
	case object:
		for name, one := range value {
			value[name] = replaced(one, parameters)
		}
	}
	return value
}
