package azuretest

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// An asynchronous request is answered before its work is done, with the address of an operation, whose state is asked
// for until it has ended. Source: https://learn.microsoft.com/azure/azure-resource-manager/management/async-operations.
//
// The resource of a failed request is there all the same, with the state Failed, and holds what it uses: machines whose
// allocation failed, in https://github.com/hashicorp/terraform-provider-azurerm/issues/753 (with the text of the failed
// operation) and issues/7516.

// fails answers a request whose work fails later.
func (c *Cloud) fails(shown object, code, message string) answer {
	c.last++
	name := fmt.Sprintf("operation-%d", c.last)
	c.operations[name] = object{
		"name": name, "status": "Failed", "error": object{"code": code, "message": message},
	}
	return answer{
		status: http.StatusCreated, body: shown,
		operation: c.operationURL("Microsoft.Compute", name),
		failure:   object{"code": code, "message": message},
	}
}

// operationURL is where the state of an operation can be read.
func (c *Cloud) operationURL(namespace, name string) string {
	return c.URL + "/subscriptions/" + Subscription + "/providers/" + namespace + "/locations/" + Location +
		"/operations/" + name
}

// asks is how often the state of work, or of its resource, is asked for until it has ended.
const asks = 2

// A work is an asynchronous request that is under way.
type work struct {
	// key is the resource's identifier in small letters, asked how often its state was asked for.
	key   string
	asked int
	// end does the work, and says why it failed; nil if it did not.
	end func() (failure object)
}

// begins starts work on a resource, and gives the name of its operation.
func (c *Cloud) begins(id string, end func() (failure object)) (name string) {
	c.last++
	name = fmt.Sprintf("operation-%d", c.last)
	c.operations[name] = object{"name": name, "status": "InProgress"}
	c.working[name] = &work{key: strings.ToLower(id), end: end}
	return name
}

// ask notes that the state of an operation is asked for, which may end the work.
func (c *Cloud) ask(name string) {
	w, ok := c.working[name]
	if !ok {
		return
	}
	if w.asked++; w.asked < asks {
		return
	}
	delete(c.working, name)
	c.operations[name]["status"] = "Succeeded"
	if failure := w.end(); failure != nil {
		c.operations[name]["status"], c.operations[name]["error"] = "Failed", failure
	}
}

// askFor notes that the state of a resource is asked for.
func (c *Cloud) askFor(key string) {
	for _, name := range slices.Sorted(maps.Keys(c.working)) {
		if w := c.working[name]; w != nil && w.key == key {
			c.ask(name)
		}
	}
}

// failed says whether a request is refused, or fails later.
func (a answer) failed() bool { return a.status >= http.StatusBadRequest || a.failure != nil }
