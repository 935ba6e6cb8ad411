//go:build linux

package e2e

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/check"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/measure/deploy"
)

// A madeLab is a lab that is run as a whole: everything is made, measured and deleted.
type madeLab struct {
	lab, file string
	// place is the provider that the audit asks, with its region or project. machine is the kind of a resource that the
	// audit lists before down, and the beginning of its identifier.
	place, machine string
	// addresses writes what the cloud computes for a VM: ssh reaches it at public, and its own address is private. It
	// is nil if the hosts are pods.
	addresses func(vm, public, private string, values map[string]map[string]string)
	// check looks at what was made; nil if there is nothing more to check.
	check func(s *labStand, resources []madeResource)
	// real are the expectations that the stand-ins of the machines can really meet. No other one may be proved.
	real []string
}

// labsOfVMs are the labs whose hosts are VMs, each with one experiment file.
func labsOfVMs() []madeLab {
	return []madeLab{
		{
			lab: "azure-zones", file: "made.yaml", place: "azure",
			machine: "azurerm_linux_virtual_machine /azurerm_linux_virtual_machine/zone-client", addresses: azureAddresses,
		},
		{
			lab: "azure-ppg", file: "linux.yaml", place: "azure",
			machine: "azurerm_linux_virtual_machine /azurerm_linux_virtual_machine/neither-front", addresses: azureAddresses,
			check: (*labStand).checkPairs,
		},
		{
			lab: "gcp-compact-placement", file: "experiment.yaml", place: "google project",
			machine: "instances zones/europe-west4-a/instances/nearfar-gcp-compact-placement-compact-client",
			addresses: func(vm, public, private string, values map[string]map[string]string) {
				values["google_compute_instance.nearfar-gcp-compact-placement-"+vm] = map[string]string{
					"network_interface.0.access_config.0.nat_ip": public, "network_interface.0.network_ip": private,
				}
			},
		},
		{
			lab: "ec2-placement-group", file: "experiment.yaml", place: "aws eu-west-1",
			machine: "instance " + ec2Name("group-client"),
			addresses: func(vm, public, private string, values map[string]map[string]string) {
				values["aws_instance."+ec2Name(vm)] = map[string]string{"public_ip": public, "private_ip": private}
			},
			check: func(s *labStand, _ []madeResource) {
				s.aws().tagged("ec2-placement-group")
				checkEC2Lab(s.aws())
			},
			real: []string{check.ExpectMTU, check.ExpectDriver, check.ExpectFact},
		},
	}
}

// azureAddresses are the addresses that Azure gives to a VM of a lab (madeLab.addresses).
func azureAddresses(vm, public, private string, values map[string]map[string]string) {
	values["azurerm_public_ip."+vm] = map[string]string{"ip_address": public}
	values["azurerm_network_interface."+vm] = map[string]string{"private_ip_address": private}
}

// ec2Name is the name that the module of labs/ec2-placement-group gives to a machine.
func ec2Name(machine string) string {
	sum := sha256.Sum256([]byte(deploy.PodOwner() + " ec2-placement-group"))
	return fmt.Sprintf("nearfar-ec2-%x-%s", sum[:4], machine)
}

// TestLabsMade runs the labs whose hosts are VMs as a whole: plan, apply, a second plan, the hosts, a run, its answer,
// the deletion, and the audit before and after it. OpenTofu, the modules, ssh and the measurement are real. These are
// faked: the providers, which have the schemas of the real ones and make resources in a folder; az, aws and gcloud,
// which list that folder; and the VMs, which are network namespaces with a real sshd.
func TestLabsMade(t *testing.T) {
	t.Parallel()
	var pairs []sshPair
	for i := range 4 { // the most arms that a lab has
		path := []experiment.Element{{Kind: experiment.Bridge}}
		pairs = append(pairs, sshPair{armHost(i, "client"), armHost(i, "server"), path, experiment.PlacementSplit})
	}
	r := newSSHRig(t, pairs...)
	for _, l := range labsOfVMs() {
		t.Run(l.lab, func(t *testing.T) { // one after another: they share the hosts
			s := newLabStand(t, l.lab)
			values := map[string]map[string]string{}
			for i, arm := range s.read(l.file, nil).Arms {
				for side, vm := range map[string]string{"client": arm.Client, "server": arm.Server} {
					stand := r.hosts[armHost(i, side)]
					l.addresses(vm, stand.name, stand.data, values) // its name in ssh's configuration
				}
			}
			s.providers.Values(values)
			s.whole(l, func(args ...string) *exec.Cmd {
				cmd, _ := r.command(append(args, "--ssh-config", r.config)...)
				cmd.Dir, cmd.Env = s.dir, append(s.env(), cmd.Env[len(os.Environ())+1:]...) // HOME is the stand's
				return cmd
			})
		})
	}
}

// armHost is the host that stands in for a VM of the arm with this number.
func armHost(arm int, side string) string { return fmt.Sprintf("arm%d-%s", arm, side) }

// whole makes all of a lab, measures, and deletes it. command is nearfar where the hosts can be reached.
func (s *labStand) whole(l madeLab, command func(args ...string) *exec.Cmd) {
	s.t.Helper()
	s.listing()
	path := filepath.Join(s.lab, l.file)
	declared := s.read(l.file, nil)
	if plan := s.must(0, "up", "--dry-run", path).printed(); !strings.Contains(plan, "0 to change, 0 to delete") {
		s.t.Errorf("up --dry-run prints %q", plan)
	}
	s.must(0, "up", "--yes", path)
	if again := s.must(0, "up", path); !strings.Contains(again.said(), "Nothing to do") {
		s.t.Errorf("the second up says %q", again.said())
	}
	resources, hosts := s.made(declared.Name)
	if there := s.providers.Resources(); len(there) != len(resources) {
		s.t.Errorf("the cloud has %d resources, the state %d", len(there), len(resources))
	}
	s.checkTags(resources)
	s.checkHosts(l.file, declared, hosts)
	if l.check != nil {
		l.check(s, resources)
	}
	s.notProved(l, s.answer(l, command))
	left := s.must(1, "down", "--audit", path).printed()
	if want := fmt.Sprintf("left: %s: %s", l.place, l.machine); !strings.Contains(left, want) {
		s.t.Errorf("before down, the audit does not print %q:\n%s", want, left)
	}
	down := s.must(0, "down", path).printed()
	want := fmt.Sprintf("%s: nothing has the tag nearfar_run=%s", l.place, declared.Name)
	if !strings.Contains(down, want) || strings.Contains(down, "not known") {
		s.t.Errorf("down does not print %q:\n%s", want, down)
	}
	s.nothingLeft()
	noCanary(s.t, s.dir)
}

// trialLengths are the lengths of the trials of the native engine in one run after the other, until a run's answer has
// all figures. 200 ms suffice on a quiet machine. A median takes 20 round trips, and on a busy machine one of them can
// take longer than 10 ms: then the trial is good and has no median.
func trialLengths() []string { return []string{"200ms", "1s", "5s"} }

// answer runs the experiment, shortened, until the answer has a figure of each workload in each arm. If none has, it
// fails with all that is known of the runs.
func (s *labStand) answer(l madeLab, command func(args ...string) *exec.Cmd) answer.Answer {
	s.t.Helper()
	path := filepath.Join(s.lab, l.file)
	text, err := os.ReadFile(path)
	if err != nil {
		s.t.Fatal(err)
	}
	var attempts []string
	for _, length := range trialLengths() {
		if err := os.WriteFile(path, []byte(shortened(string(text), length)), 0o600); err != nil {
			s.t.Fatal(err)
		}
		run := startRunning(s.t, command("run", "--force", "-f", "json", path))
		code := run.wait()
		if run.printed() == "" {
			s.t.Fatalf("run: exit code %d without an answer\n%s", code, run.said())
		}
		a := answerOf(s.t, []byte(run.printed()), s.dir)
		lacking := lacks(s.read(l.file, nil), a)
		if len(lacking) == 0 && code == 4 { // no expectation about a cloud is proved
			return a
		}
		attempt := fmt.Sprintf("trials of %s: exit code %d; the answer lacks %q\n%s\nnearfar said:\n%s", length, code,
			lacking, told(trials(s.t, a)), run.said())
		s.t.Log(attempt)
		attempts = append(attempts, attempt)
	}
	s.t.Fatalf("no run has an answer with all figures and the exit code 4:\n%s", strings.Join(attempts, "\n"))
	return answer.Answer{}
}

// shortened is an experiment with one block and short trials. Only the native engine's and iperf3's remain: a trial of
// another tool takes seconds.
func shortened(text, length string) string {
	for _, change := range []struct{ pattern, with string }{
		{`(?m)^  - \{.*tool: (sockperf|latte|ping),.*\n`, ""},
		{`(tool: iperf3, duration: )\w+`, "${1}1s"},
		{`(tool: native,.* duration: )\w+`, "${1}" + length + ", warmup: 0"},
		{`blocks: \d+`, "blocks: 1"},
		// Pods of the default size would not fit beside those of another lab on the nodes of a test.
		{`(?m)^( +)image: \$\{TOOLS_IMAGE\}\n`, "${0}${1}resources: {}\n"},
		{`image: "\$\{TOOLS_IMAGE\}"\}`, `image: "$${TOOLS_IMAGE}", resources: {}}`},
	} {
		text = regexp.MustCompile(change.pattern).ReplaceAllString(text, change.with)
	}
	return text
}

// lacks lists the workloads of arms of which the answer has no figure.
func lacks(e *experiment.Experiment, a answer.Answer) (lacking []string) {
	for _, arm := range e.Arms {
		for _, w := range e.Workloads {
			if !slices.ContainsFunc(a.Arms, func(f figures.Figure) bool {
				return f.Arm == arm.Name && f.Workload == w.Name && f.Trials == e.TrialsOf(arm.Name)
			}) {
				lacking = append(lacking, w.Name+" of "+arm.Name)
			}
		}
	}
	return lacking
}

// told says of each trial why it failed, or how many transactions it made.
func told(all []result.Trial) string {
	var lines []string
	for _, t := range all {
		line := fmt.Sprintf("trial %d, %s %s", t.Trial, t.Arm, t.Workload)
		if t.Replaces > 0 {
			line += fmt.Sprintf(", replaces %d", t.Replaces)
		}
		switch rate, ok := t.Value(result.TransactionRate, ""); {
		case t.Error != "":
			line += ": " + t.Error
		case ok:
			line += fmt.Sprintf(": %.0f transactions in %.3f s", rate*t.DurationSeconds, t.DurationSeconds)
		default:
			line += fmt.Sprintf(": good, %.3f s", t.DurationSeconds)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// notProved checks that stand-ins do not seem to have what only machines of a cloud have.
func (s *labStand) notProved(l madeLab, a answer.Answer) {
	s.t.Helper()
	for _, p := range a.Proof {
		for _, x := range p.Expectations {
			if x.Outcome == check.Proved && !slices.Contains(l.real, x.Name) {
				s.t.Errorf("%s of %s is proved by hosts that are in no cloud: %s", x.Name, p.Arm, x.Evidence)
			}
		}
		if p.Outcome == check.Proved {
			s.t.Errorf("all that %s expects is proved", p.Arm)
		}
	}
	if len(a.Proof) == 0 {
		s.t.Error("the answer has no proofs")
	}
}
