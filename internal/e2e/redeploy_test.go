//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/declare/rundir"
	"nearfar/internal/kits/tofutest"
	"nearfar/internal/measure/deploy"
)

// redeployedModule has a network, which stays, and machines in a group. A machine gets a new boot id when it is made:
// the module writes it into the file that is the boot id of the host with the sshd.
const redeployedModule = `terraform {
  required_providers {
    stand = { source = "nearfar.test/tests/stand" }
  }
}
variable "cloud" { type = string }
variable "size" {
  type    = string
  default = "small"
}
variable "boots" { type = string }
provider "stand" {
  cloud = var.cloud
}
resource "terraform_data" "network" {}
resource "terraform_data" "rack" {}
resource "stand_machine" "group" {
  name = "group"
  size = "group"
}
resource "stand_machine" "vm" {
  for_each = toset(["vm-a", "vm-b"])
  name     = each.key
  size     = var.size
  zone     = stand_machine.group.id
  tags     = { network = terraform_data.network.id }
}
resource "terraform_data" "boot" {
  for_each         = stand_machine.vm
  triggers_replace = each.value.id
  provisioner "local-exec" {
    command = "echo ${uuidv5("oid", each.value.id)} > ${var.boots}/boot-${each.key}"
  }
}
output "hosts" {
  value      = { for name, vm in stand_machine.vm : name => { ssh = vm.ssh, address = vm.address } }
  depends_on = [terraform_data.boot]
}
`

const redeployedText = `nearfar: v1
name: stand
hosts: {vm-a: {provisioned: true}, vm-b: {provisioned: true}}
provision:
  tofu: ./tofu
  variables: {cloud: "${CLOUD}", boots: "${BOOTS}"}
  replace: [REPLACE]
  retry: {variables: [{size: large}], wait: 100ms}
arms:
  there: {client: vm-a, server: vm-b, layers: {}}
  back: {client: vm-b, server: vm-a, layers: {}}
workloads: [{name: rr, tool: native, duration: 100ms, warmup: 0}]
schedule: {blocks: 4, deployments: 3, seed: 3}
`

// A redeployed is an experiment whose machines are made anew, with hosts that have an sshd.
type redeployed struct {
	*stand
	rig *sshRig
}

func newRedeployed(t *testing.T, replace string) *redeployed {
	t.Helper()
	path := []experiment.Element{{Kind: experiment.Bridge}}
	r := newSSHRig(t, sshPair{"vm-a", "vm-b", path, experiment.PlacementSplit})
	for name, h := range r.hosts {
		r.save("boot-"+name, "not made yet")
		r.must(h.sshd.Process.Kill())
		<-h.ended
		r.serve(h)
	}
	s := &stand{t: t, cloud: tofutest.NewCloud(t), dir: r.dir}
	s.cloud.Hosts(r.machines())
	r.must(os.Mkdir(filepath.Join(r.dir, "tofu"), 0o755))
	r.must(os.WriteFile(filepath.Join(r.dir, "tofu", "main.tf"), []byte(redeployedModule), 0o644))
	s.file = write(t, r.dir, strings.Replace(redeployedText, "REPLACE", replace, 1))
	return &redeployed{s, r}
}

// begin starts nearfar on the rig.
func (r *redeployed) begin(args ...string) *running {
	r.t.Helper()
	cmd, _ := r.rig.command(args...)
	cmd.Env = append(append(r.env(), cmd.Env[len(os.Environ()):]...), "BOOTS="+r.dir)
	return startRunning(r.t, cmd)
}

// command runs nearfar on the rig. The exit code must be as given.
func (r *redeployed) command(code int, args ...string) *running {
	r.t.Helper()
	started := r.begin(args...)
	if got := started.wait(); got != code {
		r.t.Fatalf("nearfar %s: exit code %d, want %d\n%s\n%s", args, got, code, started.printed(), started.said())
	}
	return started
}

// measuring are the arguments of a run.
func (r *redeployed) measuring(further ...string) []string {
	return append([]string{
		"run", "--force", "--progress", "plain", "-f", "json", "--ssh-config", r.rig.config,
	}, further...)
}

// answered reads the answer that a run printed.
func (r *redeployed) answered(by *running) (a answer.Answer) {
	r.t.Helper()
	if err := json.Unmarshal([]byte(by.printed()), &a); err != nil {
		r.t.Fatalf("%v: %s\n%s", err, by.printed(), by.said())
	}
	return a
}

// measured reads the only run: its trials, and its machines.
func (r *redeployed) measured() (path string, trials []result.Trial, machines []deploy.MadeMachines) {
	r.t.Helper()
	dir, err := rundir.Open(onlyRun(r.t, r.dir))
	r.rig.must(err)
	trials, err = dir.Trials()
	r.rig.must(err)
	var record deploy.Record
	r.rig.must(json.Unmarshal(dir.Manifest().Hosts, &record))
	return dir.Path, trials, record.Deployments
}

// network is the identity of the resource that is not made anew.
func (r *redeployed) network() string {
	r.t.Helper()
	data, err := os.ReadFile(filepath.Join(r.dir, ".nearfar", "stand", "terraform.tfstate"))
	r.rig.must(err)
	var state struct {
		Resources []struct {
			Name      string
			Instances []struct{ Attributes struct{ ID string } }
		}
	}
	r.rig.must(json.Unmarshal(data, &state))
	for _, one := range state.Resources {
		if one.Name == "network" && len(one.Instances) == 1 {
			return one.Instances[0].Attributes.ID
		}
	}
	r.t.Fatalf("the state has no network: %s", data)
	return ""
}

// numbersOf counts the trials of each deployment.
func numbersOf(trials []result.Trial) string {
	count := map[int]int{}
	for _, t := range trials {
		count[t.Deployment]++
	}
	var all []string
	for _, n := range slices.Sorted(maps.Keys(count)) {
		all = append(all, fmt.Sprintf("%d:%d", n, count[n]))
	}
	return strings.Join(all, " ")
}

// otherMachines checks that each deployment has machines of its own.
func (r *redeployed) otherMachines(machines []deploy.MadeMachines, deployments ...int) {
	r.t.Helper()
	var numbers []int
	seen := map[string]bool{}
	for _, d := range machines {
		numbers = append(numbers, d.Deployment)
		for name, id := range d.Machines {
			if id.Boot == "" || seen[id.Boot] {
				r.t.Errorf("deployment %d: %s is %+v, which is known or empty", d.Deployment, name, id)
			}
			seen[id.Boot] = true
		}
	}
	if !slices.Equal(numbers, deployments) || len(seen) != 2*len(deployments) {
		r.t.Errorf("deployments %v with %d machines, want %v", numbers, len(seen), deployments)
	}
}

// warns says whether an answer has a warning.
func warns(a answer.Answer, code string) bool {
	return slices.ContainsFunc(a.Warnings, func(w answer.Warning) bool { return w.Code == code })
}

// Between deployments, the group and its machines are deleted and then made again, and the network stays.
func TestMachinesAreMadeAnewForDeployments(t *testing.T) {
	t.Parallel()
	r := newRedeployed(t, "stand_machine.group")
	r.command(0, "up", "--yes", r.file)
	network := r.network()
	refused := r.command(2, r.measuring(r.file)...)
	if !strings.Contains(refused.said(), "give --yes") {
		t.Errorf("run without --yes says %q", refused.said())
	}
	r.command(2, "run", "--yes", "--on-failure", "keep", r.file)
	r.cloud.Hold(1000) // steps count from here; there are not so many
	done := r.command(0, r.measuring("--yes", r.file)...)
	for _, want := range []string{
		"Between the 3 deployments", "  stand_machine.group\n", "  stand_machine.vm[\"vm-a\"]\n",
		"  terraform_data.boot[\"vm-b\"]\n", "Other resources that stay: 2.",
	} {
		if !strings.Contains(done.said(), want) {
			t.Errorf("run does not say %q:\n%s", want, done.said())
		}
	}
	steps := slices.DeleteFunc(r.cloud.Steps(), func(s string) bool { return strings.HasPrefix(s, "plan") })
	if len(steps) != 24 {
		t.Fatalf("%d steps, want 24: %q", len(steps), steps)
	}
	for i, step := range steps {
		if deletes := strings.HasPrefix(step, "delete"); deletes != (i%12 < 6) {
			t.Errorf("step %d is %q: everything is deleted before anything is made: %q", i, step, steps)
		}
	}
	if now := r.network(); now != network {
		t.Errorf("the network was %s and is %s", network, now)
	}
	_, trials, machines := r.measured()
	if got := numbersOf(trials); got != "1:8 2:8 3:8" {
		t.Errorf("trials of deployments: %s", got)
	}
	r.otherMachines(machines, 1, 2, 3)
	a := r.answered(done)
	c := a.Comparisons[0]
	if c.About != figures.AboutConfiguration || c.Deployments == nil || c.Deployments.Used != 3 {
		t.Errorf("the comparison is about %s: %+v", c.About, c.Deployments)
	}
	for _, code := range []string{"same-machines", "machines-unknown", "deployments-made-differently"} {
		if warns(a, code) {
			t.Errorf("the answer warns of %s: %+v", code, a.Warnings)
		}
	}
	r.command(0, "down", r.file)
	r.nothingLeft()
}

// A file that makes only other things anew repeats the draw of its machines, and the answer says so.
func TestRedeploymentThatIsNone(t *testing.T) {
	t.Parallel()
	r := newRedeployed(t, "terraform_data.rack")
	r.command(0, "up", "--yes", r.file)
	done := r.command(0, r.measuring("--yes", r.file)...)
	if a := r.answered(done); !warns(a, "same-machines") {
		t.Errorf("the answer does not warn: %+v", a.Warnings)
	}
	r.command(0, "down", r.file)
	r.nothingLeft()

	write(t, r.dir, strings.Replace(redeployedText, "REPLACE", "stand_machine.vn", 1))
	r.command(0, "up", "--yes", r.file)
	refused := r.command(1, r.measuring("--yes", r.file)...)
	if !strings.Contains(refused.said(), "stand_machine.vn is no resource of the module") {
		t.Errorf("run says %q", refused.said())
	}
	r.command(0, "down", r.file)
	r.nothingLeft()
}

// A refused redeployment is tried again as the file says, from the deletion on. If all attempts are refused, the run
// ends with the answer to the trials so far, and can be resumed.
func TestRedeploymentIsRefused(t *testing.T) {
	t.Parallel()
	r := newRedeployed(t, "stand_machine")
	r.command(0, "up", "--yes", r.file)
	r.cloud.Refuse(tofutest.Refusal{Size: "small", Message: "AllocationFailed"},
		tofutest.Refusal{Size: "large", Message: "ZonalAllocationFailed"})
	failed := r.command(1, r.measuring("--yes", r.file)...)
	for _, want := range []string{
		"refused: AllocationFailed", "next attempt with size=large", "the hosts of deployment 2 cannot be made",
		"ZonalAllocationFailed", "continue with: nearfar run --resume", "delete it with: nearfar down",
	} {
		if !strings.Contains(failed.said(), want) {
			t.Errorf("run does not say %q:\n%s", want, failed.said())
		}
	}
	if a := r.answered(failed); a.Trials != 8 || !warns(a, "incomplete") {
		t.Errorf("the answer has %d trials: %+v", a.Trials, a.Warnings)
	}
	r.cloud.Refuse(tofutest.Refusal{Size: "small", Message: "AllocationFailed"})
	path, _, _ := r.measured()
	done := r.command(0, r.measuring("--yes", "--resume", path)...)
	_, trials, machines := r.measured()
	if got := numbersOf(trials); got != "1:8 2:8 3:8" {
		t.Errorf("trials of deployments: %s", got)
	}
	r.otherMachines(machines, 1, 2, 3)
	if with := machines[1].Variables; !slices.Equal(with, []string{"size=large"}) {
		t.Errorf("deployment 2 was made with %q", with)
	}
	if a := r.answered(done); !warns(a, "deployments-made-differently") {
		t.Errorf("the answer does not warn: %+v", a.Warnings)
	}
	r.command(0, "down", r.file)
	r.nothingLeft()
}

// A run that was interrupted in a redeployment resumes with machines that it makes. A run that was interrupted in a
// deployment resumes with the existing machines.
func TestRedeploymentIsInterrupted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		signal syscall.Signal
		step   int    // of the provider, 0 for a trial; it plans 3 resources for the question and 3 for the deletion
		want   string // trials of deployments
		code   int
	}{
		{"interrupt before the first deletion ends", syscall.SIGINT, 7, "1:8 2:8 3:8", 130},
		{"kill while machines are made", syscall.SIGKILL, 20, "1:8 2:8 3:8", -1},
		{"interrupt in a deployment", syscall.SIGINT, 0, "1:8 2:8 3:8", 130},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRedeployed(t, "stand_machine")
			r.command(0, "up", "--yes", r.file)
			if c.step > 0 {
				r.cloud.Hold(c.step)
			}
			run := r.begin(r.measuring("--yes", r.file)...)
			if c.step > 0 {
				r.reached(c.step, run)
			} else {
				run.says("deployment 2/3, block 6/12")
			}
			run.signal(c.signal)
			if c.step > 0 && c.signal == syscall.SIGINT {
				run.says("was asked to end")
				r.cloud.Release()
			}
			if got := run.wait(); got != c.code {
				t.Errorf("exit code %d, want %d\n%s", got, c.code, run.said())
			}
			path, _, _ := r.measured()
			resumed := r.begin(r.measuring("--yes", "--resume", path)...)
			if c.step > 0 && c.signal == syscall.SIGKILL {
				resumed.says("waiting for its end")
				r.cloud.Release()
			}
			if got := resumed.wait(); got != 0 {
				t.Fatalf("resume: exit code %d\n%s\n%s", got, resumed.printed(), resumed.said())
			}
			_, trials, machines := r.measured()
			if got := numbersOf(trials); got != c.want {
				t.Errorf("trials of deployments: %s, want %s", got, c.want)
			}
			r.otherMachines(machines, 1, 2, 3)
			if a := r.answered(resumed); warns(a, "same-machines") || a.Comparisons[0].Deployments.Used != 3 {
				t.Errorf("%+v", a.Warnings)
			}
			r.command(0, "down", r.file)
			r.nothingLeft()
		})
	}
}
