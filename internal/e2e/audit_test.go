//go:build linux

package e2e

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nearfar/internal/kits/azuretest"
	"nearfar/internal/measure/deploy"
)

// An audited is an experiment whose machines are in a cloud of the tests, together with a fake of Azure that has
// resources which are in no state.
type audited struct {
	*stand
	azure *azuretest.Cloud
	// further are variables of the environment.
	further []string
}

func newAudited(t *testing.T) *audited {
	t.Helper()
	a := &audited{stand: newStand(t, ""), azure: azuretest.New(t)}
	a.further = a.azure.Env()
	return a
}

// run runs nearfar, with az and OpenTofu on its path.
func (a *audited) run(code int, args ...string) *running {
	a.t.Helper()
	var paths []string
	env := append(a.env(), a.further...)
	for _, one := range slices.Concat(a.further, a.cloud.Env()) { // its az before the stand-in of other tests
		if path, ok := strings.CutPrefix(one, "PATH="); ok {
			paths = append(paths, path)
		}
	}
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = a.dir, append(env, "PATH="+strings.Join(paths, ":"))
	r := startRunning(a.t, cmd)
	if got := r.wait(); got != code {
		a.t.Fatalf("nearfar %s: exit code %d, want %d\n%s\n%s", args, got, code, r.printed(), r.said())
	}
	return r
}

// has checks that an output has texts.
func (a *audited) has(r *running, texts ...string) {
	a.t.Helper()
	for _, text := range texts {
		if out := r.printed() + r.said(); !strings.Contains(out, text) {
			a.t.Errorf("want %q:\n%s", text, out)
		}
	}
}

// The real az finds a resource with the tag of the run, although no state has it.
func TestAuditAfterDown(t *testing.T) {
	t.Parallel()
	a := newAudited(t)
	const subscription = "/subscriptions/" + azuretest.Subscription
	const disk = subscription + "/resourceGroups/g/providers/Microsoft.Compute/disks/outside"
	tags := map[string]string{"nearfar_run": "stand", "nearfar_owner": deploy.PodOwner()}
	a.azure.Login()
	a.azure.Put(subscription+"/resourceGroups/g", nil)
	a.azure.Put(disk, tags)
	a.azure.Put(disk+"-of-another-run", map[string]string{"nearfar_run": "other", "nearfar_owner": deploy.PodOwner()})
	a.azure.Put(disk+"-of-somebody", map[string]string{"nearfar_run": "stand", "nearfar_owner": "somebody@else"})
	down := []string{"down", "--provider", "azure:" + azuretest.Subscription, "--audit-wait", "0s", a.file}

	a.run(0, "up", "--yes")
	found := a.run(1, down...)
	a.has(found, "left: azure "+azuretest.Subscription+": Microsoft.Compute/disks "+disk+"\n", "1 resources are left",
		"of somebody@else, not yours: Microsoft.Compute/disks "+disk+"-of-somebody",
		"nearfar.test/tests/stand: not known whether anything is left: nearfar knows no program")
	if strings.Contains(found.printed(), "another-run") {
		t.Errorf("down lists another run:\n%s", found.printed())
	}
	if left := a.cloud.Machines(); len(left) > 0 {
		t.Errorf("machines are left: %q", left)
	}
	if listed := a.must(0, "ls").printed(); !strings.Contains(listed, "stand") {
		t.Errorf("ls does not list what is left:\n%s", listed)
	}
	a.azure.Delete(disk)
	a.has(a.run(0, down...), "all is deleted, and the state is empty",
		"azure "+azuretest.Subscription+": nothing has the tag nearfar_run=stand")
	a.nothingLeft()

	// The record is gone. A group of the run counts with all that is in it, on as many pages as there are.
	a.azure.Put(subscription+"/resourceGroups/mine", tags)
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		a.azure.Put(subscription+"/resourceGroups/mine/providers/Microsoft.Network/networkInterfaces/"+name, nil)
	}
	a.azure.Pages(2)
	a.has(a.run(1, "down", "--audit", "--run", "stand", "--provider", "azure"), "6 resources are left",
		"networkInterfaces/e\n", "Microsoft.Resources/resourceGroups "+subscription)
	a.secretKept(found)
}

// secretKept checks that neither an output nor a file of nearfar has the password with which az logged in.
func (a *audited) secretKept(outputs ...*running) {
	a.t.Helper()
	for _, r := range outputs {
		if strings.Contains(r.printed()+r.said(), a.azure.Secret) {
			a.t.Errorf("nearfar prints a secret:\n%s\n%s", r.printed(), r.said())
		}
	}
	err := filepath.WalkDir(a.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), a.azure.Secret) {
			a.t.Errorf("%s has a secret", path)
		}
		return err
	})
	if err != nil {
		a.t.Error(err)
	}
}

// A provider that cannot be asked is named. It changes the exit code only if nothing else was asked for.
func TestAuditUnknown(t *testing.T) {
	t.Parallel()
	a := newAudited(t)
	a.run(0, "up", "--yes")
	const unknown = "azure: not known whether anything is left: "
	// Nobody has logged in.
	a.has(a.run(0, "down", "--provider", "azure", a.file), "all is deleted, and the state is empty",
		unknown+"az cannot ask: log in with: az login", "Look there for the tag nearfar_run=stand.",
		"Ask the providers again with: nearfar down --audit "+a.file)
	a.has(a.run(1, "down", "--audit", "--provider", "azure", a.file), unknown+"az cannot ask",
		"not everything could be asked")
	// There is no such program.
	a.further = nil
	if _, err := exec.LookPath("az"); err != nil {
		a.has(a.run(1, "down", "--audit", "--run", "stand", "--provider", "azure"), unknown+"az is not installed")
	}
	for _, wrong := range [][]string{
		{"down", "--audit"}, {"down", "--run", "stand"}, {"down", "--audit", "--run", "stand"},
		{"down", "--audit", "--check", a.file}, {"down", "--provider", "oracle", a.file},
		{"down", "--run", "stand", a.file}, {"down", "--check", "--provider", "azure"},
		{"down", "--audit", "--provider", "aws:--debug", a.file},
	} {
		a.must(2, wrong...)
	}
}
