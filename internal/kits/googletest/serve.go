package googletest

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"nearfar/internal/kits/googletest/discovery"
)

// maxBody bounds a request, in bytes.
const maxBody = 4 << 20

// answer is what a request is answered with.
type answer struct {
	status int
	body   object
}

// refused is an answer in the form of the service's errors. Source of the form, with domain and reason:
// https://github.com/googleapis/google-cloud-go/issues/7802.
func refused(status int, reason, message string) answer {
	one := object{"message": message, "domain": "global", "reason": reason}
	if status == http.StatusPreconditionFailed {
		one["location"], one["locationType"] = "If-Match", "header"
	}
	return answer{status, object{"error": object{"code": status, "message": message, "errors": []any{one}}}}
}

func (a answer) failed() bool { return a.status >= http.StatusBadRequest }

// A call is a request that is in the document.
type call struct {
	// kind and verb are the parts of the method's name: instances, insert.
	kind, verb string
	// path is the path of the request below the version: projects/p/zones/z/instances.
	path       string
	parameters map[string]string
	query      map[string]string
	body       object
}

// serve answers one request.
func (c *Cloud) serve(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle()
	data, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	a := refused(http.StatusBadRequest, "parseError", "Parse Error")
	if err == nil {
		a = c.answer(r, data)
	}
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.WriteHeader(a.status)
	_ = json.NewEncoder(w).Encode(a.body) // who asked is gone
}

func (c *Cloud) answer(r *http.Request, data []byte) answer {
	if isOther(r) {
		return disabled("Kubernetes Engine", "container")
	}
	path, ok := strings.CutPrefix(r.URL.Path, "/compute/v1/")
	method, parameters := c.document.Find(r.Method, path)
	if !ok || method == "" {
		c.t.Errorf("googletest: %s %s is not faked", r.Method, r.URL.Path)
		return refused(http.StatusNotFound, "notFound", "Not Found")
	}
	query := map[string]string{}
	for name, values := range r.URL.Query() {
		query[name] = values[0]
	}
	k := call{path: path, parameters: parameters, query: query}
	k.kind, k.verb, _ = strings.Cut(method, ".")
	// The text is that of https://github.com/hashicorp/terraform/issues/27658, the form that of
	// https://github.com/googleapis/google-api-php-client/issues/2479.
	if r.Header.Get("Authorization") != "Bearer "+Token {
		a := refused(http.StatusUnauthorized, "authError", "Request had invalid authentication credentials. "+
			"Expected OAuth 2 access token, login cookie or other valid authentication credential.")
		a.body["error"].(object)["status"] = "UNAUTHENTICATED"
		return a
	}
	if a := c.admitted(method, k); a.failed() {
		return a
	}
	if len(data) > 0 {
		body, err := parse(data)
		if err != nil {
			return refused(http.StatusBadRequest, "parseError", "Parse Error")
		}
		k.body = body
	}
	if a := c.wellFormed(method, k); a.failed() {
		return a
	}
	a := c.do(k)
	if !a.failed() {
		for _, p := range c.document.Response(method, copied(a.body)) {
			c.t.Errorf("googletest: the answer of %s: %v", method, p)
		}
	}
	return a
}

// admitted says whether the project and the parameters of a request are right.
func (c *Cloud) admitted(method string, k call) answer {
	for _, in := range []struct {
		where  string
		values map[string]string
	}{{"path", k.parameters}, {"query", k.query}} {
		problems := c.document.Parameters(method, in.where, in.values)
		if len(problems) == 0 {
			continue
		}
		p := problems[0]
		if p.Kind == "pattern" {
			// As in https://github.com/rapid7/insightconnect-plugins/pull/751.
			return invalid(p.Field, p.Value, "Must be a match of regex '"+p.Pattern+"'")
		}
		return refused(http.StatusBadRequest, "invalidParameter", fmt.Sprintf("%s: %s", p.Field, p.Message))
	}
	// The identifier of a request is a UUID that is not zero (parameter requestId in the discovery document).
	const uuid = `[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}`
	if id, ok := k.query["requestId"]; ok &&
		(!discovery.Matches(uuid, id) || strings.Trim(id, "0-") == "") {
		return invalid("requestId", id, "Must be a valid UUID.")
	}
	if c.disabled {
		return disabled("Compute Engine", "compute")
	}
	// Public images are in projects of their own.
	project := k.parameters["project"]
	public := k.kind == "images" && slices.Contains(imageProjects(), project)
	if project != Project && !public {
		// As in https://github.com/trailofbits/algo/issues/14854.
		return refused(http.StatusBadRequest, "invalidParameter", "Invalid resource field value in the request.")
	}
	for _, name := range []string{"zone", "region"} {
		value := k.parameters[name]
		if path := "projects/" + Project + "/" + name + "s/" + value; value != "" && c.resources[path] == nil {
			if k.kind == name+"s" {
				return notFound(path)
			}
			// As in https://github.com/googleapis/python-compute/issues/224.
			return invalid(name, value, "Unknown "+name+".")
		}
	}
	return answer{status: http.StatusOK}
}

// disabled is the answer of an API that a project does not use. The text is that of
// https://github.com/midl-dev/tezos-on-gke/issues/34; the details are google.rpc.ErrorInfo with the reason
// SERVICE_DISABLED (https://cloud.google.com/apis/design/errors#error_info).
func disabled(title, name string) answer {
	service := name + ".googleapis.com"
	a := refused(http.StatusForbidden, "accessNotConfigured", title+" API has not been used in project "+
		Project+" before or it is disabled. Enable it by visiting "+
		"https://console.developers.google.com/apis/api/"+service+"/overview?project="+Project+
		" then retry. If you enabled this API recently, wait a few minutes for the action to propagate to our systems "+
		"and retry.")
	a.body["error"].(object)["status"] = "PERMISSION_DENIED"
	a.body["error"].(object)["details"] = []any{object{
		"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "SERVICE_DISABLED", "domain": "googleapis.com",
		"metadata": object{"consumer": "projects/" + Project, "service": service},
	}}
	return a
}

// wellFormed says whether the body of a request is as the document says.
func (c *Cloud) wellFormed(method string, k call) answer {
	m := c.document.Methods[method]
	switch {
	case m.Request == "" && len(k.body) == 0:
		return answer{status: http.StatusOK}
	case m.Request == "":
		return refused(http.StatusBadRequest, "badRequest", "the method takes no body")
	case len(k.body) == 0:
		// As in https://github.com/googleapis/google-api-python-client/issues/608.
		return refused(http.StatusBadRequest, "required", "Required field 'resource' not specified")
	}
	problems := c.document.Request(method, k.body)
	if len(problems) == 0 {
		return answer{status: http.StatusOK}
	}
	p := problems[0]
	field := "resource." + p.Field
	switch p.Kind {
	case "required":
		return refused(http.StatusBadRequest, "required", "Required field '"+field+"' not specified")
	case "pattern":
		// As in https://github.com/hashicorp/terraform/issues/20884.
		return invalid(field, p.Value, "Must be a match of regex '(?:"+p.Pattern+")'")
	case "unknown":
		// Whether the service refuses this was not found; the text is the one of Google's other services.
		return refused(http.StatusBadRequest, "badRequest",
			fmt.Sprintf("Invalid JSON payload received. Unknown name %q: Cannot find field.", field))
	}
	return invalid(field, p.Value, p.Message)
}

// invalid refuses the value of a field, in the service's words.
func invalid(field, value, why string) answer {
	return refused(http.StatusBadRequest, "invalid",
		fmt.Sprintf("Invalid value for field '%s': '%s'. %s", field, value, why))
}

// notFound is the answer for what does not exist. Source: https://github.com/googleapis/nodejs-compute/issues/377.
func notFound(path string) answer {
	return refused(http.StatusNotFound, "notFound", "The resource '"+path+"' was not found")
}

// do does what a request asks for.
func (c *Cloud) do(k call) answer {
	switch k.verb {
	case "get", "getFromFamily", "wait":
		return c.get(k)
	case "list":
		return c.list(k)
	case "aggregatedList":
		return c.aggregated(k)
	}
	// A repeated request with the same identifier is answered with its first operation (requestId in the document).
	id := k.query["requestId"]
	if o := c.requested[id]; id != "" && o != nil {
		return answer{http.StatusOK, copied(o.shown)}
	}
	o, a := c.change(k)
	if a.failed() {
		return a
	}
	if id != "" {
		o.shown["clientOperationId"] = id
		c.requested[id] = o
	}
	return answer{http.StatusOK, copied(o.shown)}
}

func (c *Cloud) get(k call) answer {
	if strings.HasSuffix(k.kind, "Operations") {
		return c.poll(strings.TrimSuffix(k.path, "/wait"), k.verb == "wait")
	}
	path := k.path
	if k.verb == "getFromFamily" {
		path = c.family(k.parameters["project"], k.parameters["family"])
	}
	found := c.resources[path]
	if found == nil {
		return notFound(k.path)
	}
	return answer{http.StatusOK, c.shown(path, found)}
}

// shown is how a resource is answered.
func (c *Cloud) shown(path string, r object) object {
	r = copied(r)
	if kindOf(path) == "regions" {
		r["quotas"] = c.quotas("")
	}
	if path == "projects/"+Project {
		r["quotas"] = c.quotas("global")
	}
	return r
}

// condition is a filter that the fake knows: (name = "x"), or name eq x.
var condition = regexp.MustCompile(`^\(?name *(?:=|eq) *"?([^"()]*)"?\)?$`)

// selected are the resources of a kind in a scope and below it, by their paths, that pass the filter of a request.
func (c *Cloud) selected(k call, scope, kind string) ([]string, answer) {
	name := ""
	if filter := k.query["filter"]; filter != "" {
		match := condition.FindStringSubmatch(filter)
		if match == nil {
			c.t.Errorf("googletest: the filter %q is not faked", filter)
			return nil, refused(http.StatusBadRequest, "invalid", "Invalid value for field 'filter': '"+filter+"'.")
		}
		name = match[1]
	}
	var paths []string
	for _, path := range c.paths() {
		if strings.HasPrefix(path, scope+"/") && kindOf(path) == kind && (name == "" || nameOf(path) == name) {
			paths = append(paths, path)
		}
	}
	return paths, answer{status: http.StatusOK}
}

// page cuts a page out of a list. The token of the next page is the last path of this one.
func (c *Cloud) page(k call, paths []string, answer object) []string {
	size := c.pageSize
	var most int
	if _, err := fmt.Sscan(k.query["maxResults"], &most); err == nil {
		size = min(size, most)
	}
	from, _ := slices.BinarySearch(paths, k.query["pageToken"]+"\x00")
	if k.query["pageToken"] == "" {
		from = 0
	}
	paths = paths[from:]
	if len(paths) > size {
		paths = paths[:size]
		answer["nextPageToken"] = paths[size-1]
	}
	return paths
}

func (c *Cloud) list(k call) answer {
	scope := k.path[:strings.LastIndexByte(k.path, '/')]
	kind := nameOf(k.path)
	paths, a := c.selected(k, scope, kind)
	if a.failed() {
		return a
	}
	body := object{"id": k.path, "kind": "compute#" + singular(kind) + "List", "selfLink": api + k.path}
	items := []any{}
	for _, path := range c.page(k, paths, body) {
		items = append(items, c.shown(path, c.resources[path]))
	}
	if len(items) > 0 { // the service leaves out empty lists
		body["items"] = items
	}
	return answer{http.StatusOK, body}
}

// aggregated lists a kind in all zones and regions, by these. Those without any have a warning with the code
// NO_RESULTS_ON_PAGE (discovery document, InstancesScopedList.warning.code). Its text is not the service's.
func (c *Cloud) aggregated(k call) answer {
	kind := nameOf(k.path)
	project := "projects/" + k.parameters["project"]
	paths, a := c.selected(k, project, kind)
	if a.failed() {
		return a
	}
	body := object{"id": k.path, "kind": "compute#" + singular(kind) + "AggregatedList", "selfLink": api + k.path}
	by := map[string][]any{"global": nil}
	for _, path := range c.paths() {
		if scope := kindOf(path); scope == "zones" || scope == "regions" {
			by[strings.TrimPrefix(path, project+"/")] = nil
		}
	}
	for _, path := range c.page(k, paths, body) {
		scope := strings.TrimPrefix(path[:strings.Index(path, "/"+kind+"/")], project+"/")
		by[scope] = append(by[scope], c.shown(path, c.resources[path]))
	}
	items := object{}
	for _, scope := range slices.Sorted(maps.Keys(by)) {
		if len(by[scope]) > 0 {
			items[scope] = object{kind: by[scope]}
			continue
		}
		items[scope] = object{"warning": object{
			"code": "NO_RESULTS_ON_PAGE", "message": "There are no results for scope '" + scope + "' on this page.",
			"data": []any{object{"key": "scope", "value": scope}},
		}}
	}
	body["items"] = items
	return answer{http.StatusOK, body}
}

// singular is the name of one resource of a kind, as in the service's kinds: compute#instance.
func singular(kind string) string {
	if before, ok := strings.CutSuffix(kind, "ies"); ok {
		return before + "y"
	}
	if before, ok := strings.CutSuffix(kind, "sses"); ok {
		return before + "ss"
	}
	return strings.TrimSuffix(kind, "s")
}
