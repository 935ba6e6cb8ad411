//go:build linux

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// inside runs the commands of docs/kubernetes.md for a nearfar that runs in the cluster, as they stand, with the Role
// and the objects that the page shows.
func (r *kubeRig) inside() {
	t := r.t
	out := r.typed("kubectl create ")
	for _, part := range []string{"other-node", "same-node", "rr"} {
		if !strings.Contains(out, part) {
			t.Errorf("the report does not name %s", part)
		}
	}
	r.cameOut()
	left, err := r.Try("-n", "perf", "get", "pods,services,networkpolicies,serviceaccounts", "-o", "name", "-l",
		"app.kubernetes.io/managed-by=nearfar")
	if err != nil || strings.TrimSpace(left) != "" {
		t.Errorf("left: %s %v", left, err)
	}
}

// cameOut checks that one run directory was copied out of the cluster.
func (r *kubeRig) cameOut() {
	r.t.Helper()
	runs, err := filepath.Glob(filepath.Join(r.dir, "runs", "*", "trials.jsonl"))
	if err != nil || len(runs) != 1 {
		r.t.Errorf("the run directory did not come out: %v %v", runs, err)
	}
}

// typed runs the commands of docs/kubernetes.md that begin with a text, as they stand, with the files that the page
// shows. It gives what they print.
func (r *kubeRig) typed(begins string) string {
	t := r.t
	t.Helper()
	const page = "docs/kubernetes.md"
	var commands string
	for _, b := range blocksOf(t, page) {
		switch {
		case b.file != "":
			if err := os.WriteFile(filepath.Join(r.dir, b.file), []byte(b.text), 0o600); err != nil {
				t.Fatal(err)
			}
		case b.language == "sh" && strings.HasPrefix(b.text, begins):
			commands = b.text
		}
	}
	if commands == "" {
		t.Fatalf("%s has no commands that begin with %q", page, begins)
	}
	copied, err := os.ReadFile(program)
	if err == nil {
		err = os.WriteFile(filepath.Join(r.dir, "nearfar"), copied, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	cmd := exec.CommandContext(t.Context(), "sh", "-e", "-x", "-c", commands)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "KUBECONFIG="+r.kubeconfig, "HOME="+r.dir,
		"PATH="+r.dir+":"+filepath.Dir(r.KubectlPath())+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	t.Logf("%.1f s:\n%s", time.Since(begun).Seconds(), out)
	if err != nil {
		t.Fatalf("the commands of %s: %v", page, err)
	}
	return string(out)
}
