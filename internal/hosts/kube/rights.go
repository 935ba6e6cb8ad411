package kube

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"nearfar/internal/base/clean"
)

// A Right is something that nearfar does with one kind of objects.
type Right struct {
	Verb string
	// Group is the API group; empty for the core.
	Group string
	// Resource is "pods" or, with a subresource, "pods/exec".
	Resource string
	// Namespace is where; empty for objects of the whole cluster.
	Namespace string
	// Optional says that a run works without it; Without is then what it does not know.
	Optional bool
	Without  string
}

func (r Right) String() string {
	resource := r.Resource
	if r.Group != "" {
		resource += "." + r.Group
	}
	if r.Namespace == "" {
		return r.Verb + " " + resource
	}
	return fmt.Sprintf("%s %s in namespace %s", r.Verb, resource, r.Namespace)
}

// Rights are all that a run of the set needs.
func (s *Set) Rights() []Right {
	var all []Right
	add := func(group, resource string, verbs ...string) {
		for _, verb := range verbs {
			all = append(all, Right{Verb: verb, Group: group, Resource: resource, Namespace: s.Namespace})
		}
	}
	if s.Made {
		for _, verb := range []string{"create", "get", "list", "delete"} {
			all = append(all, Right{Verb: verb, Resource: "namespaces"})
		}
	}
	add("", "serviceaccounts", "create", "list", "delete")
	add("", "pods", "create", "get", "list", "watch", "delete")
	// Exec over WebSocket is a GET, and over SPDY a POST. From Kubernetes 1.35 both need create.
	add("", "pods/exec", "create", "get")
	if len(s.services) > 0 {
		add("", "services", "create", "get", "list", "delete")
	}
	const policies = "networkpolicies"
	if s.policy != nil {
		add(networkingGroup, policies, "create", "list", "delete")
	} else {
		all = append(all, Right{Verb: "list", Group: networkingGroup, Resource: policies, Namespace: s.Namespace,
			Optional: true, Without: "which network policies select the pods"})
	}
	all = append(all,
		Right{Verb: "list", Resource: "events", Namespace: s.Namespace, Optional: true,
			Without: "some reasons why a pod is not ready"},
		Right{Verb: "get", Resource: "pods/log", Namespace: s.Namespace, Optional: true,
			Without: "the last lines of a container that ended"},
		Right{Verb: "get", Resource: "nodes", Optional: true,
			Without: "zone, region, instance type, provider id and CNI of the pods' nodes"},
		Right{Verb: "list", Resource: "nodes", Optional: true,
			Without: "whether the nodes exist and have room, before the pods are made,"},
	)
	return all
}

const networkingGroup = "networking.k8s.io"

// roles are the rights as objects of RBAC: a Role in the set's namespace and a ClusterRole. With a namespace that
// nearfar makes, all are in the ClusterRole, because a Role needs its namespace first.
func (s *Set) roles() (all []runtime.Object) {
	const name = "nearfar"
	inNamespaces, everywhere := split([]*Set{s})
	if len(inNamespaces) > 0 {
		all = append(all, role(metav1.ObjectMeta{Name: name, Namespace: s.Namespace}, inNamespaces[s.Namespace]))
	}
	return append(all, clusterRole(metav1.ObjectMeta{Name: name}, everywhere))
}

// split separates the rights in each namespace from those in the whole cluster.
func split(sets []*Set) (inNamespaces map[string][]Right, everywhere []Right) {
	inNamespaces = map[string][]Right{}
	for _, s := range sets {
		for _, r := range s.Rights() {
			if r.Namespace == "" || s.Made {
				everywhere = append(everywhere, r)
			} else {
				inNamespaces[r.Namespace] = append(inNamespaces[r.Namespace], r)
			}
		}
	}
	return inNamespaces, everywhere
}

// rbacVersion is the version of the objects of RBAC.
const rbacVersion = rbacGroup + "/v1"

const rbacGroup = "rbac.authorization.k8s.io"

func role(meta metav1.ObjectMeta, rights []Right) *rbacv1.Role {
	return &rbacv1.Role{
		TypeMeta: metav1.TypeMeta{APIVersion: rbacVersion, Kind: "Role"}, ObjectMeta: meta, Rules: rules(rights),
	}
}

func clusterRole(meta metav1.ObjectMeta, rights []Right) *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{
		TypeMeta: metav1.TypeMeta{APIVersion: rbacVersion, Kind: "ClusterRole"}, ObjectMeta: meta, Rules: rules(rights),
	}
}

// rules joins rights of one resource.
func rules(rights []Right) (all []rbacv1.PolicyRule) {
	for _, r := range rights {
		at := slices.IndexFunc(all, func(p rbacv1.PolicyRule) bool {
			return p.APIGroups[0] == r.Group && p.Resources[0] == r.Resource
		})
		if at < 0 {
			at = len(all)
			all = append(all, rbacv1.PolicyRule{APIGroups: []string{r.Group}, Resources: []string{r.Resource}})
		}
		if !slices.Contains(all[at].Verbs, r.Verb) {
			all[at].Verbs = append(all[at].Verbs, r.Verb)
		}
	}
	return all
}

// errMissing is wrapped by errors about rights that the user does not have.
var errMissing = errors.New("rights are missing")

// rightsAdvice ends messages about missing rights.
const rightsAdvice = "`nearfar run --dry-run` prints the roles that a run needs; see docs/kubernetes.md, Rights"

// checkRights asks the API server about all rights at the same time. The error names all rights that are missing. If an
// optional right is missing, note gets a text that says what stays unknown without it. It is not an error if the API
// server does not answer such questions.
func (c *Cluster) checkRights(ctx context.Context, s *Set, note func(text string)) error {
	rights := s.Rights()
	denied, errs := make([]bool, len(rights)), make([]error, len(rights))
	var all sync.WaitGroup
	for i, r := range rights {
		all.Go(func() {
			resource, sub, _ := strings.Cut(r.Resource, "/")
			review, err := c.client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx,
				&authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
					ResourceAttributes: &authorizationv1.ResourceAttributes{
						Namespace: r.Namespace, Verb: r.Verb, Group: r.Group, Resource: resource, Subresource: sub,
					},
				}}, metav1.CreateOptions{})
			denied[i], errs[i] = err == nil && !review.Status.Allowed, err
		})
	}
	all.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if !slices.ContainsFunc(errs, func(err error) bool { return !errors.Is(err, errSlow) }) {
		return fmt.Errorf("context %s: %w", clean.Line(c.Context), errs[0])
	}
	var missing []string
	for i, r := range rights {
		switch {
		case !denied[i]:
		case r.Optional:
			note(fmt.Sprintf("%s: without the right to %v, %s stays unknown", c.Context, r, r.Without))
		default:
			missing = append(missing, "to "+r.String())
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("context %s: %w:\n  %s\n%s", clean.Line(c.Context), errMissing, strings.Join(missing, "\n  "),
		rightsAdvice)
}

// explain turns the API server's refusal of a request into words. what is what nearfar did ("making pod x").
func explain(what string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	err = shortened(err)
	text := err.Error()
	if apierrors.IsForbidden(err) {
		if right, ok := missingRight(err.Error()); ok {
			return fmt.Errorf("%s: the right to %v is missing\n%s", what, right, rightsAdvice)
		}
		for _, refusal := range []struct{ contains, words string }{
			{"violates PodSecurity", "the namespace's level of Pod Security does not admit the pod"},
			{"exceeded quota", "the namespace's quota is used up"},
			{"must specify", "the namespace's quota needs a value that the pod does not set"},
			{"usage per", "the namespace's LimitRange does not admit the pod's resources"},
			{"is being terminated", "the namespace is being deleted"},
			{"not authorized to use", "an admission plugin does not admit the pod"},
			{"unable to validate against any security context constraint", "no SecurityContextConstraint admits the " +
				"pod: set securityContext with a runAsUser of the namespace's range"},
		} {
			if strings.Contains(text, refusal.contains) {
				return fmt.Errorf("%s: %s: %w", what, refusal.words, err)
			}
		}
		return fmt.Errorf("%s: the cluster refuses it: %w", what, err)
	}
	if strings.Contains(text, "admission webhook") {
		return fmt.Errorf("%s: an admission webhook of the cluster refuses it: %w", what, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// shortError is an error with a text that is not longer than is shown.
type shortError struct {
	error
	text string
}

func (e *shortError) Error() string { return e.text }
func (e *shortError) Unwrap() error { return e.error }

// shortened bounds the text of an error: the cluster chooses it.
func shortened(err error) error {
	const most = 2 * maxReason // a sentence of Pod Security names all that it misses
	if err == nil || len(err.Error()) <= most {
		return err
	}
	return &shortError{err, clean.Cut(err.Error(), most)}
}

// missingRight reads the right from the API server's words. They have the same form for all kinds of objects.
func missingRight(text string) (Right, bool) {
	m := regexp.MustCompile(
		`cannot (\w+) resource "([^"]+)"(?: in API group "([^"]*)")?(?: in the namespace "([^"]*)")?`,
	).FindStringSubmatch(text)
	if m == nil {
		return Right{}, false
	}
	return Right{Verb: m[1], Resource: m[2], Group: m[3], Namespace: m[4]}, true
}
