package azuretest

import (
	"fmt"
	"net/http"
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
		operation: c.URL + "/subscriptions/" + Subscription + "/providers/Microsoft.Compute/locations/" + Location +
			"/operations/" + name,
		failure: object{"code": code, "message": message},
	}
}

// failed says whether a request is refused, or fails later.
func (a answer) failed() bool { return a.status >= http.StatusBadRequest || a.failure != nil }
