//go:build linux

package kubetest

import (
	"encoding/json"
	"os"
	"path/filepath"
)

// A Rule is a rule of a Role (rbac/v1, PolicyRule).
type Rule struct {
	APIGroups     []string `json:"apiGroups"`
	Resources     []string `json:"resources"`
	ResourceNames []string `json:"resourceNames,omitempty"`
	Verbs         []string `json:"verbs"`
}

// User makes a user who may do what the rules say, in one namespace or, if that is empty, in the whole cluster. It
// returns the path of the user's kubeconfig. The same name again replaces the user's rules.
func (c *Cluster) User(name, namespace string, rules ...Rule) string {
	c.t.Helper()
	kind, metadata := "ClusterRole", object{"name": "kubetest-" + name}
	if namespace != "" {
		kind, metadata["namespace"] = "Role", namespace
	}
	const group = "rbac.authorization.k8s.io"
	if rules == nil {
		rules = []Rule{}
	}
	b, err := json.Marshal(object{"apiVersion": "v1", "kind": "List", "items": []object{
		{"apiVersion": group + "/v1", "kind": kind, "metadata": metadata, "rules": rules},
		{
			"apiVersion": group + "/v1", "kind": kind + "Binding", "metadata": metadata,
			"roleRef":  object{"apiGroup": group, "kind": kind, "name": "kubetest-" + name},
			"subjects": []object{{"apiGroup": group, "kind": "User", "name": name}},
		},
	}})
	if err != nil {
		c.t.Fatal(err)
	}
	c.Apply(string(b))
	k, err := c.keys.sign(name, "")
	if err != nil {
		c.t.Fatal(err)
	}
	file := filepath.Join(c.Folder, name+".kubeconfig")
	if err := os.WriteFile(file, c.keys.kubeconfig(k), 0o600); err != nil {
		c.t.Fatal(err)
	}
	return file
}
