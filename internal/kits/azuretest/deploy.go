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
			made := c.deployOne(group, copied(r))
			if made.failure != nil {
				return c.deployFails(path, parts, made.failure)
			}
			if made.failed() {
				last, next = made, append(next, one)
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
	return answer{status: http.StatusOK, body: made}
}

// deployFails ends a deployment one of whose resources could not be finished. Its error has that of the resource as a
// detail.
func (c *Cloud) deployFails(path string, parts []string, why object) answer {
	made := object{
		"id": path, "name": parts[len(parts)-1], "type": "Microsoft.Resources/deployments",
		"properties": object{"provisioningState": "Failed"},
	}
	c.resources[strings.ToLower(path)] = made
	a := c.fails(made, "DeploymentFailed", "At least one resource deployment operation failed.")
	c.operations[a.operation[strings.LastIndex(a.operation, "/")+1:]]["error"] = object{
		"code": "DeploymentFailed", "message": "At least one resource deployment operation failed.", "details": []any{why},
	}
	return a
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
