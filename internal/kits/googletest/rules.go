package googletest

import (
	"fmt"
	"net/http"
	"strings"
)

// alreadyExists refuses a name that is taken. Source:
// https://github.com/GoogleCloudPlatform/scientific-computing-examples/issues/53.
func alreadyExists(path string) answer {
	return refused(http.StatusConflict, "alreadyExists", "The resource '"+path+"' already exists")
}

// notReady refuses to use what is still being made or changed. Source:
// https://github.com/terraform-google-modules/terraform-google-kubernetes-engine/issues/888.
func notReady(path string) answer {
	return refused(http.StatusBadRequest, "resourceNotReady", "The resource '"+path+"' is not ready")
}

// stale refuses a change by somebody who has not seen the last one. Source:
// https://github.com/googleapis/google-cloud-go/issues/7802 (labels), and
// https://github.com/gravitational/teleport/pull/43219 (metadata).
func stale(what string) answer {
	if what == "labels" {
		return refused(http.StatusPreconditionFailed, "conditionNotMet",
			"Labels fingerprint either invalid or resource labels have changed")
	}
	return refused(http.StatusPreconditionFailed, "conditionNotMet",
		"Supplied fingerprint does not match current metadata fingerprint.")
}

// inUseText says that a resource is used by another one. Sources:
// https://github.com/genevieve/leftovers/issues/6 (a subnetwork at once, a network by its operation), and
// https://github.com/opstrace/opstrace/issues/47 (the operation of a network ran for four seconds first).
func inUseText(path, user string) string {
	return fmt.Sprintf("The %s resource '%s' is already being used by '%s'", kindText(path), path, user)
}

// inUse refuses to delete what another resource uses.
func inUse(path, user string) answer {
	return refused(http.StatusBadRequest, "resourceInUseByAnotherResource", inUseText(path, user))
}

// kindText is what the service calls a kind in texts: instance_template in
// https://github.com/hashicorp/terraform-provider-google/issues/6277. That policies in use are kept:
// https://github.com/hashicorp/terraform-provider-google/issues/9435.
func kindText(path string) string {
	if kind := kindOf(path); kind != "resourcePolicies" {
		return singular(kind)
	}
	return "resource_policy"
}

// user is the path of a resource that refers to another one; empty if there is none.
func (c *Cloud) user(path string) string {
	for _, other := range c.paths() {
		if other != path && refersTo(c.resources[other], path) {
			return other
		}
	}
	return ""
}

// refersTo says whether a value has a link to a resource. The back references users and subnetworks do not count, and
// disks and addresses of an instance belong to it.
func refersTo(value any, path string) bool {
	switch value := value.(type) {
	case string:
		return strings.TrimPrefix(value, api) == path
	case []any:
		for _, element := range value {
			if refersTo(element, path) {
				return true
			}
		}
	case object:
		for key, element := range value {
			if key != "users" && key != "subnetworks" && key != "selfLink" && refersTo(element, path) {
				return true
			}
		}
	}
	return false
}

// A reference is a link in a request: a whole URL, or a part of one that begins with projects, global, regions or zones
// (https://cloud.google.com/apis/design/resource_names; the descriptions of such fields list these forms).
func (c *Cloud) resolve(link string) string {
	link = strings.Trim(link, "/")
	if at := strings.Index(link, "projects/"); at >= 0 {
		return link[at:]
	}
	return "projects/" + Project + "/" + link
}

// needs finds what a field refers to: it must exist and be ready. Source of the text:
// https://github.com/hashicorp/terraform-provider-google/issues/2140.
func (c *Cloud) needs(field, kind, link string) (string, answer) {
	path := c.resolve(link)
	if c.resources[path] == nil || kindOf(path) != kind {
		return "", invalid(field, link, "The referenced "+singular(kind)+" resource cannot be found.")
	}
	if c.busy(path) && kind != "disks" {
		return "", notReady(path)
	}
	return path, answer{status: http.StatusOK}
}

// quotaFailure is how an operation fails beyond a quota. Sources: text, metric, limit and dimensions as in
// https://github.com/fortinet/fortigate-tutorial-gcp/issues/9 (networks, by an operation); for CPUs by an operation
// https://github.com/hashicorp/terraform-provider-google/issues/20573; the schema QuotaExceededInfo; 403 as in
// https://github.com/kelseyhightower/kubernetes-the-hard-way/issues/47 and
// https://cloud.google.com/docs/quotas/troubleshoot.
func quotaFailure(metric string, limit float64) *failure {
	where, dimensions := "in region "+Region, object{"region": Region}
	name := metric + "-per-project-region"
	if isGlobal(metric) {
		where, dimensions, name = "globally", object{"global": "global"}, metric+"-per-project"
	}
	return &failure{
		status: http.StatusForbidden, code: "QUOTA_EXCEEDED",
		message: fmt.Sprintf("Quota '%s' exceeded.  Limit: %.1f %s.", metric, limit, where),
		details: []any{object{"quotaInfo": object{
			"metricName": "compute.googleapis.com/" + strings.ToLower(metric), "limitName": name, "limit": limit,
			"dimensions": dimensions,
		}}},
	}
}

// exhausted is how an operation fails in a zone without capacity. Sources: the code with _WITH_DETAILS, its text and
// the status in https://github.com/scylladb/scylla-cluster-tests/issues/12477; that it is the usual one for instances:
// https://github.com/CCExtractor/sample-platform/pull/1165.
func exhausted(zone string) *failure {
	return &failure{
		status: http.StatusServiceUnavailable, code: "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS",
		message: "The zone 'projects/" + Project + "/zones/" + zone +
			"' does not have enough resources available to fulfill the request.  '(resource type:compute)'.",
	}
}
