package check

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// where is where both sides are; the finding says why that is not known.
func (t Trial) where() (client, server *Where, why *finding) {
	return known(t, func(side string, f *Facts) (*Where, finding) {
		switch {
		case f == nil:
			return nil, unknown("there are no facts of the %s", side)
		case f.Where == nil:
			return nil, unknown("the %s is in no cloud whose metadata service is known", side)
		}
		return f.Where, finding{}
	})
}

// known is a part of the facts of both sides. The finding says why it is not known of one of them.
func known[T any](t Trial, of func(side string, f *Facts) (*T, finding)) (client, server *T, why *finding) {
	client, missing := of("client", t.Client.Facts)
	if client != nil {
		server, missing = of("server", t.Server.Facts)
	}
	if server == nil {
		return nil, nil, &missing
	}
	return client, server, nil
}

// lacks says that a part of where is not known.
func lacks(what string, client, server *Where) finding {
	text := what + " is not known of both sides"
	for _, w := range []*Where{client, server} {
		if w.Problem != "" {
			return unknown("%s: %s", text, w.Problem)
		}
	}
	return unknown("%s", text)
}

// sameZone asks whether both sides are in one availability zone. Names of zones mean the same only within a
// subscription of Azure, an account of AWS or an organization of GCP. AWS has identifiers that mean the same
// everywhere. GCP maps zones to its physical clusters for each organization (Compute Engine's documentation, "Regions
// and zones"), and a machine knows only its project.
func sameZone(t Trial) finding {
	c, s, why := t.where()
	if why != nil {
		return *why
	}
	switch {
	case c.Cloud != s.Cloud:
		return verdict(false, "the client is in %s, the server in %s", c.Cloud, s.Cloud)
	case c.Region == "" || s.Region == "":
		return lacks("the region", c, s)
	case c.Region != s.Region:
		return verdict(false, "the client is in %s, the server in %s", c.Region, s.Region)
	case c.ZoneID != "" && s.ZoneID != "":
		return verdict(c.ZoneID == s.ZoneID, "the client is in zone %s, the server in %s", c.ZoneID, s.ZoneID)
	case c.Zone == "" || s.Zone == "":
		return lacks("the zone", c, s)
	case c.Cloud == CloudAWS:
		return lacks("the identifier of the zone", c, s)
	case c.Cloud == CloudAzure && c.Account == "", c.Cloud == CloudAzure && c.Account != s.Account:
		return unknown("the subscriptions differ or are not known, and zone %s can be another one in each", c.Zone)
	case c.Cloud == CloudGCP && c.Account != s.Account:
		return unknown("the projects differ, and zone %s can be another one in each organization", c.Zone)
	}
	return verdict(c.Zone == s.Zone, "the client is in zone %s of %s, the server in zone %s", c.Zone, c.Region, s.Zone)
}

// sameNode asks whether both sides are on one node. A node of Kubernetes counts where both are known. Otherwise a node
// is a machine with a kernel of its own. Boot ids that contradict the metadata prove nothing: sandboxes on one instance
// can have kernels of their own, and machines that were copied while they ran share a boot id.
func sameNode(t Trial) finding {
	c, s := t.Client, t.Server
	if c.Node != "" && s.Node != "" {
		f := verdict(c.Node == s.Node, "the client's pod ran on node %s, the server's on %s", c.Node, s.Node)
		if c.Node != s.Node && c.Facts != nil && s.Facts != nil && c.Facts.BootID != "" &&
			c.Facts.BootID == s.Facts.BootID {
			f.evidence += " (both nodes share one kernel)"
		}
		return f
	}
	switch {
	case c.Node != "" || s.Node != "":
		return unknown("the node of one side is not known")
	case c.Facts == nil || s.Facts == nil || c.Facts.BootID == "" || s.Facts.BootID == "":
		return unknown("the kernels of both sides are not known")
	}
	same := c.Facts.BootID == s.Facts.BootID
	text := fmt.Sprintf("the kernels have the boot ids %s and %s", c.Facts.BootID, s.Facts.BootID)
	if same {
		text = "both sides run under the kernel with boot id " + c.Facts.BootID
	}
	if one, known := sameInstance(c.Facts, s.Facts); known && one != same {
		return unknown("%s, but the metadata service names the instances %s and %s", text, c.Facts.Where.InstanceID,
			s.Facts.Where.InstanceID)
	}
	if !same && (c.Facts.OwnBootID || s.Facts.OwnBootID) {
		return unknown("%s, but a container has one of its own, which is not its kernel's", text)
	}
	if same && c.Facts.Kernel != "" && s.Facts.Kernel != "" && c.Facts.Kernel != s.Facts.Kernel {
		return unknown("%s, but their releases are %s and %s", text, c.Facts.Kernel, s.Facts.Kernel)
	}
	return verdict(same, "%s", text)
}

// sameInstance says whether the metadata service names one machine for both sides, and whether it names both.
func sameInstance(c, s *Facts) (same, known bool) {
	if c.Where == nil || s.Where == nil || c.Where.InstanceID == "" || s.Where.InstanceID == "" {
		return false, false
	}
	return c.Where.Cloud == s.Where.Cloud && c.Where.InstanceID == s.Where.InstanceID, true
}

func instanceType(t Trial, e Expectation) finding {
	c, s, why := t.where()
	if why != nil {
		return *why
	}
	if c.InstanceType == "" || s.InstanceType == "" {
		return lacks("the instance type", c, s)
	}
	return verdict(c.InstanceType == e.Value && s.InstanceType == e.Value, "the client is a %s, the server a %s",
		c.InstanceType, s.InstanceType)
}

// fact expects a value of a fact of both sides, or of one: "client.model".
func fact(t Trial, e Expectation) finding {
	only, path := FactPath(e.Path)
	ask := func(s one) finding {
		got, ok := s.Facts.value(path)
		if !ok {
			return unknown("there is no fact %s", path)
		}
		return verdict(equal(got, e.Value), "%s is %v", path, got)
	}
	switch only {
	case "client":
		return ask(one{Side: t.Client})
	case "server":
		return ask(one{Side: t.Server})
	}
	return everySide(t, ask)
}

// value is the fact at a path of keys of the facts' JSON. In lists, a key is an element's name or its number.
func (f *Facts) value(path string) (any, bool) {
	if f == nil {
		return nil, false
	}
	data, err := json.Marshal(f)
	if err != nil {
		return nil, false
	}
	var at any
	if json.Unmarshal(data, &at) != nil {
		return nil, false
	}
	for key := range strings.SplitSeq(path, ".") {
		switch in := at.(type) {
		case map[string]any:
			at = in[key]
		case []any:
			at = element(in, key)
		default:
			return nil, false
		}
	}
	switch at.(type) {
	case nil, map[string]any, []any:
		return nil, false
	}
	return at, true
}

func element(list []any, key string) any {
	if n, err := strconv.Atoi(key); err == nil && n >= 0 && n < len(list) {
		return list[n]
	}
	for _, e := range list {
		if m, ok := e.(map[string]any); ok && m["name"] == key {
			return e
		}
	}
	return nil
}

// equal compares a fact with what the file says. A number in the file can be a text in the facts.
func equal(got, want any) bool {
	n, isNumber := numeric(want)
	if text, isText := got.(string); isText && isNumber {
		return text == strconv.FormatFloat(n, 'f', -1, 64)
	}
	if isNumber {
		g, ok := numeric(got)
		return ok && g == n
	}
	return got == want
}
