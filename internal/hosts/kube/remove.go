package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	typedcore "k8s.io/client-go/kubernetes/typed/core/v1"
)

const (
	// removeLimit bounds the deletion of all objects of a run.
	removeLimit = 90 * time.Second
	// forceAfter is how long the kubelets may take to end the pods. After that the pods are deleted by force: the
	// kubelet of such a node does not answer, and its agent ends by itself.
	forceAfter = 30 * time.Second
	// pauseGone is the time between two looks at objects that are being deleted.
	pauseGone = 100 * time.Millisecond
	// removeNote is how long the deletion lasts until the user is told.
	removeNote = 5 * time.Second
	// mostSlow is how many requests in a row an API server may leave unanswered during the deletion.
	mostSlow = 2
)

// Remove deletes all that was made and waits until it is gone. It may be called after a failed Make, and twice.
func (d *Deployed) Remove() error {
	d.unfollow()
	if !d.begun {
		return nil
	}
	// The caller's context has often ended: by Ctrl-C.
	ctx, cancel := context.WithTimeout(context.Background(), removeLimit)
	defer cancel()
	defer time.AfterFunc(removeNote, func() {
		d.note(fmt.Sprintf("waiting until what was made in context %s is gone, for at most %v", d.Set.Context,
			removeLimit))
	}).Stop()
	err := d.cluster.sweep(ctx, d.Set.Namespace, d.Set.Made, d.Set.runSelector(), d.note)
	if err != nil {
		return fmt.Errorf("not all that nearfar made in context %s is gone; `nearfar down --all` deletes the rest: %w",
			d.Set.Context, err)
	}
	d.begun = false
	return nil
}

// sweep deletes the objects that a selector finds in a namespace, and the namespace if all of it is nearfar's. It
// returns when they are gone.
func (c *Cluster) sweep(ctx context.Context, namespace string, whole bool, selector string, note func(string)) error {
	var errs []error
	// The pods come first: a namespace that still has pods waits longer than the pods need to end.
	errs = append(errs, c.deletePods(ctx, namespace, selector, note))
	if errors.Is(errs[0], errSlow) {
		return errs[0] // the rest would not be answered either
	}
	if whole {
		errs = append(errs, c.deleteNamespace(ctx, namespace))
		return errors.Join(errs...)
	}
	for _, kind := range c.kinds() {
		found, err := kind.list(ctx, namespace, selector)
		if err != nil {
			// Who may not list such objects has not made any: the rights are checked first.
			if !apierrors.IsForbidden(err) {
				errs = append(errs, explain("looking for "+kind.name, ignoreGone(err)))
			}
			continue
		}
		for _, o := range found {
			if err := ignoreGone(kind.remove(ctx, namespace, o.GetName())); err != nil {
				errs = append(errs, explain("deleting "+kind.name+" "+o.GetName(), err))
			}
		}
	}
	return errors.Join(errs...)
}

// A kind is a kind of objects in a namespace, without pods.
type kind struct {
	name   string
	list   func(ctx context.Context, namespace, selector string) ([]metav1.Object, error)
	remove func(ctx context.Context, namespace, name string) error
}

// kinds are those that nearfar makes besides pods.
func (c *Cluster) kinds() []kind {
	core, networking := c.client.CoreV1(), c.client.NetworkingV1()
	return []kind{
		kindOf("Services", core.Services),
		kindOf("NetworkPolicies", networking.NetworkPolicies),
		kindOf("ServiceAccounts", core.ServiceAccounts),
	}
}

// objects are the objects of one kind in a namespace, as client-go offers them. L is a list of them.
type objects[L runtime.Object] interface {
	List(ctx context.Context, o metav1.ListOptions) (L, error)
	Delete(ctx context.Context, name string, o metav1.DeleteOptions) error
}

func kindOf[L runtime.Object, C objects[L]](name string, in func(namespace string) C) kind {
	return kind{
		name, func(ctx context.Context, namespace, selector string) (all []metav1.Object, err error) {
			list, err := in(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
			if err != nil {
				return nil, err
			}
			if err = complete(list); err != nil {
				return nil, err
			}
			err = meta.EachListItem(list, func(o runtime.Object) error {
				object, err := meta.Accessor(o)
				all = append(all, object)
				return err
			})
			return all, err
		}, func(ctx context.Context, namespace, name string) error {
			return in(namespace).Delete(ctx, name, metav1.DeleteOptions{})
		},
	}
}

// complete is an error if an answer is not the whole list. The library reads an answer of another kind as an empty
// list; every list of an API server has a version (Kubernetes' API conventions, Lists).
func complete(list runtime.Object) error {
	l, err := meta.ListAccessor(list)
	switch {
	case err != nil:
		return err
	case l.GetContinue() != "":
		return errors.New("the API server lists only a part")
	case l.GetResourceVersion() == "":
		return errors.New("what the API server answers is no list")
	}
	return nil
}

// ignoreGone drops the error that an object or its namespace does not exist.
func ignoreGone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// deletePods deletes pods and waits until they are gone.
func (c *Cluster) deletePods(ctx context.Context, namespace, selector string, note func(string)) error {
	pods := c.client.CoreV1().Pods(namespace)
	begun := time.Now()
	asked := map[string]bool{} // pods that were asked to end; by force with the prefix "force/"
	var failed error
	for slow := 0; ; {
		list, err := pods.List(ctx, metav1.ListOptions{LabelSelector: selector})
		if slow++; !errors.Is(err, errSlow) {
			slow = 0
		}
		switch {
		case slow == mostSlow:
			return explain("looking for pods", err)
		case apierrors.IsNotFound(err):
			return nil
		case apierrors.IsForbidden(err):
			return explain("looking for pods", err)
		case err != nil:
			failed = err // the API server can come back
		case len(list.Items) == 0:
			return nil
		default:
			failed = nil
			for _, pod := range list.Items {
				uid := pod.Name + "/" + string(pod.UID)
				o := metav1.DeleteOptions{}
				if time.Since(begun) > forceAfter && !asked["force/"+uid] {
					uid, o = "force/"+uid, *metav1.NewDeleteOptions(0)
					note(fmt.Sprintf("pod %s did not end within %v: node %s does not answer, and the pod is deleted "+
						"by force. What runs in it ends by itself", pod.Name, forceAfter, pod.Spec.NodeName))
				}
				if asked[uid] {
					continue
				}
				if err := ignoreGone(pods.Delete(ctx, pod.Name, o)); err != nil {
					if apierrors.IsForbidden(err) {
						return explain("deleting pod "+pod.Name, err)
					}
					failed = err
					continue
				}
				asked[uid] = true
			}
		}
		if !pause(ctx, pauseGone) {
			if failed == nil {
				failed = fmt.Errorf("%d pods of namespace %s do not end", len(list.Items), namespace)
			}
			return failed
		}
	}
}

// pause waits; false if ctx has ended.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// deleteNamespace deletes a namespace and waits until it is gone.
func (c *Cluster) deleteNamespace(ctx context.Context, name string) error {
	namespaces := c.client.CoreV1().Namespaces()
	var why error
	for asked := false; ; {
		if !asked {
			err := namespaces.Delete(ctx, name, metav1.DeleteOptions{})
			switch {
			case apierrors.IsNotFound(err):
				return nil
			case apierrors.IsForbidden(err):
				return explain("deleting namespace "+name, err)
			}
			asked = err == nil
		}
		now, err := namespaces.Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			why = err
		default:
			why = fmt.Errorf("namespace %s is still being deleted%s", name, terminating(now))
		}
		if !pause(ctx, pauseGone) {
			return why
		}
	}
}

// terminating says what a namespace waits for that is being deleted.
func terminating(n *corev1.Namespace) string {
	for _, c := range n.Status.Conditions {
		if c.Status == corev1.ConditionTrue {
			return ": " + said(c.Message)
		}
	}
	return ""
}

// ofRuns finds the objects of all runs.
const ofRuns = LabelManaged + "=" + Manager + "," + LabelRun

// A Found is an object that nearfar made, in this run or another one.
type Found struct {
	// Kind is Namespace, Pods, Services, NetworkPolicies or ServiceAccounts.
	Kind, Namespace, Name string
	Run, Owner, Process   string
	Expires               time.Time
}

func found(kind string, o metav1.Object) Found {
	f := Found{
		Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName(), Run: o.GetLabels()[LabelRun],
		Owner: o.GetAnnotations()[AnnotationOwner], Process: o.GetAnnotations()[AnnotationProcess],
	}
	f.Expires, _ = time.Parse(time.RFC3339, o.GetAnnotations()[AnnotationExpires]) // zero if it has none
	return f
}

func (f Found) String() string {
	text := f.Kind + " " + f.Name
	if f.Namespace != "" {
		text = f.Kind + " " + f.Namespace + "/" + f.Name
	}
	return text
}

// Find looks for all objects that nearfar made: in the given namespaces, or in the whole cluster without any. looked
// lists what was looked at, also what could not be.
func (c *Cluster) Find(ctx context.Context, inNamespaces []string) (all []Found, looked []string, err error) {
	var errs []error
	look := func(what string, k kind, namespace string) {
		objects, err := k.list(ctx, namespace, ofRuns)
		switch {
		case err == nil:
			looked = append(looked, fmt.Sprintf("%s: %d", what, len(objects)))
			for _, o := range objects {
				all = append(all, found(k.name, o))
			}
			return
		case apierrors.IsForbidden(err):
			looked = append(looked, what+": not looked at, because the right is missing")
		default:
			looked = append(looked, what+": not looked at")
		}
		errs = append(errs, explain("looking at "+what, err))
	}
	core, where := c.client.CoreV1(), inNamespaces
	if len(where) == 0 {
		where = []string{metav1.NamespaceAll}
		namespaces := func(string) typedcore.NamespaceInterface { return core.Namespaces() }
		look("namespaces of the cluster", kindOf("Namespace", namespaces), "")
	}
	for _, namespace := range where {
		of := "all namespaces"
		if namespace != metav1.NamespaceAll {
			of = "namespace " + namespace
		}
		for _, k := range append([]kind{kindOf("Pods", core.Pods)}, c.kinds()...) {
			look(k.name+" of "+of, k, namespace)
		}
	}
	return all, looked, errors.Join(errs...)
}

// RemoveRuns deletes the objects that were found, run by run, and waits until they are gone.
func (c *Cluster) RemoveRuns(ctx context.Context, all []Found, note func(string)) error {
	ctx, cancel := context.WithTimeout(ctx, removeLimit)
	defer cancel()
	type where struct{ namespace, run string }
	whole := map[where]bool{}
	for _, f := range all {
		at := where{f.Namespace, f.Run}
		if f.Kind == "Namespace" {
			at.namespace = f.Name
		}
		whole[at] = whole[at] || f.Kind == "Namespace"
	}
	var errs []error
	for at, made := range whole {
		errs = append(errs, c.sweep(ctx, at.namespace, made, ofRuns+"="+at.run, note))
	}
	return errors.Join(errs...)
}

// RemoveLeftovers deletes what earlier runs of the same owner left behind: what has expired, and what a process of this
// machine made that does not run any more. It looks in the set's namespace, and at namespaces that nearfar made if the
// set makes one. It does not wait for the end of a namespace.
func (d *Deployed) RemoveLeftovers(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	s := d.Set
	dead := func(f Found) bool {
		return f.Run != s.Run.ID && f.Owner == s.Run.Owner &&
			(!f.Expires.IsZero() && f.Expires.Before(s.Run.Now) || Ended(f.Process))
	}
	if s.Made {
		list, err := d.cluster.client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{LabelSelector: ofRuns})
		if err != nil {
			return
		}
		for _, o := range list.Items {
			if f := found("Namespace", &o); dead(f) && o.DeletionTimestamp == nil {
				d.note(fmt.Sprintf("deleting namespace %s, which an earlier run left behind", f.Name))
				_ = d.cluster.client.CoreV1().Namespaces().Delete(ctx, f.Name, metav1.DeleteOptions{})
			}
		}
		return
	}
	all, _, _ := d.cluster.Find(ctx, []string{s.Namespace})
	all = slices.DeleteFunc(all, func(f Found) bool { return !dead(f) })
	if len(all) == 0 {
		return
	}
	d.note(fmt.Sprintf("deleting %d objects in namespace %s, which earlier runs left behind", len(all), s.Namespace))
	if err := d.cluster.RemoveRuns(ctx, all, d.note); err != nil {
		d.note("they are not all gone: " + err.Error())
	}
}
