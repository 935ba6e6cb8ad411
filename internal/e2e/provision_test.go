//go:build linux

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"nearfar/internal/cloud/provision"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/kits/tofutest"
)

// Machines are made, measured and deleted. Each machine of the cloud is a host with a real sshd.
func TestProvisionedMachines(t *testing.T) {
	t.Parallel()
	path := []experiment.Element{{Kind: experiment.Bridge}}
	r := newSSHRig(t, sshPair{"vm-a", "vm-b", path, experiment.PlacementSplit})
	s := newStandIn(t, r.dir, "")
	s.cloud.Hosts(r.machines())
	start := func(args ...string) *running {
		t.Helper()
		cmd, _ := r.command(args...)
		cmd.Env = append(s.env(), cmd.Env[len(os.Environ()):]...)
		return startRunning(t, cmd)
	}
	command := func(code int, args ...string) *running {
		t.Helper()
		started := start(args...)
		if got := started.wait(); got != code {
			t.Fatalf("nearfar %s: exit code %d, want %d\n%s\n%s", args, got, code, started.printed(), started.said())
		}
		return started
	}
	refused := command(1, "run", s.file)
	want := "its machines are not up; make them with: nearfar up " + s.file
	if !strings.Contains(refused.said(), want) {
		t.Errorf("run says %q, want %q", refused.said(), want)
	}
	command(0, "up", "--yes", s.file)
	if got := len(s.cloud.Machines()); got != 2 {
		t.Errorf("%d machines, want 2", got)
	}
	var answer struct {
		Arms []struct{ Arm string }
	}
	measured := command(0, "run", "--force", "--ssh-config", r.config, "-f", "json", s.file)
	if err := json.Unmarshal([]byte(measured.printed()), &answer); err != nil || len(answer.Arms) == 0 {
		t.Errorf("the answer (%v): %s", err, measured.printed())
	}
	var listed struct {
		Machines []struct {
			Name, State, File string
			Since, Until      time.Time
			Resources         int
			Overdue           bool
		}
	}
	if err := json.Unmarshal([]byte(command(0, "ls", "-f", "json").printed()), &listed); err != nil {
		t.Fatal(err)
	}
	if len(listed.Machines) != 1 {
		t.Fatalf("listed are %+v", listed)
	}
	m := listed.Machines[0]
	if m.Name != "stand" || m.State != "up" || m.File != s.file || m.Resources != 2 || m.Overdue ||
		m.Until.Sub(m.Since) != 2*time.Hour {
		t.Errorf("listed is %+v", m)
	}
	if out := command(1, "down", "--check", s.file).printed(); strings.Count(out, "left: stand_machine.vm[") != 2 {
		t.Errorf("down --check prints %q", out)
	}
	command(0, "down", s.file)
	s.nothingLeft()

	r.setControl("vm-b", false) // a machine that has just been made does not answer at once
	whole := start("run", "--up", "--down", "--yes", "--force", "--ssh-config", r.config, "-f", "json", s.file)
	whole.says("the machines were just made, and not all answer yet")
	r.setControl("vm-b", true)
	if code := whole.wait(); code != 0 || !json.Valid([]byte(whole.printed())) {
		t.Errorf("run --up --down: exit code %d\n%s\n%s", code, whole.printed(), whole.said())
	}
	s.nothingLeft()
	if runs := glob(t, filepath.Join(r.dir, "runs", "*", "run.json")); len(runs) != 2 {
		t.Errorf("%d runs, want 2", len(runs))
	}
	noCanary(t, r.dir)
}

// A new machine answers before its system has installed the tools: run --up waits for them, and does not delete the
// machines because one is missing.
func TestNewMachinesGetTheirTools(t *testing.T) {
	t.Parallel()
	path := []experiment.Element{{Kind: experiment.Bridge}}
	r := newSSHRig(t, sshPair{"vm-a", "vm-b", path, experiment.PlacementSplit})
	s := newStandIn(t, r.dir, "")
	s.cloud.Hosts(r.machines())
	later := filepath.Join(t.TempDir(), "sockperf")
	change(t, filepath.Join(r.dir, "tofu", "main.tf"), "port = null", fmt.Sprintf("tools = { sockperf = %q }", later))
	change(t, s.file, "tool: native", "tool: sockperf, mode: rr, protocol: tcp, request: 64B")
	change(t, s.file, "duration: 200ms, warmup: 0", "duration: 1s")
	cmd, _ := r.command("run", "--up", "--down", "--yes", "--force", "--ssh-config", r.config, "-f", "json", s.file)
	cmd.Env = append(s.env(), cmd.Env[len(os.Environ()):]...)
	run := startRunning(t, cmd)
	run.says("the machines were just made, and are not ready yet: programs are missing")
	installed, err := exec.LookPath("sockperf")
	if err == nil {
		err = os.Symlink(installed, later)
	}
	if err != nil {
		t.Fatal(err)
	}
	if code := run.wait(); code != 0 || !json.Valid([]byte(run.printed())) {
		t.Errorf("run --up --down: exit code %d\n%s\n%s", code, run.printed(), run.said())
	}
	s.nothingLeft()
}

// change replaces a text in a file.
func change(t *testing.T, file, old, with string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(text), old) {
		t.Fatalf("%s has no %q (%v)", file, old, err)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), old, with, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// noCanary checks that no file below a folder has the value of the secret variable, apart from OpenTofu's own state.
func noCanary(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || strings.HasPrefix(entry.Name(), "terraform.tfstate") {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(tokenCanary)) {
			t.Errorf("%s has the value of a secret variable", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// The second up changes nothing. Tags say whose the machines are, and until when they are meant to exist.
func TestProvisionIsRepeatable(t *testing.T) {
	t.Parallel()
	s := newStand(t, "")
	if out := s.must(0, "up", "--dry-run").printed(); !strings.Contains(out, "2 to make, 0 to change, 0 to delete") {
		t.Errorf("up --dry-run prints %q", out)
	}
	if refused := s.must(2, "up"); !strings.Contains(refused.said(), "give --yes") || len(s.cloud.Machines()) > 0 {
		t.Errorf("up without --yes says %q, and made %q", refused.said(), s.cloud.Machines())
	}
	s.must(0, "up", "--yes")
	before := glob(t, filepath.Join(s.cloud.Folder, "machines", "*"))
	again := s.must(0, "up")
	if !strings.Contains(again.said(), "Nothing to do") {
		t.Errorf("the second up says %q", again.said())
	}
	if after := glob(t, filepath.Join(s.cloud.Folder, "machines", "*")); !slices.Equal(before, after) {
		t.Errorf("the second up made %q from %q", after, before)
	}
	for _, file := range before {
		tags := s.cloud.Machine(file).Tags
		expires, err := time.Parse(time.RFC3339, tags["expires"])
		if err != nil || time.Until(expires) > 2*time.Hour || tags["run"] != "stand" ||
			!strings.Contains(tags["owner"], "@") {
			t.Errorf("%s has tags %q (%v)", file, tags, err)
		}
	}
	s.must(0, "down", s.file)
	s.nothingLeft()
	if out := s.must(0, "down", s.file).printed(); !strings.Contains(out, "nothing was made") {
		t.Errorf("the second down prints %q", out)
	}
}

// The messages of providers for lack of capacity and quota, as they write them.
func capacityMessages() map[string]string {
	return map[string]string{
		"OverconstrainedAllocationRequest": "Code=\"OverconstrainedAllocationRequest\" " +
			"Message=\"Allocation failed. VM(s) with the following constraints cannot be allocated\"",
		"AllocationFailed":      "Code=\"AllocationFailed\" Message=\"Allocation failed.\"",
		"ZonalAllocationFailed": "ZonalAllocationFailed: Allocation failed. We do not have sufficient capacity",
		"SkuNotAvailable":       "SkuNotAvailable: The requested VM size is currently not available",
		"InsufficientInstanceCapacity": "api error InsufficientInstanceCapacity: We currently do not have sufficient " +
			"c5.large capacity in the Availability Zone you requested",
		"ZONE_RESOURCE_POOL_EXHAUSTED": "The zone does not have enough resources: ZONE_RESOURCE_POOL_EXHAUSTED",
		"VcpuLimitExceeded":            "api error VcpuLimitExceeded: You have requested more vCPU capacity",
		"QuotaExceeded":                "Operation could not be completed: QuotaExceeded",
	}
}

// What a provider refuses for lack of capacity is explained, and tried again as the file says. Each zone of the cloud
// but the last refuses, and each with another code.
func TestProvisionCapacity(t *testing.T) {
	t.Parallel()
	messages := capacityMessages()
	codes := slices.Sorted(maps.Keys(messages))
	refusals := make([]tofutest.Refusal, len(codes))
	retry := []string{"{size: large}"} // in the first zone
	want := []string{"[] " + codes[0] + " false", "[size=large] " + codes[0] + " false"}
	for i, code := range codes {
		refusals[i] = tofutest.Refusal{Message: messages[code], Zone: strconv.Itoa(i + 1)}
		zone, refused, done := i+2, "", true
		if i+1 < len(codes) {
			refused, done = codes[i+1], false
		}
		retry = append(retry, fmt.Sprintf("{size: large, zone: \"%d\"}", zone))
		want = append(want, fmt.Sprintf("[size=large zone=%d] %s %v", zone, refused, done))
	}
	s := newStand(t, fmt.Sprintf("retry: {variables: [%s], wait: 100ms, attempts: %d}", strings.Join(retry, ", "),
		len(want)))
	s.cloud.Refuse(refusals...)
	made := s.must(0, "up", "--yes")
	says := []string{"next attempt with size=large\n", "next attempt with size=large zone=2"}
	for _, code := range codes {
		says = append(says, "refused: "+code+" for stand_machine.vm[")
	}
	for _, text := range says {
		if !strings.Contains(made.said(), text) {
			t.Errorf("up does not say %q:\n%s", text, made.said())
		}
	}
	var tried []string
	for _, a := range s.record().Attempts {
		tried = append(tried, fmt.Sprintf("%v %s %v", a.Variables, a.Refused, a.Done))
	}
	if !slices.Equal(tried, want) {
		t.Errorf("recorded are %q, want %q", tried, want)
	}
	for _, file := range glob(t, filepath.Join(s.cloud.Folder, "machines", "*")) {
		if m := s.cloud.Machine(file); m.Size != "large" || m.Zone != strconv.Itoa(len(codes)+1) {
			t.Errorf("made was %+v", m)
		}
	}
	if again := s.must(0, "up"); !strings.Contains(again.said(), "Nothing to do") {
		t.Errorf("the second up says %q", again.said())
	}
	s.must(0, "down", s.file)
	s.nothingLeft()
}

// Attempts end, and nothing is left of them.
func TestProvisionGivesUp(t *testing.T) {
	t.Parallel()
	s := newStand(t, `retry: {variables: [{size: large}], wait: 100ms, attempts: 3}`)
	s.cloud.Refuse(tofutest.Refusal{Message: "AllocationFailed"})
	said := s.must(1, "up", "--yes", "--on-failure", "destroy").said()
	for _, want := range []string{
		"Tried:", "with the file's variables: AllocationFailed", "with size=large: AllocationFailed",
		"next attempt in 100ms",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("up does not say %q:\n%s", want, said)
		}
	}
	s.nothingLeft()

	s = newStand(t, "", "other")
	s.cloud.Refuse(tofutest.Refusal{Message: "no such image"})
	said = s.must(1, "up", "--yes").said()
	if strings.Contains(said, "Tried") || !strings.Contains(said, "no such image") {
		t.Errorf("up says %q", said)
	}
	s.nothingLeft()
}

// Two nearfar do not work on the same machines.
func TestProvisionIsLocked(t *testing.T) {
	t.Parallel()
	s := newStand(t, "")
	s.cloud.Hold(4)
	first := s.start("up", "--yes")
	s.reached(4, first)
	for _, args := range [][]string{{"up", "--yes"}, {"down", s.file}} {
		if said := s.must(1, args...).said(); !strings.Contains(said, "another nearfar is at work on these machines") {
			t.Errorf("%s says %q", args, said)
		}
	}
	s.cloud.Release()
	if code := first.wait(); code != 0 {
		t.Errorf("the first up: exit code %d\n%s", code, first.said())
	}
	s.must(0, "down", s.file)
	s.nothingLeft()
}

// Secrets are in no argument, in no file that nearfar writes and in no output, also while it works.
func TestProvisionKeepsSecrets(t *testing.T) {
	t.Parallel()
	s := newStand(t, "")
	s.cloud.Hold(4)
	up := s.start("up", "--yes")
	s.reached(4, up)
	lines := 0
	for _, p := range marked(t, "XDG_STATE_HOME="+s.stateHome()) {
		lines++
		if strings.Contains(p.line, tokenCanary) {
			t.Errorf("an argument has the value of a secret variable: %q", p.line)
		}
	}
	if lines < 3 {
		t.Errorf("%d processes seen, want nearfar, OpenTofu and the provider", lines)
	}
	s.cloud.Release()
	up.wait()
	noCanary(t, s.dir)
	down := s.must(0, "down", s.file)
	for _, text := range []string{up.said(), up.printed(), down.said(), down.printed()} {
		if strings.Contains(text, tokenCanary) {
			t.Errorf("an output has the value of a secret variable: %s", text)
		}
	}
	noCanary(t, s.dir)
}

// Variables that the module does not declare, and hosts that it does not give, are mistakes.
func TestProvisionRefusesWrongModules(t *testing.T) {
	t.Parallel()
	s := newStand(t, "")
	text, err := os.ReadFile(s.file)
	if err != nil {
		t.Fatal(err)
	}
	write(t, s.dir, strings.Replace(string(text), "variables: {", "variables: {colour: red, ", 1))
	if said := s.must(1, "up", "--yes").said(); !strings.Contains(said, "declares no variable colour") {
		t.Errorf("up says %q", said)
	}
	s.nothingLeftButFolder()
	other := strings.NewReplacer("vm-b: {prov", "vm-x: {prov", "server: vm-b", "server: vm-x")
	write(t, s.dir, other.Replace(string(text)))
	said := s.must(1, "up", "--yes", "--on-failure", "destroy").said()
	if !strings.Contains(said, "has no host vm-x, which the file declares as provisioned") {
		t.Errorf("up says %q", said)
	}
	s.nothingLeft()
}

// nothingLeftButFolder checks that nothing was made.
func (s *stand) nothingLeftButFolder() {
	s.t.Helper()
	if left := s.cloud.Machines(); len(left) > 0 {
		s.t.Errorf("machines are left: %q", left)
	}
	if got := s.must(0, "ls").printed(); got != "Nothing is up.\n" {
		s.t.Errorf("ls prints %q", got)
	}
}

// killMachines are machines besides two others: five make ten steps when they are deleted.
func killMachines() []string { return []string{"vm-c", "vm-d", "vm-e"} }

// A moment is a step of the provider at which nearfar gets a signal. If the signal is an interrupt, --on-failure
// destroy can be given.
type moment struct {
	step     int
	signal   syscall.Signal
	destroys bool
}

// moments are the moments of all steps from first to last, with a signal.
func moments(signal syscall.Signal, destroys bool, first, last, by int) (all []moment) {
	for step := first; step <= last; step += by {
		all = append(all, moment{step, signal, destroys})
	}
	return all
}

func (m moment) String() string {
	return fmt.Sprintf("%v at %d, destroys %v", m.signal, m.step, m.destroys)
}

// up are the arguments of an up that is struck at this moment.
func (m moment) up() []string {
	args := []string{"up", "--yes"}
	if m.destroys {
		args = append(args, "--on-failure", "destroy")
	}
	return args
}

// strike sends a signal to an up or a down at a step of the cloud. The cloud holds that step and continues after the
// signal. It checks how nearfar ends, and that another down then leaves nothing.
func (s *stand) strike(r *running, at moment) {
	s.t.Helper()
	s.reached(at.step, r)
	r.signal(at.signal)
	if at.signal == syscall.SIGINT {
		r.says("was asked to end")
		s.cloud.Release()
		if code := r.wait(); code != 130 {
			s.t.Errorf("exit code %d after an interrupt\n%s", code, r.said())
		}
		if at.destroys {
			s.nothingLeftButFolder()
		}
		s.must(0, "down", s.file)
	} else {
		r.wait()
		s.downBeside()
	}
	s.nothingLeft()
}

// However up ends, down leaves nothing. The provider is held at a step; it goes on after the signal.
func TestProvisionUpKilled(t *testing.T) {
	t.Parallel()
	random := killRandom(t)
	// 5 plans, and then for each machine a plan, a begin and an end.
	chosen := slices.Concat(
		someMoments(random, 2, moments(syscall.SIGKILL, false, 2, 20, 2)),
		someMoments(random, 1, moments(syscall.SIGINT, false, 2, 20, 4)),
		someMoments(random, 1, moments(syscall.SIGINT, true, 4, 20, 4)))
	for _, at := range chosen {
		t.Run(at.String(), func(t *testing.T) {
			t.Parallel()
			s := newStand(t, "", killMachines()...)
			s.cloud.Hold(at.step)
			s.strike(s.start(at.up()...), at)
		})
	}
}

// However down ends, another down leaves nothing.
func TestProvisionDownKilled(t *testing.T) {
	t.Parallel()
	random := killRandom(t)
	// For each machine a begin and an end.
	chosen := slices.Concat(
		someMoments(random, 2, moments(syscall.SIGKILL, false, 1, 10, 1)),
		someMoments(random, 1, moments(syscall.SIGINT, false, 1, 10, 1)))
	for _, at := range chosen {
		t.Run(at.String(), func(t *testing.T) {
			t.Parallel()
			s := newStand(t, "", killMachines()...)
			s.must(0, "up", "--yes")
			s.cloud.Hold(at.step)
			s.strike(s.start("down", s.file), at)
		})
	}
}

// downBeside runs down while OpenTofu of a killed nearfar is still at work.
func (s *stand) downBeside() {
	s.t.Helper()
	down := s.start("down", s.file)
	down.says("waiting for its end")
	s.cloud.Release()
	if code := down.wait(); code != 0 {
		s.t.Fatalf("down after a kill: exit code %d\n%s\n%s", code, down.printed(), down.said())
	}
}

// record reads nearfar's record.
func (s *stand) record() (r provision.Record) {
	s.t.Helper()
	data, err := os.ReadFile(filepath.Join(s.dir, ".nearfar", "stand", "record.json"))
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}
