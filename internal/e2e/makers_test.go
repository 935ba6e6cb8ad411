//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/kits/tofutest"
)

// makers are the keys of the file for scripts and for an app of the AWS CDK.
func makers() []string { return []string{"az", "cdk"} }

// newMaker makes an experiment with machines of these names, besides vm-a and vm-b, which scripts make or an app. The
// scripts, cdk and aws are stand-ins in testdata/makers.
func newMaker(t *testing.T, maker, retry string, further ...string) *stand {
	t.Helper()
	return newMakerIn(t, workspace(t), maker, retry, further...)
}

func newMakerIn(t *testing.T, dir, maker, retry string, further ...string) *stand {
	t.Helper()
	s := &stand{t: t, cloud: tofutest.NewCloud(t), dir: dir, bin: t.TempDir()}
	folder := filepath.Join(dir, maker)
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, into := range map[string]string{
		"cloud": s.bin, "cdk": s.bin, "aws": s.bin, "up.sh": folder, "down.sh": folder,
	} {
		data, err := os.ReadFile(filepath.Join("testdata", "makers", name))
		if err == nil {
			err = os.WriteFile(filepath.Join(into, name), data, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	names := append([]string{"vm-a", "vm-b"}, further...)
	hosts := map[string]map[string]string{}
	for _, name := range names {
		hosts[name] = map[string]string{"ssh": name, "address": "127.0.0.1"}
	}
	s.cloud.Hosts(hosts)
	s.writeCloud("names", strings.Join(names, "\n"))
	if retry != "" {
		retry = "\n  " + retry
	}
	text := strings.ReplaceAll(experimentText, "tofu: ./tofu", fmt.Sprintf("%[1]s: ./%[1]s", maker))
	s.file = write(t, dir, strings.ReplaceAll(text, "RETRY", retry))
	return s
}

// writeCloud writes a file of the stand-in of the cloud.
func (s *stand) writeCloud(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.cloud.Folder, name), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// forMakers runs a test for each maker.
func forMakers(t *testing.T, test func(t *testing.T, maker string)) {
	t.Helper()
	for _, maker := range makers() {
		t.Run(maker, func(t *testing.T) {
			t.Parallel()
			test(t, maker)
		})
	}
}

// Machines that scripts or an app have made are measured. They are hosts with a real sshd.
func TestMakersMachines(t *testing.T) {
	t.Parallel()
	path := []experiment.Element{{Kind: experiment.Bridge}}
	r := newSSHRig(t, sshPair{"vm-a", "vm-b", path, experiment.PlacementSplit})
	hosts := r.machines()
	for _, maker := range makers() {
		s := newMakerIn(t, r.dir, maker, "")
		s.cloud.Hosts(hosts)
		cmd, _ := r.command("run", "--up", "--down", "--yes", "--force", "--ssh-config", r.config, "-f", "json", s.file)
		cmd.Env = append(s.env(), cmd.Env[len(os.Environ()):]...)
		whole := startRunning(t, cmd)
		code := whole.wait()
		var answer struct {
			Arms []struct{ Arm string }
		}
		if err := json.Unmarshal([]byte(whole.printed()), &answer); code != 0 || err != nil || len(answer.Arms) == 0 {
			t.Errorf("%s: run --up --down: exit code %d (%v)\n%s\n%s", maker, code, err, whole.printed(), whole.said())
		}
		s.nothingLeft()
		noCanary(t, r.dir)
	}
}

// Up and down can be repeated. What is made has tags, and ls and down --check know of it.
func TestMakersAreRepeatable(t *testing.T) {
	t.Parallel()
	forMakers(t, func(t *testing.T, maker string) {
		s := newMaker(t, maker, "")
		wanted := map[string][]string{
			"az":  {"run " + filepath.Join(s.dir, "az", "up.sh"), "with the variables cloud, token", "is not known before"},
			"cdk": {"create Stand::Cloud::Machine vm-a vm-a", "2 to make, 0 to change, 0 to delete"},
		}
		dry := s.must(0, "up", "--dry-run").printed()
		for _, want := range wanted[maker] {
			if !strings.Contains(dry, want) {
				t.Errorf("up --dry-run does not print %q:\n%s", want, dry)
			}
		}
		if refused := s.must(2, "up"); !strings.Contains(refused.said(), "give --yes") || len(s.cloud.Machines()) > 0 {
			t.Errorf("up without --yes says %q, and made %q", refused.said(), s.cloud.Machines())
		}
		s.nothingLeftButFolder()
		s.must(0, "up", "--yes")
		if record := s.record(); record.Tool != maker || record.State != "up" || !record.Attempts[0].Done {
			t.Errorf("the record is %+v", record)
		}
		s.must(0, "up", "--yes")
		for _, file := range glob(t, filepath.Join(s.cloud.Folder, "machines", "*")) {
			tags := s.cloud.Machine(file).Tags
			expires, err := time.Parse(time.RFC3339, tags["expires"])
			if err != nil || time.Until(expires) > 2*time.Hour || tags["run"] != "stand" ||
				!strings.Contains(tags["owner"], "@") {
				t.Errorf("%s has tags %q (%v)", file, tags, err)
			}
		}
		left := map[string]string{
			"az": "left: what " + filepath.Join(s.dir, "az", "up.sh") + " has made", "cdk": "left: stand/vm-a (Stand::Cloud",
		}
		if out := s.must(1, "down", "--check", s.file).printed(); !strings.Contains(out, left[maker]) {
			t.Errorf("down --check prints %q", out)
		}
		gone := map[string]string{
			"az": "down.sh has ended without an error", "cdk": "CloudFormation has none of its stacks",
		}
		if out := s.must(0, "down", s.file).printed(); !strings.Contains(out, gone[maker]) {
			t.Errorf("down prints %q", out)
		}
		s.nothingLeft()
		if out := s.must(0, "down", s.file).printed(); !strings.Contains(out, "nothing was made") {
			t.Errorf("the second down prints %q", out)
		}
	})
}

// What a provider refuses for lack of capacity is found in what the program prints, and tried again.
func TestMakersCapacity(t *testing.T) {
	t.Parallel()
	forMakers(t, func(t *testing.T, maker string) {
		for code, message := range capacityMessages() {
			t.Run(code, func(t *testing.T) {
				t.Parallel()
				s := newMaker(t, maker, `retry: {variables: [{size: large}, {size: large, zone: "2"}], wait: 100ms}`)
				s.writeCloud("refusal", "ERROR: "+message+"\n")
				made := s.must(0, "up", "--yes")
				for _, want := range []string{"refused: " + code, "next attempt with size=large zone=2"} {
					if !strings.Contains(made.said(), want) {
						t.Errorf("up does not say %q:\n%s", want, made.said())
					}
				}
				var tried []string
				for _, a := range s.record().Attempts {
					tried = append(tried, fmt.Sprintf("%v %s %v", a.Variables, a.Refused, a.Done))
				}
				want := []string{
					"[] " + code + " false", "[size=large] " + code + " false", "[size=large zone=2]  true",
				}
				if !slices.Equal(tried, want) {
					t.Errorf("recorded are %q, want %q", tried, want)
				}
				s.must(0, "down", s.file)
				s.nothingLeft()
			})
		}
	})
}

// Secrets are in no argument, in no file that nearfar writes and in no output, also while it works.
func TestMakersKeepSecrets(t *testing.T) {
	t.Parallel()
	forMakers(t, func(t *testing.T, maker string) {
		s := newMaker(t, maker, "")
		s.cloud.Hold(2)
		up := s.start("up", "--yes")
		s.reached(2, up)
		lines := 0
		for _, p := range marked(t, "XDG_STATE_HOME="+s.stateHome()) {
			lines++
			if strings.Contains(p.line, tokenCanary) {
				t.Errorf("an argument has the value of a secret variable: %q", p.line)
			}
		}
		if lines < 3 {
			t.Errorf("%d processes seen, want nearfar, the program and the cloud", lines)
		}
		noCanary(t, s.dir)
		s.cloud.Release()
		up.wait()
		noCanary(t, s.dir)
		for _, file := range glob(t, filepath.Join(s.dir, ".nearfar", "stand", "*.json")) {
			if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s has mode %v (%v)", file, info.Mode(), err)
			}
		}
		down := s.must(0, "down", s.file)
		for _, text := range []string{up.said(), up.printed(), down.said(), down.printed()} {
			if strings.Contains(text, tokenCanary) {
				t.Errorf("an output has the value of a secret variable: %s", text)
			}
		}
		noCanary(t, s.dir)
	})
}

// makerMoments are the moments at which a maker is struck, by both signals: for cdk at fewer steps, since
// CloudFormation is imitated. destroys says whether --on-failure destroy is given at an interrupt at a step.
func makerMoments(maker string, destroys func(step int) bool) (all []moment) {
	by := 1
	if maker == "cdk" {
		by = 4
	}
	for step := 1; step <= 10; step += by { // for each machine a begin and an end
		all = append(all, moment{step, syscall.SIGKILL, false}, moment{step, syscall.SIGINT, destroys(step)})
	}
	return all
}

// However up ends, down leaves nothing. The cloud is held at ten of its steps; it goes on after the signal.
func TestMakersUpKilled(t *testing.T) {
	t.Parallel()
	forMakers(t, func(t *testing.T, maker string) {
		for _, at := range makerMoments(maker, func(step int) bool { return step%2 == 0 }) {
			t.Run(at.String(), func(t *testing.T) {
				t.Parallel()
				s := newMaker(t, maker, "", killMachines()...)
				s.cloud.Hold(at.step)
				s.strike(s.start(at.up()...), at)
			})
		}
	})
}

// However down ends, another down leaves nothing.
func TestMakersDownKilled(t *testing.T) {
	t.Parallel()
	forMakers(t, func(t *testing.T, maker string) {
		for _, at := range makerMoments(maker, func(int) bool { return false }) {
			t.Run(at.String(), func(t *testing.T) {
				t.Parallel()
				s := newMaker(t, maker, "", killMachines()...)
				s.must(0, "up", "--yes")
				s.cloud.Hold(at.step)
				s.strike(s.start("down", s.file), at)
			})
		}
	})
}

// A process that a script leaves in the background is waited for: it can still make something.
func TestScriptsInTheBackground(t *testing.T) {
	t.Parallel()
	s := newMaker(t, "az", "")
	s.cloud.Hold(1)
	s.script("up.sh", `cloud create vm-a small 1 o r e &
cat "$CLOUD/hosts.json" >"$NEARFAR_HOSTS"
`)
	up := s.start("up", "--yes")
	up.says("a process that up.sh has started is still at work: waiting for its end")
	s.cloud.Release()
	if code := up.wait(); code != 0 || !slices.Equal(s.cloud.Machines(), []string{"vm-a"}) {
		t.Errorf("exit code %d, machines %q\n%s", code, s.cloud.Machines(), up.said())
	}
	s.must(0, "down", s.file)
	s.nothingLeft()
}

// script writes a script of the experiment.
func (s *stand) script(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, "az", name), []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// A script that fails, gives no hosts or is missing is named, and so is what it said. What it made can be deleted.
func TestScriptsThatFail(t *testing.T) {
	t.Parallel()
	s := newMaker(t, "az", "")
	s.script("up.sh", "cloud create vm-a small 1 o r e\necho 'no such image' >&2\nexit 3\n")
	said := s.must(1, "up", "--yes").said()
	if !strings.Contains(said, "up.sh: no such image") || !strings.Contains(said, "exit status 3") {
		t.Errorf("up says %q", said)
	}
	if state := s.record().State; state != "failed" {
		t.Errorf("the machines are %s", state)
	}
	s.script("up.sh", "cloud create vm-b small 1 o r e\n")
	said = s.must(1, "up", "--yes").said()
	if !strings.Contains(said, "up.sh wrote into $NEARFAR_HOSTS: there is none") {
		t.Errorf("up says %q", said)
	}
	s.must(0, "down", s.file)
	text, err := os.ReadFile(s.file)
	if err != nil {
		t.Fatal(err)
	}
	s.nothingLeft()
	s.must(1, "up", "--yes")
	s.script("down.sh", "exit 4\n")
	down := s.must(1, "down", s.file)
	for _, want := range []string{"down.sh: exit status 4", "something can be left"} {
		if !strings.Contains(down.said(), want) {
			t.Errorf("down says %q, want %q", down.said(), want)
		}
	}
	write(t, s.dir, strings.Replace(string(text), "az: ./az", "cdk: ./az", 1))
	if said := s.must(1, "up", "--yes").said(); !strings.Contains(said, "were made with az: delete them first") {
		t.Errorf("up says %q", said)
	}
	s.script("down.sh", "cloud delete vm-b\n")
	s.must(0, "down", s.file) // with the scripts, whatever the file says now
	s.nothingLeft()
	write(t, s.dir, string(text))
	if err := os.Remove(filepath.Join(s.dir, "az", "down.sh")); err != nil {
		t.Fatal(err)
	}
	if said := s.must(1, "up", "--yes").said(); !strings.Contains(said, "down.sh is no script") {
		t.Errorf("up says %q", said)
	}
	s.nothingLeftButFolder()
}
