package kube

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"nearfar/internal/declare/experiment"
)

// rulesIn reads a list of rules as YAML.
func rulesIn(t *testing.T, name, text string) (all []rbacv1.PolicyRule) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(text), &all); err != nil || len(all) == 0 {
		t.Fatalf("%s: %d rules, %v", name, len(all), err)
	}
	return all
}

// rulesOfChart reads rules of release/chart.
func rulesOfChart(t *testing.T, name string) []rbacv1.PolicyRule {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "release", "chart", "files", name))
	if err != nil {
		t.Fatal(err)
	}
	return rulesIn(t, name, string(text))
}

// rulesOfPage reads the rules of docs/kubernetes.md: those of the Role, and those in lists of their own.
func rulesOfPage(t *testing.T) (role, others []rbacv1.PolicyRule) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "kubernetes.md"))
	if err != nil {
		t.Fatal(err)
	}
	for block := range strings.SplitSeq(string(page), "\n```yaml") {
		text, _, _ := strings.Cut(block, "\n```")
		file, text, _ := strings.Cut(text, "\n")
		switch {
		case strings.TrimSpace(file) == "role.yaml":
			_, rules, _ := strings.Cut(text, "rules:\n")
			role = rulesIn(t, "the Role of the page", rules)
		case strings.HasPrefix(text, "  - {apiGroups:"):
			others = append(others, rulesIn(t, "a rule of the page", text)...)
		}
	}
	return role, others
}

// TestRightsAreSaidOnce: the page, the chart and a run name the same rights. What a run asks for is what its code does,
// which real API servers check in other tests.
func TestRightsAreSaidOnce(t *testing.T) {
	given := between("service", experiment.ThroughClusterIP, linuxPod(), linuxPod())
	given.Kubernetes.Namespace = "perf"
	inNamespaces, everywhere := split(plan(t, testRun(), given))
	_, madeToo := split(plan(t, testRun(), between("service", experiment.ThroughClusterIP, linuxPod(), linuxPod())))
	role, others := rulesOfPage(t)
	chartRole, namespaces, nodes := rulesOfChart(t, "role.yaml"), rulesOfChart(t, "namespaces.yaml"),
		rulesOfChart(t, "nodes.yaml")
	for _, c := range []struct {
		what      string
		want, got []rbacv1.PolicyRule
	}{
		{"the Role of the chart", rules(inNamespaces["perf"]), chartRole},
		{"the Role of the page", rules(inNamespaces["perf"]), role},
		{"what the chart reads of nodes", rules(everywhere), nodes},
		{"the other rules of the page", slices.Concat(namespaces, nodes), others},
		{"all rules of the chart", rules(madeToo), slices.Concat(namespaces, chartRole, nodes)},
	} {
		if diff := cmp.Diff(sorted(c.want), sorted(c.got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.what, diff)
		}
	}
}

// sorted are rules in the order of their resources.
func sorted(all []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b rbacv1.PolicyRule) int { return strings.Compare(a.Resources[0], b.Resources[0]) })
	return all
}
