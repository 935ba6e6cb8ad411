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
	const page, section = "docs/kubernetes.md", "kubectl create "
	var commands string
	for _, b := range blocksOf(t, page) {
		switch {
		case b.file != "":
			if err := os.WriteFile(filepath.Join(r.dir, b.file), []byte(b.text), 0o600); err != nil {
				t.Fatal(err)
			}
		case strings.HasPrefix(b.text, section):
			commands = b.text
		}
	}
	if commands == "" {
		t.Fatalf("%s has no commands that begin with %q", page, section)
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
	for _, part := range []string{"other-node", "same-node", "rr"} {
		if !strings.Contains(string(out), part) {
			t.Errorf("the report does not name %s", part)
		}
	}
	runs, err := filepath.Glob(filepath.Join(r.dir, "runs", "*", "trials.jsonl"))
	if err != nil || len(runs) != 1 {
		t.Errorf("the run directory did not come out: %v %v", runs, err)
	}
	left, err := r.Try("-n", "perf", "get", "pods,services,networkpolicies,serviceaccounts", "-o", "name", "-l",
		"app.kubernetes.io/managed-by=nearfar")
	if err != nil || strings.TrimSpace(left) != "" {
		t.Errorf("left: %s %v", left, err)
	}
}
