//go:build linux

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTwoNamesOfOneMachine: a machine has two names, and each is the server of an arm. The check of the ports does not
// find its own server, and the first lines say where each arm measures.
func TestTwoNamesOfOneMachine(t *testing.T) {
	t.Parallel()
	dir := workspace(t)
	file := filepath.Join(dir, "two.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, `nearfar: v1
name: two
hosts:
  a: {local: {}, port: %d}
  b: {local: {}, port: %d}
arms:
  there: {client: a, server: b}
  back:  {client: b, server: a}
workloads:
  - {name: rr, tool: native, mode: rr, request: 64B, duration: 100ms, warmup: 20ms}
schedule: {blocks: 1}
`, freePorts(t), freePorts(t)), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "run", "--force", "--out", filepath.Join(dir, "out"), file)
	cmd.Dir = dir
	printed, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(printed), "there: measures between a (") {
		t.Errorf("%v: %s", err, printed)
	}
}
