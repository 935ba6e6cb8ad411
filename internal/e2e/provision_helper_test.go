//go:build linux

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"nearfar/internal/kits/tofutest"
)

// moduleText is a module that makes machines with the names in NAMES.
const moduleText = `terraform {
  required_providers {
    stand = { source = "nearfar.test/tests/stand" }
  }
}
variable "cloud" { type = string }
variable "token" {
  type      = string
  sensitive = true
}
variable "size" {
  type    = string
  default = "small"
}
variable "zone" {
  type    = string
  default = "1"
}
variable "nearfar_owner" { type = string }
variable "nearfar_run" { type = string }
variable "nearfar_expires" { type = string }
provider "stand" {
  cloud = var.cloud
  token = var.token
}
resource "stand_machine" "vm" {
  for_each = toset([NAMES])
  name     = each.key
  size     = var.size
  zone     = var.zone
  tags     = { owner = var.nearfar_owner, run = var.nearfar_run, expires = var.nearfar_expires }
}
output "hosts" {
  value = { for name, vm in stand_machine.vm : name => { ssh = vm.ssh, address = vm.address, port = null } }
}
`

// experimentText is an experiment on machines of the module. RETRY is further keys of provision.
const experimentText = `nearfar: v1
name: stand
hosts: {vm-a: {provisioned: true}, vm-b: {provisioned: true}}
provision:
  tofu: ./tofu
  ttl: 2h
  variables: {cloud: "${CLOUD}", token: "${TOKEN}"}RETRY
arms: {one: {client: vm-a, server: vm-b}}
workloads: [{name: rr, tool: native, duration: 200ms, warmup: 0}]
schedule: {blocks: 1}
`

// tokenCanary is the value of a variable that nobody may see.
const tokenCanary = "CANARY-token-value"

// A stand is a folder with an experiment file whose machines are in a cloud of the tests.
type stand struct {
	t     *testing.T
	cloud *tofutest.Cloud
	dir   string
	file  string
	// bin is a folder with programs besides those of the system; it can be empty.
	bin string
}

// newStand makes an experiment with machines of these names, besides vm-a and vm-b.
func newStand(t *testing.T, retry string, further ...string) *stand {
	t.Helper()
	return newStandIn(t, workspace(t), retry, further...)
}

func newStandIn(t *testing.T, dir, retry string, further ...string) *stand {
	t.Helper()
	s := &stand{t: t, cloud: tofutest.NewCloud(t), dir: dir}
	var names []string
	for _, name := range append([]string{"vm-a", "vm-b"}, further...) {
		names = append(names, fmt.Sprintf("%q", name))
	}
	if err := os.Mkdir(filepath.Join(dir, "tofu"), 0o755); err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(moduleText, "NAMES", strings.Join(names, ", "))
	if err := os.WriteFile(filepath.Join(dir, "tofu", "main.tf"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if retry != "" {
		retry = "\n  " + retry
	}
	s.file = write(t, dir, strings.ReplaceAll(experimentText, "RETRY", retry))
	return s
}

// env is the environment of nearfar.
func (s *stand) env() []string {
	env := append(append(os.Environ(), s.cloud.Env()...), "HOME="+s.dir, "XDG_STATE_HOME="+s.stateHome(),
		"CLOUD="+s.cloud.Folder, "TOKEN="+tokenCanary)
	if s.bin != "" {
		env = append(env, "PATH="+s.bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	}
	return env
}

func (s *stand) stateHome() string { return filepath.Join(s.dir, "state") }

// A running nearfar, and what it wrote.
type running struct {
	t      *testing.T
	cmd    *exec.Cmd
	mu     sync.Mutex
	out    bytes.Buffer
	errors bytes.Buffer
	ended  chan struct{}
}

// lockedWriter writes into a buffer that the test reads meanwhile.
type lockedWriter struct {
	mu   *sync.Mutex
	into *bytes.Buffer
}

func (w lockedWriter) Write(data []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.into.Write(data)
}

// start starts nearfar.
func (s *stand) start(args ...string) *running {
	s.t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = s.dir, s.env()
	return startRunning(s.t, cmd)
}

func startRunning(t *testing.T, cmd *exec.Cmd) *running {
	t.Helper()
	r := &running{t: t, cmd: cmd, ended: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = lockedWriter{&r.mu, &r.out}, lockedWriter{&r.mu, &r.errors}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = cmd.Wait() // the exit code is in the state
		close(r.ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it has ended, unless the test failed
		<-r.ended
	})
	return r
}

// wait waits for the end and gives the exit code.
func (r *running) wait() int {
	r.t.Helper()
	select {
	case <-r.ended:
	case <-time.After(patience):
		r.t.Fatalf("nearfar did not end:\n%s", r.said())
	}
	return r.cmd.ProcessState.ExitCode()
}

// waitLong is wait for what takes minutes on a busy machine.
func (r *running) waitLong() int {
	r.t.Helper()
	select {
	case <-r.ended:
	case <-time.After(4 * patience):
	}
	return r.wait()
}

// said is the standard error so far.
func (r *running) said() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.errors.String()
}

// printed is the standard output so far.
func (r *running) printed() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.out.String()
}

// says waits until standard error has a text.
func (r *running) says(text string) {
	r.t.Helper()
	waitUntil(r.t, "nearfar says "+text, func() []bool {
		if strings.Contains(r.said(), text) {
			return []bool{true}
		}
		select {
		case <-r.ended:
			r.t.Fatalf("nearfar ended without %q:\n%s", text, r.said())
		default:
		}
		return nil
	})
}

// signal sends a signal to nearfar alone.
func (r *running) signal(signal syscall.Signal) {
	r.t.Helper()
	if err := r.cmd.Process.Signal(signal); err != nil {
		r.t.Fatal(err)
	}
}

// must runs nearfar and gives what it printed. The exit code must be as given.
func (s *stand) must(code int, args ...string) *running {
	s.t.Helper()
	r := s.start(args...)
	if got := r.wait(); got != code {
		s.t.Fatalf("nearfar %s: exit code %d, want %d\n%s\n%s", strings.Join(args, " "), got, code, r.printed(),
			r.said())
	}
	return r
}

// reached waits until the provider has come to a step.
func (s *stand) reached(step int, by *running) {
	s.t.Helper()
	waitUntil(s.t, fmt.Sprintf("step %d of the provider", step), func() []bool {
		if len(s.cloud.Steps()) >= step {
			return []bool{true}
		}
		select {
		case <-by.ended:
			s.t.Fatalf("nearfar ended before step %d, after %q:\n%s", step, s.cloud.Steps(), by.said())
		default:
		}
		return nil
	})
}

// nothingLeft checks that no machine, no record, no state and no entry of the index is left.
func (s *stand) nothingLeft() {
	s.t.Helper()
	if left := s.cloud.Machines(); len(left) > 0 {
		s.t.Errorf("machines are left: %q", left)
	}
	var files []string
	for _, pattern := range []string{
		filepath.Join(s.dir, ".nearfar", "*"), filepath.Join(s.stateHome(), "nearfar", "provisioned", "*"),
	} {
		files = append(files, glob(s.t, pattern)...)
	}
	files = slices.DeleteFunc(files, func(f string) bool { return filepath.Base(f) == ".gitignore" })
	if len(files) > 0 {
		s.t.Errorf("files are left: %q", files)
	}
	if got := s.must(0, "ls").printed(); got != "Nothing is up.\n" {
		s.t.Errorf("ls prints %q", got)
	}
}
