package googletest

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// What changes something is answered with an operation, before its work is done. Its state is PENDING or RUNNING, then
// DONE, also if it failed: then it has an error. Source: the schema Operation of the discovery document, and
// https://cloud.google.com/compute/docs/api/how-tos/api-requests-responses#handling_api_responses. What an insert has
// made is there until the operation fails, and then it is gone: the client of
// https://github.com/googleapis/nodejs-compute/issues/377 got 404 for a machine whose zone was exhausted, and that of
// issues/459 for one beyond the quota.

// operation is a request whose work takes time.
type operation struct {
	path  string
	shown object
	ends  time.Time
	// finish does the work. The failure is nil if it is done.
	finish func() *failure
}

// A failure is why an operation could not do its work.
type failure struct {
	status  int
	code    string
	message string
	// details are the members of errorDetails.
	details []any
}

// begin makes the operation of a request. scope is where the target is: projects/p/zones/z.
func (c *Cloud) begin(kind, target string, finish func() *failure) *operation {
	c.last++
	now := time.Now()
	scope := target[:strings.LastIndexByte(target[:strings.LastIndexByte(target, '/')], '/')]
	name := fmt.Sprintf("operation-%d-nearfar", c.last)
	path := scope + "/operations/" + name
	shown := object{
		"kind": "compute#operation", "id": strconv.Itoa(c.last), "name": name, "operationType": kind,
		"targetLink": api + target, "status": "PENDING", "progress": 0, "user": "test@example.com",
		"insertTime": now.Format(time.RFC3339Nano), "selfLink": api + path,
	}
	if id := textAt(c.resources[target], "id"); id != "" {
		shown["targetId"] = id
	}
	switch parts := strings.Split(scope, "/"); parts[2] {
	case "zones":
		shown["zone"] = api + scope
	case "regions":
		shown["region"] = api + scope
	}
	o := &operation{path: path, shown: shown, ends: now.Add(c.duration), finish: finish}
	c.operations[path] = o
	c.pending = append(c.pending, o)
	return o
}

// settle ends the operations whose time is over.
func (c *Cloud) settle() {
	now := time.Now()
	due := c.pending
	c.pending = nil
	for _, o := range due {
		if o.ends.After(now) {
			c.pending = append(c.pending, o)
			continue
		}
		o.shown["status"], o.shown["progress"] = "DONE", 100
		o.shown["startTime"], o.shown["endTime"] = o.shown["insertTime"], now.Format(time.RFC3339Nano)
		if f := o.finish(); f != nil {
			one := object{"code": f.code, "message": f.message}
			if len(f.details) > 0 {
				one["errorDetails"] = f.details
			}
			o.shown["error"] = object{"errors": []any{one}}
			// Written as SERVICE UNAVAILABLE in https://github.com/scylladb/scylla-cluster-tests/issues/12477.
			o.shown["httpErrorStatusCode"] = f.status
			o.shown["httpErrorMessage"] = strings.ToUpper(http.StatusText(f.status))
		}
	}
}

// busy says whether an operation works on a resource.
func (c *Cloud) busy(path string) bool {
	return slices.ContainsFunc(c.pending, func(o *operation) bool { return o.shown["targetLink"] == api+path })
}

// poll answers a question about an operation. wait returns when it is done.
func (c *Cloud) poll(path string, wait bool) answer {
	o := c.operations[path]
	if o == nil {
		return notFound(path)
	}
	if wait {
		for left := time.Until(o.ends); left > 0; left = time.Until(o.ends) {
			c.mu.Unlock()
			time.Sleep(left) // the operation ends by the clock
			c.mu.Lock()
		}
		c.settle()
	} else if o.shown["status"] == "PENDING" {
		o.shown["status"] = "RUNNING"
	}
	return answer{http.StatusOK, copied(o.shown)}
}
