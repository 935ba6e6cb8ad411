//go:build linux

package kube

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"nearfar/internal/base/kubeclient"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/hosts/hosttest"
)

// An apiMode is one way in which an API server, or something between, misbehaves. It answers a request and returns
// true, or leaves it to the plain server.
type apiMode func(w http.ResponseWriter, r *http.Request) bool

// plainAPI is an API server as far as making two pods needs one. Pods are ready when they are made.
type plainAPI struct {
	mode   apiMode
	pods   map[string]*corev1.Pod
	locked chan struct{}
}

// newHostile opens a cluster whose API server has a mode.
func newHostile(t *testing.T, mode apiMode) *Cluster {
	t.Helper()
	api := &plainAPI{mode: mode, pods: map[string]*corev1.Pod{}, locked: make(chan struct{}, 1)}
	server := httptest.NewServer(api)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	if err := kubeclient.Silence(); err != nil {
		t.Fatal(err)
	}
	c, err := newCluster(&rest.Config{
		Host: server.URL, QPS: 1000, Burst: 1000, UserAgent: "nearfar", WarningHandler: rest.NoWarnings{},
		ContentConfig: rest.ContentConfig{ContentType: "application/json"},
	}, "hostile", limits{answer: hostileAnswer})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// kindOfList are the kinds of what is asked for, by the last word of the path.
func kindOfList(path string) string {
	return map[string]string{
		"nodes": "NodeList", "pods": "PodList", "namespaces": "NamespaceList", "services": "ServiceList",
		"serviceaccounts": "ServiceAccountList", "networkpolicies": "NetworkPolicyList", "events": "EventList",
	}[path[strings.LastIndex(path, "/")+1:]]
}

func (a *plainAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if a.mode != nil && a.mode(w, r) {
		return
	}
	a.locked <- struct{}{}
	defer func() { <-a.locked }()
	list := map[string]any{
		"apiVersion": "v1", "kind": kindOfList(r.URL.Path), "metadata": map[string]any{"resourceVersion": "1"},
		"items": []any{},
	}
	_, name, isPod := strings.Cut(r.URL.Path, "/pods/")
	switch {
	case r.URL.Path == "/version":
		answer(w, http.StatusOK, map[string]string{"gitVersion": "v1.34.0"})
	case strings.HasSuffix(r.URL.Path, "selfsubjectaccessreviews"):
		answer(w, http.StatusCreated, map[string]any{"apiVersion": "authorization.k8s.io/v1",
			"kind": "SelfSubjectAccessReview", "status": map[string]any{"allowed": true}})
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/pods"):
		pod := &corev1.Pod{}
		if err := json.NewDecoder(r.Body).Decode(pod); err != nil {
			answer(w, http.StatusBadRequest, nil)
			return
		}
		pod.Spec.NodeName, pod.Status.Phase, pod.Status.PodIP = "n1", corev1.PodRunning, "192.0.2.1"
		pod.Status.PodIPs = []corev1.PodIP{{IP: "192.0.2.1"}}
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		a.pods[pod.Name] = pod
		answer(w, http.StatusCreated, pod)
	case r.Method == http.MethodPost:
		made, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write(made)
	case r.Method == http.MethodDelete && isPod:
		delete(a.pods, name)
		answer(w, http.StatusOK, metav1.Status{Status: metav1.StatusSuccess})
	case isPod && a.pods[name] != nil:
		answer(w, http.StatusOK, a.pods[name])
	case strings.HasSuffix(r.URL.Path, "/pods") && r.URL.Query().Get("watch") == "":
		items := []any{}
		for _, pod := range a.pods {
			items = append(items, pod)
		}
		list["items"] = items
		answer(w, http.StatusOK, list)
	case kindOfList(r.URL.Path) != "":
		answer(w, http.StatusOK, list)
	default:
		answer(w, http.StatusNotFound, metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
			Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound,
		})
	}
}

// making selects the requests for pods: those that make them, list them or watch them.
func making(r *http.Request) bool {
	return strings.HasSuffix(r.URL.Path, "/pods") && strings.Contains(r.URL.Path, "perf")
}

func listing(r *http.Request) bool {
	return making(r) && r.Method == http.MethodGet && r.URL.Query().Get("watch") == ""
}

func watching(r *http.Request) bool { return making(r) && r.URL.Query().Get("watch") != "" }

// when makes a mode of what is done to some requests.
func when(is func(*http.Request) bool, do http.HandlerFunc) apiMode {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if !is(r) {
			return false
		}
		do(w, r)
		return true
	}
}

func never(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

func flush(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() }

// endless sends text without end, a piece at a time.
func endless(w http.ResponseWriter, r *http.Request, first, piece string, pause time.Duration) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, first)
	for r.Context().Err() == nil {
		if _, err := io.WriteString(w, piece); err != nil {
			return
		}
		if pause > 0 {
			flush(w)
			select {
			case <-r.Context().Done():
			case <-time.After(pause):
			}
		}
	}
}

// pending is a pod of the run that never becomes ready.
func pending(name, version, text string) map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{
			"name": name, "namespace": "perf", "resourceVersion": version, "annotations": map[string]string{"a": text},
		},
		"status": map[string]any{"phase": "Pending", "message": text, "conditions": []any{
			map[string]string{
				"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3: " + text,
			},
		}},
	}
}

// apiModes are the ways in which API servers misbehave. says is in the error; makes says that the pods are made
// nevertheless.
func apiModes() map[string]struct {
	mode  apiMode
	says  string
	makes bool
} {
	const year = "31536000" // seconds
	long := strings.Repeat("x", 1<<20)
	status := func(code int, message string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			answer(w, code, metav1.Status{
				TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
				Message: message, Reason: "Odd", Code: int32(code),
			})
		}
	}
	throttled := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", year)
		status(http.StatusTooManyRequests, "too many")(w, nil)
	}
	onePending := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			answer(w, http.StatusOK, map[string]any{
				"apiVersion": "v1", "kind": "PodList", "metadata": map[string]any{"resourceVersion": "1"},
				"items": []any{pending("nearfar-abc123-p1-client", "1", text)},
			})
		}
	}
	both := func(modes ...apiMode) apiMode {
		return func(w http.ResponseWriter, r *http.Request) bool {
			for _, m := range modes {
				if m(w, r) {
					return true
				}
			}
			return false
		}
	}
	type hostile = struct {
		mode  apiMode
		says  string
		makes bool
	}
	const pods = "nearfar-abc123-p1-client"
	waits := when(listing, onePending(""))
	return map[string]hostile{
		"silent":       {when(func(*http.Request) bool { return true }, never), "did not answer in time", false},
		"silent-pods":  {when(making, never), pods, false},
		"silent-list":  {when(listing, never), pods, false},
		"silent-watch": {both(waits, when(watching, never)), pods, false},
		"half": {when(making, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, `{"apiVersion": "v1", "kind": "Po`)
		}), pods, false},
		"drips": {when(making, func(w http.ResponseWriter, r *http.Request) {
			endless(w, r, `{"kind":"PodList","apiVersion":"v1","metadata":{"continue":"`, "x", 20*time.Millisecond)
		}), pods, false},
		"endless-answer": {when(making, func(w http.ResponseWriter, r *http.Request) {
			endless(w, r, `{"kind":"PodList","apiVersion":"v1","metadata":{"continue":"`, long, 0)
		}), pods, false},
		"endless-nodes": {when(func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/nodes") },
			func(w http.ResponseWriter, r *http.Request) {
				endless(w, r, `{"kind":"NodeList","apiVersion":"v1","items":[{}`, ",{}", 0)
			}), "", true},
		"endless-pages": {when(func(r *http.Request) bool {
			return r.Method == http.MethodGet &&
				(strings.HasSuffix(r.URL.Path, "/nodes") || r.URL.Path == "/api/v1/pods")
		}, func(w http.ResponseWriter, r *http.Request) {
			answer(w, http.StatusOK, map[string]any{
				"apiVersion": "v1", "kind": kindOfList(r.URL.Path), "items": []any{},
				"metadata": map[string]any{"resourceVersion": "1", "continue": "again"},
			})
		}), "", true},
		"endless-events": {both(waits, when(watching, func(w http.ResponseWriter, r *http.Request) {
			event, _ := json.Marshal(map[string]any{"type": "MODIFIED", "object": pending(pods, "2", "")})
			endless(w, r, "", string(event)+"\n", 0)
		})), pods, false},
		"endless-event": {both(waits, when(watching, func(w http.ResponseWriter, r *http.Request) {
			endless(w, r, `{"type": "MODIFIED", "object": {"x": "`, long, 0)
		})), pods, false},
		"huge-texts":  {when(listing, onePending(long)), pods, false},
		"huge-status": {when(making, status(http.StatusTeapot, long)), pods, false},
		"old-version": {both(waits, when(watching, status(http.StatusGone, "too old"))), pods, false},
		"odd-events": {both(waits, when(watching, func(w http.ResponseWriter, _ *http.Request) {
			answer(w, http.StatusOK, map[string]any{"type": "ERROR", "object": metav1.Status{
				TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Code: http.StatusGone}})
		})), pods, false},
		"throttled":      {when(making, throttled), pods, false},
		"throttled-list": {when(listing, throttled), pods, false},
		"unavailable":    {when(making, status(http.StatusServiceUnavailable, "no leader")), pods, false},
		"no-json": {when(making, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<html>Sign in")
		}), pods, false},
		"redirects": {when(making, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.String(), http.StatusTemporaryRedirect)
		}), pods, false},
		"cuts": {when(making, func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				_ = conn.Close()
			}
		}), pods, false},
	}
}

const (
	// hostileReady is how long the pods may take, and hostileLimit how long the whole may: some requests one after the
	// other, each with its limit.
	hostileReady  = time.Second
	hostileAnswer = time.Second
	hostileLimit  = 30 * time.Second
)

// hostileSet plans two pods in a namespace that exists.
func hostileSet(t *testing.T) *Set {
	t.Helper()
	arm := between("a", experiment.ThroughPod, linuxPod(), linuxPod())
	arm.Kubernetes.Namespace, arm.Kubernetes.Ready = "perf", hostileReady
	run := testRun()
	run.ID = "abc123"
	return plan(t, run, arm)[0]
}

// TestHostileAPI: whatever an API server answers, or does not, pods are made or not within a bounded time and memory,
// and the error names a pod or the context.
func TestHostileAPI(t *testing.T) {
	for name, h := range apiModes() {
		t.Run(name, func(t *testing.T) {
			stop := hosttest.BoundMemory(t)
			defer stop()
			c := newHostile(t, h.mode)
			d := c.New(hostileSet(t), func(string) {})
			began := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), hostileLimit)
			defer cancel()
			err := d.Make(ctx)
			took := time.Since(began)
			t.Logf("%v: %.300v", took.Round(time.Millisecond), err)
			switch {
			case ctx.Err() != nil:
				t.Errorf("it took %v", took)
			case h.makes && err != nil:
				t.Error(err)
			case h.makes:
			case err == nil:
				t.Error("nothing failed")
			case !strings.Contains(err.Error(), h.says):
				t.Errorf("the error does not name %q: %.300v", h.says, err)
			case len(err.Error()) > 4096:
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
		})
	}
}

// TestHostileAPIInterrupted: an interrupt ends every wait within a second.
func TestHostileAPIInterrupted(t *testing.T) {
	for name, h := range apiModes() {
		if h.makes {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newHostile(t, h.mode)
			set := hostileSet(t)
			set.Ready = time.Minute
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			var at time.Time
			time.AfterFunc(200*time.Millisecond, func() {
				at = time.Now()
				interrupt()
			})
			if err := c.New(set, func(string) {}).Make(ctx); err == nil {
				t.Error("nothing failed")
			}
			if ctx.Err() == nil {
				return // it had failed before
			}
			if took := time.Since(at); took > time.Second+2*time.Second { // a busy machine adds to it
				t.Errorf("the wait ended %v after the interrupt", took)
			}
		})
	}
}

// TestHostileRemove: an API server that answers nothing any more does not hold up the end of a run, and the error says
// what is left to do.
func TestHostileRemove(t *testing.T) {
	var silent atomic.Bool
	c := newHostile(t, when(func(*http.Request) bool { return silent.Load() }, never))
	d := c.New(hostileSet(t), func(string) {})
	if err := d.Make(t.Context()); err != nil {
		t.Fatal(err)
	}
	silent.Store(true)
	began := time.Now()
	err := d.Remove()
	t.Logf("%v: %v", time.Since(began).Round(time.Millisecond), err)
	if err == nil || !strings.Contains(err.Error(), "`nearfar down --all` deletes the rest") ||
		!strings.Contains(err.Error(), "did not answer in time") {
		t.Errorf("got %v", err)
	}
	if took := time.Since(began); took > 10*hostileAnswer {
		t.Errorf("it took %v", took)
	}
}

// TestHostileFind: where the API server does not list all, nobody says that nothing is left.
func TestHostileFind(t *testing.T) {
	for name, mode := range map[string]apiMode{
		"more pages": when(listing, func(w http.ResponseWriter, _ *http.Request) {
			answer(w, http.StatusOK, map[string]any{"apiVersion": "v1", "kind": "PodList", "items": []any{},
				"metadata": map[string]any{"resourceVersion": "1", "continue": "again"}})
		}),
		"another kind": when(listing, func(w http.ResponseWriter, _ *http.Request) {
			answer(w, http.StatusOK, map[string]string{"apiVersion": "v1", "kind": "NodeList"})
		}),
		"refused": when(listing, func(w http.ResponseWriter, _ *http.Request) {
			answer(w, http.StatusForbidden, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
				Status: metav1.StatusFailure, Reason: metav1.StatusReasonForbidden, Code: http.StatusForbidden})
		}),
		"silent": when(listing, never),
		"half": when(listing, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, `{"items": [`)
		}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all, looked, err := newHostile(t, mode).Find(t.Context(), []string{"perf"})
			if err == nil || len(all) > 0 {
				t.Errorf("found %v, looked at %q: %v", all, looked, err)
			}
			if !strings.Contains(strings.Join(looked, "\n"), "Pods of namespace perf: not looked at") {
				t.Errorf("looked at %q", looked)
			}
		})
	}
}
