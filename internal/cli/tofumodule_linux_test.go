package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"nearfar/internal/kits/tofutest"
)

// moduleText is a module for the real OpenTofu that needs no provider but its own. WORKS is what it does while a
// machine is made, HOSTS what it says of the machines. What uses local.late is known only when the machine is there.
const moduleText = `resource "terraform_data" "machine" {
  input = "x"
  WORKS
}
locals { late = terraform_data.machine.id == "" ? "y" : "x" }
output "hosts" { value = HOSTS }
`

// provisioner is a command that runs while the machine is made.
func provisioner(command string) string {
	return fmt.Sprintf("provisioner \"local-exec\" {\n    command = %q\n  }", command)
}

// newModuleFolder is an experiment whose machines a real module makes.
func newModuleFolder(t *testing.T, works, hosts string) *moduleFolder {
	t.Helper()
	f := &moduleFolder{tofuFolder: newTofuFolder(t), cloud: tofutest.NewCloud(t)}
	f.write("pids", "")
	f.write("tofu/main.tf", strings.NewReplacer("WORKS", works, "HOSTS", hosts).Replace(moduleText))
	return f
}

// A moduleFolder is an experiment whose machines a module makes with the real OpenTofu.
type moduleFolder struct {
	*tofuFolder
	cloud *tofutest.Cloud
}

func (f *moduleFolder) write(name, text string) {
	f.t.Helper()
	if err := os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// module is how messages name the module.
func (f *moduleFolder) module() string { return filepath.Join(f.dir, "tofu") }

// begin starts nearfar with the real OpenTofu.
func (f *moduleFolder) begin(args ...string) (cmd *exec.Cmd, said *bytes.Buffer, peak string) {
	f.t.Helper()
	return f.startWith(f.cloud.Env(), args...)
}

// checked checks what is there after an up that ended: the record and the state are whole, with the resources that the
// test expects, and a down deletes all of it.
func (f *moduleFolder) checked(state string) {
	f.t.Helper()
	folder := filepath.Join(f.dir, ".nearfar", "lies")
	if state == "" { // nothing was made
		for _, name := range []string{"record.json", "terraform.tfstate"} {
			if _, err := os.Stat(filepath.Join(folder, name)); err == nil {
				f.t.Errorf("%s is there", name)
			}
		}
		return
	}
	for name, want := range map[string]string{
		"record.json": `"state": "` + state + `"`, "terraform.tfstate": "machine",
	} {
		data, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil || !json.Valid(data) || !strings.Contains(string(data), want) {
			f.t.Errorf("%s: %v: %.2000s", name, err, data)
		}
	}
	for _, pattern := range []string{"/.new-*", "/plan", "/out.jsonl", "/err.txt"} {
		if names, _ := filepath.Glob(folder + pattern); len(names) > 0 {
			f.t.Errorf("%q are left", names)
		}
	}
	cmd, said, _ := f.begin("down", "experiment.yaml")
	late := time.AfterFunc(floodWait, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	if err := cmd.Wait(); err != nil {
		f.t.Errorf("down: %v: %s", err, said)
	}
	if _, err := os.Stat(folder); err == nil {
		f.t.Errorf("%s is left after down", folder)
	}
}

// crowd writes the file hosts.json of the module: a mapping of so many hosts, with at least so many bytes.
func (f *moduleFolder) crowd(hosts, size int) {
	f.t.Helper()
	var text strings.Builder
	name := strings.Repeat("x", 1+size/hosts)
	for i := range hosts {
		fmt.Fprintf(&text, `,"vm-%d":{"ssh":"%s"}`, i, name)
	}
	f.write("tofu/hosts.json", "{"+text.String()[1:]+"}")
}

// readLate reads a file of the module when the machine is there, and not for the plan.
const readLate = "file(\"${path.module}/${local.late == \"x\" ? \"hosts\" : \"none\"}.json\")"

// TestLyingModule: what a module says of its machines, and what its commands print, by the real OpenTofu. Machines with
// which nothing is wrong are up; otherwise the message names the output or the resource, and what is wrong. What was
// made is in the record, and a down deletes it.
func TestLyingModule(t *testing.T) {
	const machine, output, failed, up = "terraform_data.machine", "output hosts of ", "failed", "up"
	const printed, tooLong = "it printed more than 64 MiB in ", "at most 1048576 are read"
	const shown, told = "tofu show printed more than 8 MiB in ", "tofu output printed more than 8 MiB in "
	const readAtOnce = "file(\"${path.module}/hosts.json\")"
	vm := func(keys string) string { return "{ vm-a = { " + keys + " } }" }
	many := 2_000
	if os.Getenv(floodsVariable) != "" {
		many = 100_000 // OpenTofu itself takes minutes for more
	}
	for name, lie := range map[string]struct {
		works, hosts string
		// says is a part of the message; empty if the machines can be used. state is the state in the record; empty for none.
		says  []string
		state string
	}{
		"another host":      {"", `{ vm-c = { ssh = local.late } }`, []string{output, "it has no host vm-a"}, failed},
		"no host":           {"", `{}`, []string{output, "it has no host vm-a"}, failed},
		"null":              {"", `null`, []string{output, "there is none"}, failed},
		"a null host":       {"", `{ vm-a = null }`, []string{output, "it has no host vm-a"}, failed},
		"a list":            {"", `[{ ssh = local.late }]`, []string{output, "it is no mapping of hosts"}, failed},
		"a text":            {"", `local.late`, []string{output, "it is no mapping of hosts"}, failed},
		"a text for a host": {"", `{ vm-a = local.late }`, []string{output, "it is no mapping of hosts"}, failed},
		"a number":          {"", vm(`ssh = 5`), []string{output, "ssh must be text, not the number 5"}, up},
		"a mapping":         {"", vm(`ssh = { name = local.late }`), []string{output, "must be a single value"}, up},
		"an unknown key":    {"", vm(`ssh = local.late, run = "reboot"`), []string{output, "run"}, up},
		"no way":            {"", vm(`address = "10.0.0.1"`), []string{output, "vm-a"}, up},
		"an option":         {"", vm(`ssh = "-oProxyCommand=touch x"`), []string{output, "is no destination"}, up},
		"no address":        {"", vm(`ssh = local.late, address = "10.0.0.999"`), []string{output, "10.0.0.999"}, up},
		"control":           {"", vm(`ssh = "${local.late}\u001b]0;x\u0007\u001b[2J\r\n"`), []string{output, `\x1b]`}, up},
		"a variable":        {"", vm(`ssh = "$${HOME}"`), nil, up},
		"a path":            {"", `{ vm-a = { ssh = local.late }, "../../vm-b" = { ssh = "y" } }`, nil, up},
		"a huge text":       {"", "{ vm-a = { ssh = " + readLate + " } }", []string{output, tooLong}, failed},
		"many hosts":        {"", "jsondecode(" + readAtOnce + ")", []string{shown}, ""},
		"many hosts later":  {"", "jsondecode(" + readLate + ")", []string{told}, failed},
		"fails":             {provisioner(`printf 'a\033[2Jb\n'; exit 3`), vm(""), []string{machine, "status 3"}, failed},
		"flood":             {provisioner("yes flood"), vm(""), []string{printed, machine}, failed},
		"flood of errors":   {provisioner("yes flood >&2"), vm(""), []string{printed, machine}, failed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newModuleFolder(t, lie.works, lie.hosts)
			if f.crowd(1, 2<<20); strings.HasPrefix(name, "many") {
				f.crowd(many, 9<<20)
			}
			cmd, said, peak := f.begin("up", "--yes", "--on-failure", "keep")
			code, want := f.ends(cmd, said, peak), 1
			if len(lie.says) == 0 {
				want = 0
			} else if lie.says[0] != machine {
				lie.says = append(lie.says, f.module())
			}
			for _, says := range lie.says {
				if !strings.Contains(said.String(), says) {
					t.Errorf("it does not say %q", says)
				}
			}
			if code != want || strings.Contains(said.String(), "goroutine ") ||
				strings.ContainsAny(said.String(), "\x1b\a\r\x00") {
				t.Errorf("exit code %d, want %d", code, want)
			}
			f.checked(lie.state)
			if t.Failed() {
				t.Logf("%.2000q", said)
			}
		})
	}
}

// TestInterruptOfModule: Ctrl-C ends an up whose module never ends, and what was begun is in the record. nearfar does
// not kill a program that makes machines: OpenTofu kills the commands of the module. Processes that these have started
// in the background are left, as without nearfar; they hold up nothing.
func TestInterruptOfModule(t *testing.T) {
	for name, command := range map[string]string{
		"silent":       "exec sleep 1000",
		"stubborn":     "trap '' INT TERM HUP; while :; do read line </dev/zero; done",
		"left behind":  `sleep 1000 & echo $! >"$PIDS.left"`,
		"endless line": "exec cat /dev/zero",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newModuleFolder(t, provisioner(`echo $$ >>"$PIDS"; `+command),
				`{ vm-a = { ssh = local.late } }`)
			t.Cleanup(func() {
				data, _ := os.ReadFile(f.pids() + ".left") // one of the commands writes it
				if pid, err := strconv.Atoi(strings.TrimSpace(string(data))); err == nil {
					_ = syscall.Kill(pid, syscall.SIGKILL)
				}
			})
			cmd, said, peak := f.begin("up", "--yes", "--on-failure", "keep")
			for end := time.Now().Add(floodWait); ; time.Sleep(10 * time.Millisecond) {
				if data, _ := os.ReadFile(f.pids()); len(data) > 0 { // the command writes it
					break
				}
				if time.Now().After(end) {
					t.Fatalf("the command does not start; said %s", said)
				}
			}
			asked := time.Now()
			if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
			code := f.ends(cmd, said, peak)
			took := time.Since(asked)
			t.Logf("ended %v after the interrupt", took.Round(time.Millisecond))
			const want, limit = "tofu was asked to end", 10 * time.Second
			if code != 130 || took > limit || !strings.Contains(said.String(), want) {
				t.Errorf("exit code %d after %v, says %.2000q, want %q", code, took, said, want)
			}
			f.checked("failed")
		})
	}
}

// TestModuleNamesNobody: a run with machines that a module names and that are not there ends with a message that has
// the host, and keeps no trials.
func TestModuleNamesNobody(t *testing.T) {
	t.Parallel()
	f := newModuleFolder(t, "", `{ vm-a = { ssh = "nobody" } }`)
	f.write("ssh_config", "Host *\n\tHostName 127.0.0.2\n\tPort 1\n\tIdentityAgent none\n")
	cmd, said, peak := f.begin("up", "--yes")
	if code := f.ends(cmd, said, peak); code != 0 {
		t.Fatalf("exit code %d, said %s", code, said)
	}
	cmd, said, peak = f.begin("run", "--force", "--progress", "plain", "--ssh-config", "ssh_config", "experiment.yaml")
	code := f.ends(cmd, said, peak)
	if code != 1 || !strings.Contains(said.String(), "ssh nobody: 127.0.0.2 refuses connections to port 1") {
		t.Errorf("exit code %d, said %s", code, said)
	}
	if kept, _ := filepath.Glob(filepath.Join(f.dir, "runs", "*", "trials.jsonl")); len(kept) > 0 {
		t.Errorf("%q are kept", kept)
	}
	f.checked("up")
}
