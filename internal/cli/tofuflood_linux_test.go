package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// lyingTofu stands in for OpenTofu. MODE is STEP:LIE; in all other steps it does what a module without resources would
// do. Each process that can stay writes its number into pids.
const lyingTofu = `#!/bin/sh
echo $$ >>"$PIDS"
step=$1
event='{"type":"planned_change","change":{"resource":{"addr":"a.b"},"action":"create"}}'
arrays() {
	printf '{"resource_changes":[{"change":{"after":{"x":['
	yes '[],' | head -n "$1" | tr -d '\n'
	printf '[]]}}}]}'
}
case $step:${MODE#*:} in
"${MODE%%:*}:zeros") exec cat /dev/zero ;;
"${MODE%%:*}:endless") exec yes "$event" ;;
"${MODE%%:*}:stubborn") trap '' INT TERM; exec yes "$event" ;;
"${MODE%%:*}:complaints") exec yes complaint >&2 ;;
"${MODE%%:*}:silent") exec sleep 1000 ;;
"${MODE%%:*}:silent stubborn") trap '' INT TERM; exec sleep 1000 ;;
"${MODE%%:*}:arrays") arrays 2600000; exit ;;
"${MODE%%:*}:long line") head -c 60000000 /dev/zero | tr '\0' x ;;
"${MODE%%:*}:long words")
	word=$(head -c 100000 /dev/zero | tr '\0' x)
	yes '{"type":"planned_change","change":{"resource":{"addr":"'$word'"},"action":"'$word'"}}' | head -n 300 ;;
"${MODE%%:*}:other hosts") echo '{"hosts":{"value":{"vm-c":{"ssh":"x"}}}}'; exit ;;
"${MODE%%:*}:a number") echo '{"hosts":{"value":{"vm-a":{"ssh":5}}}}'; exit ;;
"${MODE%%:*}:a list") echo '{"hosts":{"value":[1]}}'; exit ;;
"${MODE%%:*}:an option") echo '{"hosts":{"value":{"vm-a":{"ssh":"-oProxyCommand=touch x"}}}}'; exit ;;
"${MODE%%:*}:no JSON") echo 'Warning: x'; exit ;;
"${MODE%%:*}:large hosts")
	printf '{"hosts":{"value":{"vm-a":{"ssh":"'
	head -c 2000000 /dev/zero | tr '\0' x
	echo '"}}}}'; exit ;;
esac
case $step in
version) echo '{"terraform_version":"1.9.0"}' ;;
plan) echo '{"type":"change_summary","changes":{"add":2}}' ;;
show) echo '{"configuration":{"root_module":{"variables":{}}}}' ;;
output) echo '{"hosts":{"value":{"vm-a":{"ssh":"x"}}}}' ;;
esac
exit 0
`

const tofuMemory = 300 << 20

// A tofuFolder is an experiment whose machines a lying program makes.
type tofuFolder struct {
	t   *testing.T
	dir string
}

func newTofuFolder(t *testing.T) *tofuFolder {
	t.Helper()
	f := &tofuFolder{t, t.TempDir()}
	text := `nearfar: v1
name: lies
hosts: {vm-a: {provisioned: true}, vm-b: {ssh: b}}
provision: {tofu: ./tofu, ttl: 2h}
arms: {one: {client: vm-a, server: vm-b}}
workloads: [{name: rr, tool: native, duration: 200ms, warmup: 0}]
schedule: {blocks: 1}
`
	err := errors.Join(os.Mkdir(filepath.Join(f.dir, "tofu"), 0o700), os.Mkdir(filepath.Join(f.dir, "bin"), 0o700),
		os.WriteFile(filepath.Join(f.dir, "experiment.yaml"), []byte(text), 0o600),
		os.WriteFile(filepath.Join(f.dir, "bin", "tofu"), []byte(lyingTofu), 0o700))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// start starts nearfar with the lying program. peak names a file into which nearfar writes its status.
func (f *tofuFolder) start(mode string, args ...string) (cmd *exec.Cmd, said *bytes.Buffer, peak string) {
	f.t.Helper()
	return f.startWith([]string{"PATH=" + filepath.Join(f.dir, "bin") + ":" + os.Getenv("PATH"), "MODE=" + mode}, args...)
}

// startWith starts nearfar with an environment in which the program is found.
func (f *tofuFolder) startWith(env []string, args ...string) (cmd *exec.Cmd, said *bytes.Buffer, peak string) {
	f.t.Helper()
	cmd = exec.Command("nearfar", args...)
	peak = filepath.Join(f.t.TempDir(), "peak")
	cmd.Dir = f.dir
	cmd.Env = append(append(os.Environ(), env...), peakVariable+"="+peak, "PIDS="+f.pids(), "HOME="+f.dir,
		"XDG_STATE_HOME="+filepath.Join(f.dir, "state"))
	said = &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { _ = cmd.Process.Kill() }) // it has ended, unless the test failed
	return cmd, said, peak
}

func (f *tofuFolder) pids() string { return filepath.Join(f.dir, "pids") }

// ends waits for the end, and checks the memory, and that neither processes nor their output are left.
func (f *tofuFolder) ends(cmd *exec.Cmd, said *bytes.Buffer, peak string) (code int) {
	f.t.Helper()
	late := time.AfterFunc(floodWait, func() { _ = cmd.Process.Kill() })
	_ = cmd.Wait() // the exit code is returned
	if !late.Stop() {
		f.t.Fatalf("it did not end; said %.2000s", said)
	}
	memory := ownMemory(f.t, peak)
	f.t.Logf("exit code %d, %v of CPU time, %d MiB", cmd.ProcessState.ExitCode(),
		cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime(), memory>>20)
	if memory > tofuMemory {
		f.t.Errorf("it took %d MiB", memory>>20)
	}
	if said.Len() > 64<<10 {
		f.t.Errorf("it printed %d bytes", said.Len())
	}
	for _, name := range []string{"out.jsonl", "err.txt"} {
		if _, err := os.Stat(filepath.Join(f.dir, ".nearfar", "lies", name)); err == nil {
			f.t.Errorf("%s is left", name)
		}
	}
	f.nothingRuns()
	return cmd.ProcessState.ExitCode()
}

// nothingRuns waits until all processes of the lying program have ended.
func (f *tofuFolder) nothingRuns() {
	f.t.Helper()
	data, err := os.ReadFile(f.pids())
	if err != nil {
		f.t.Fatal(err)
	}
	for word := range strings.FieldsSeq(string(data)) {
		pid, err := strconv.Atoi(word)
		if err != nil {
			f.t.Fatal(err)
		}
		for end := time.Now().Add(floodWait); syscall.Kill(pid, 0) == nil; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				f.t.Fatalf("process %d is left", pid)
			}
		}
	}
}

// TestLyingTofu: a program that prints without end, or says what cannot be, ends an up soon, in bounded memory, with a
// message that says what was wrong.
func TestLyingTofu(t *testing.T) {
	const endless = "has printed more than 64 MiB, and was asked to end"
	for mode, says := range map[string]string{
		"version:zeros": "tofu version printed more than 8 MiB", "init:endless": endless, "plan:zeros": endless,
		"plan:endless": endless, "plan:stubborn": endless, "plan:complaints": endless, "plan:long line": "",
		"plan:long words": "", "show:zeros": "tofu show printed more than 8 MiB", "show:arrays": "",
		"show:complaints": "more than 1 MiB to standard error", "show:no JSON": "tofu show -json: invalid character",
		"show:stubborn": "tofu show printed more than 8 MiB",
		"apply:endless": endless, "output:zeros": "tofu output printed more than 8 MiB",
		"output:other hosts": "output hosts", "output:a list": "it is no mapping of hosts",
		"output:a number": "ssh must be text, not the number 5", "output:an option": "is no destination",
		"output:no JSON": "tofu output -json: invalid character", "output:large hosts": "at most 1048576 are read",
		"state:endless": "tofu state printed more than 8 MiB",
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			f := newTofuFolder(t)
			args := []string{"up", "--yes", "--on-failure", "keep"}
			cmd, said, peak := f.start(mode, args...)
			code := f.ends(cmd, said, peak)
			want := 1
			if says == "" {
				want = 0
			}
			if code != want || !strings.Contains(said.String(), says) || strings.Contains(said.String(), "goroutine ") {
				t.Errorf("exit code %d, says %.3000s\nwant %d and %q", code, said, want, says)
			}
		})
	}
}

// TestInterruptOfTofu: an interrupt ends a program that only plans, also one that prints all the time or does not listen.
func TestInterruptOfTofu(t *testing.T) {
	modes := map[string]time.Duration{"plan:silent": 0, "show:silent": 0, "show:silent stubborn": time.Second}
	if os.Getenv(floodsVariable) != "" {
		modes["plan:silent stubborn"] = 10 * time.Second
	}
	for mode, limit := range modes {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			f := newTofuFolder(t)
			cmd, said, peak := f.start(mode, "up", "--dry-run")
			step, _, _ := strings.Cut(mode, ":")
			started := map[string]int{"plan": 3, "show": 4}[step] // after version and init
			for end := time.Now().Add(floodWait); ; time.Sleep(10 * time.Millisecond) {
				data, _ := os.ReadFile(f.pids()) // it comes with the first process
				if bytes.Count(data, []byte("\n")) >= started {
					pids := strings.Fields(string(data))
					if name, _ := os.ReadFile(fmt.Sprintf("/proc/%s/comm", pids[len(pids)-1])); string(name) == "sleep\n" {
						break
					}
				}
				if time.Now().After(end) {
					t.Fatal("the program does not start")
				}
			}
			asked := time.Now()
			if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
			code := f.ends(cmd, said, peak)
			took := time.Since(asked)
			t.Logf("ended %v after the interrupt", took.Round(time.Millisecond))
			const busy = 5 * time.Second
			if code != 130 || took > limit+busy {
				t.Errorf("exit code %d after %v, says %s", code, took, said)
			}
		})
	}
}
