package azuretest

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// How many parts a path has: subscriptions/S, subscriptions/S/resourceGroups/G, and then providers/NAMESPACE/TYPE/NAME.
const (
	subscriptionParts = 2
	groupParts        = 4
	resourceParts     = 8
)

// maxBody bounds a request, in bytes.
const maxBody = 4 << 20

// doubled is what az writes into some paths.
var doubled = regexp.MustCompile(`/{2,}`)

// serve answers one request.
func (c *Cloud) serve(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	path := "/" + strings.Trim(doubled.ReplaceAllString(r.URL.Path, "/"), "/")
	c.requests = append(c.requests, r.Method+" "+path)
	// azurerm's client waits 10 s before it looks whether a change has ended, and none with this header.
	w.Header().Set("X-Go-Azure-Sdk-Skip-Polling-Delay", "true")
	if c.login(w, r, strings.ToLower(path)) {
		return
	}
	if !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer ") {
		w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer authorization_uri="%s/%s"`, c.URL, Tenant))
		refuse(w, http.StatusUnauthorized, "AuthenticationFailed", "Authentication failed.")
		return
	}
	var body object
	data, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err == nil && len(data) > 0 {
		err = json.Unmarshal(data, &body)
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, "InvalidRequestContent", err.Error())
		return
	}
	parts := split(path)
	if c.catalogue(w, r, parts, body) {
		return
	}
	switch {
	case len(parts) >= subscriptionParts && !strings.EqualFold(parts[1], Subscription):
		refuse(w, http.StatusNotFound, "SubscriptionNotFound", "The subscription '"+parts[1]+"' could not be found.")
	case r.Method == http.MethodGet, r.Method == http.MethodHead:
		c.get(w, r, path, parts)
	case r.Method == http.MethodPut, r.Method == http.MethodPatch:
		answer := c.put(r.Method, path, parts, body)
		if answer.operation != "" {
			w.Header().Set("Azure-AsyncOperation", answer.operation)
			w.Header().Set("Retry-After", "1")
		}
		send(w, answer.status, answer.body)
	case r.Method == http.MethodDelete:
		answer := c.delete(path, parts)
		if answer.location != "" {
			w.Header().Set("Location", answer.location)
		}
		send(w, answer.status, answer.body)
	case r.Method == http.MethodPost && strings.EqualFold(parts[len(parts)-1], "validate"):
		send(w, http.StatusOK, object{"properties": object{"provisioningState": "Succeeded"}})
	case r.Method == http.MethodPost && c.credentials(w, path, parts):
	default:
		refuse(w, http.StatusBadRequest, "NotFaked", "the fake knows no "+r.Method+" "+path)
	}
}

// answer is what a request is answered with.
type answer struct {
	status int
	body   any
	// operation is where the result of an asynchronous request can be read, and failure what it will be.
	operation string
	failure   object
	// location is where the end of a deletion can be seen.
	location string
}

// refused is an answer in the form of Azure's errors.
func refused(status int, code, message string) answer {
	return answer{status: status, body: object{"error": object{"code": code, "message": message}}}
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	a := refused(status, code, message)
	send(w, a.status, a.body)
}

func send(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	if body != nil && status != http.StatusNoContent {
		_ = json.NewEncoder(w).Encode(body) // who asked is gone
	}
}

// split divides a path.
func split(path string) []string { return strings.Split(strings.Trim(path, "/"), "/") }

// get answers with a resource or with a list.
func (c *Cloud) get(w http.ResponseWriter, r *http.Request, path string, parts []string) {
	if len(parts)%2 == 0 {
		c.askFor(strings.ToLower(path))
		found, ok := c.resources[strings.ToLower(path)]
		switch {
		case ok && r.Method == http.MethodHead:
			send(w, http.StatusNoContent, nil)
		case ok:
			send(w, http.StatusOK, c.shown(found))
		case len(parts) == groupParts:
			refuse(w, http.StatusNotFound, "ResourceGroupNotFound", "Resource group '"+parts[3]+"' could not be found.")
		default:
			refuse(w, http.StatusNotFound, "ResourceNotFound", "The Resource '"+path+"' was not found.")
		}
		return
	}
	if len(parts) > groupParts && strings.EqualFold(parts[2], "resourceGroups") &&
		c.resources[strings.ToLower("/"+strings.Join(parts[:groupParts], "/"))] == nil {
		refuse(w, http.StatusNotFound, "ResourceGroupNotFound", "Resource group '"+parts[3]+"' could not be found.")
		return
	}
	c.list(w, r, path, parts)
}

// condition is a part of a filter of a list.
var condition = regexp.MustCompile(`(\w+) eq '([^']*)'`)

// list writes one page of a list of resources: all of one type, or all resources or groups. The path says which.
func (c *Cloud) list(w http.ResponseWriter, r *http.Request, path string, parts []string) {
	filter := map[string]string{}
	for _, match := range condition.FindAllStringSubmatch(r.URL.Query().Get("$filter"), -1) {
		filter[strings.ToLower(match[1])] = match[2]
	}
	all := []any{}
	for _, key := range c.keys() {
		if found := c.resources[key]; inList(parts, split(key)) && passes(found, filter) {
			all = append(all, c.shown(found))
		}
	}
	from, _ := strconv.Atoi(r.URL.Query().Get("$skiptoken")) // none is 0
	from = min(max(from, 0), len(all))
	page := object{"value": all[from:min(from+c.pageSize, len(all))]}
	if next := from + c.pageSize; next < len(all) {
		query := url.Values{}
		maps.Copy(query, r.URL.Query())
		query.Set("$skiptoken", strconv.Itoa(next))
		page["nextLink"] = c.URL + path + "?" + query.Encode()
	}
	send(w, http.StatusOK, page)
}

// inList says whether a resource is in the list of a path.
func inList(list, resource []string) bool {
	last := strings.ToLower(list[len(list)-1])
	switch {
	case last == "resources":
		return isTracked(resource) && hasPrefix(resource, list[:len(list)-1])
	case last == "resourcegroups":
		return len(resource) == groupParts
	case len(list) > subscriptionParts && strings.EqualFold(list[2], "providers"): // a type in all groups
		return len(resource) == resourceParts && strings.EqualFold(strings.Join(list[2:], "/"),
			strings.Join(resource[groupParts:resourceParts-1], "/"))
	}
	return len(resource) == len(list)+1 && hasPrefix(resource, list)
}

func hasPrefix(path, prefix []string) bool {
	return len(path) >= len(prefix) &&
		strings.EqualFold(strings.Join(path[:len(prefix)], "/"), strings.Join(prefix, "/"))
}

// isTracked says whether the list of all resources has this one: groups, children and deployments are not in it.
func isTracked(parts []string) bool {
	return len(parts) == resourceParts && !strings.EqualFold(parts[5], "Microsoft.Resources")
}

// passes says whether a resource passes a filter.
func passes(r object, filter map[string]string) bool {
	tags, _ := copied(object{"tags": r["tags"]})["tags"].(object)
	if name, ok := filter["tagname"]; ok {
		value, has := tags[name]
		if !has {
			return false
		}
		if want, ok := filter["tagvalue"]; ok && value != want {
			return false
		}
	}
	if group, ok := filter["resourcegroup"]; ok && !strings.EqualFold(split(r["id"].(string))[3], group) {
		return false
	}
	if kind, ok := filter["resourcetype"]; ok && !strings.EqualFold(r["type"].(string), kind) {
		return false
	}
	if name, ok := filter["name"]; ok && !strings.EqualFold(r["name"].(string), name) {
		return false
	}
	return true
}
