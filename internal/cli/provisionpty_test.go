//go:build linux

package cli

import (
	"os"
	"path/filepath"
	"testing"

	"nearfar/internal/kits/tofutest"
)

// askFile is an experiment on a machine that the module below makes.
const askFile = `nearfar: v1
name: ask
hosts: {vm: {provisioned: true}}
provision: {tofu: ., variables: {cloud: "${CLOUD}"}}
arms: {one: {client: vm, server: vm}}
workloads: [{name: rr, tool: native}]
`

const askModule = `terraform {
  required_providers {
    stand = { source = "nearfar.test/tests/stand" }
  }
}
variable "cloud" { type = string }
provider "stand" { cloud = var.cloud }
resource "stand_machine" "vm" { name = "vm" }
output "hosts" { value = { vm = { ssh = stand_machine.vm.ssh } } }
`

// On a terminal, up asks before it makes anything. After an interrupt it asks what to do with the machines that were
// made.
func TestUpAsks(t *testing.T) {
	t.Parallel()
	cloud := tofutest.NewCloud(t)
	dir := t.TempDir()
	for name, text := range map[string]string{"experiment.yaml": askFile, "main.tf": askModule} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := append(cloud.Env(), "CLOUD="+cloud.Folder, "XDG_STATE_HOME="+filepath.Join(dir, "state"))
	const question, deletes = "Make this? [y/N] ", "Delete what was made? [Y/n] "

	p := newPTY(t, 120, 30)
	up := p.start(dir, nil, env, "up")
	at := p.await(question, 0)
	p.press("\n")
	p.await("nothing was made", at)
	if code := p.exit(up); code != exitFailed || len(cloud.Machines()) > 0 {
		t.Errorf("exit code %d, machines %q", code, cloud.Machines())
	}

	for answer, machines := range map[string]int{"n\n": 1, "\n": 0} {
		p = newPTY(t, 120, 30)
		cloud.Hold(4) // two plans, the begin and the end of the creation
		up = p.start(dir, nil, env, "up")
		at = p.await(question, 0)
		p.press("y\n")
		p.until("the machine was not made", func(string) bool { return len(cloud.Steps()) >= 4 })
		p.press("\x03")
		at = p.await("was asked to end", at)
		cloud.Release()
		at = p.await(deletes, at)
		p.press(answer)
		if code := p.exit(up); code != exitInterrupted || len(cloud.Machines()) != machines {
			t.Errorf("%q: exit code %d, machines %q\n%s", answer, code, cloud.Machines(), p.text()[at:])
		}
		p = newPTY(t, 120, 30)
		down := p.start(dir, nil, env, "down", "experiment.yaml")
		if code := p.exit(down); code != exitDone || len(cloud.Machines()) > 0 {
			t.Errorf("down: exit code %d, machines %q\n%s", code, cloud.Machines(), p.text())
		}
	}
}
