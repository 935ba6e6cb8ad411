//go:build linux

package e2e

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/declare/result"
	"nearfar/internal/declare/rundir"
)

// faulty is a run between two hosts, with trials that are long enough for something to happen in them. They take little
// CPU time, because these tests run beside each other.
const faulty = `
nearfar: v1
name: faulty
hosts:
  client: {ssh: client, address: CLIENT, silence: SILENCE}
  server: {ssh: server, address: SERVER, silence: SILENCE}
arms:
  ssh: {client: client, server: server}
workloads: [{name: load, tool: native, mode: load, rate: 200/s, duration: 1s, warmup: 100ms}]
schedule: {blocks: 8, seed: 1}
`

// A fault happens in the second trial of a run.
type fault struct {
	// silence is the hosts' time of silence.
	silence time.Duration
	// disk limits the home directory of the client's host, for example "30m"; empty for no limit.
	disk string
	// do lets the fault happen, and repairs it if the run should go on.
	do func(f *faultRun)
	// code is the exit code of the run; -1 if a signal ended it.
	code int
	// failed is how many trials fail, and more how many others may fail. They are not checked if the run ends early.
	failed, more int
	// says is what a failed trial, or the run if it ends early, says.
	says string
	// within is how long the run may go on after the fault.
	within time.Duration
}

// A faultRun is a run in which a fault happens.
type faultRun struct {
	*sshRig
	cmd *exec.Cmd
}

// kill sends SIGKILL to processes on the hosts whose command line has a match. It waits until there is one: on a busy
// machine a trial can end before its processes are found.
func (f *faultRun) kill(line string) {
	f.t.Helper()
	f.killWhen(line, func([]markedProcess) bool { return true })
}

// killWhen is kill at a time when what is killed is as it should be.
func (f *faultRun) killWhen(line string, ready func(found []markedProcess) bool) {
	f.t.Helper()
	wanted := regexp.MustCompile(line)
	waitUntil(f.t, "a process of the hosts that is "+line, func() (killed []string) {
		found := slices.DeleteFunc(f.onHosts(""), func(p markedProcess) bool { return !wanted.MatchString(p.line) })
		if !ready(found) {
			return nil
		}
		for _, p := range found {
			err := syscall.Kill(p.pid, syscall.SIGKILL)
			if err == nil {
				f.t.Logf("killed %s", p.line)
				killed = append(killed, p.line)
			} else if err != syscall.ESRCH {
				f.t.Error(err)
			}
		}
		return killed
	})
}

// connected says whether a trial's client is connected to the data port on the host of the processes.
func connected(onServer []markedProcess) bool {
	established := regexp.MustCompile(`(?m)^ *\d+: \w+:1E61 \w+:\w+ 01 `) // port 7777, see proc_pid_net(5)
	return slices.ContainsFunc(onServer, func(p markedProcess) bool {
		table, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/tcp", p.pid))
		return err == nil && established.Match(table)
	})
}

// has says whether a process of the hosts has such a command line.
func (f *faultRun) has(line *regexp.Regexp) bool {
	f.t.Helper()
	return slices.ContainsFunc(f.onHosts(""), func(p markedProcess) bool { return line.MatchString(p.line) })
}

// resending waits until nearfar's side has sent something to a host three times again without an answer: the third
// time is about 1.4 s after the first sending (RFC 6298, with Linux's least time of 200 ms).
func (f *faultRun) resending(name string) {
	f.t.Helper()
	a := netip.MustParseAddr(f.hosts[name].control).As4()
	remote := fmt.Sprintf("%08X:", binary.LittleEndian.Uint32(a[:])) // see proc_pid_net(5)
	waitUntil(f.t, "a packet that is sent to "+name+" again and again", func() (found []string) {
		f.must(inSpace(f.controller, func() error {
			table, err := os.ReadFile("/proc/thread-self/net/tcp")
			for line := range strings.Lines(string(table)) {
				fields := strings.Fields(line)
				if len(fields) < 9 || !strings.HasPrefix(fields[2], remote) {
					continue
				}
				// What was never sent, because the link was down before, is probed instead.
				sent, _ := strconv.ParseUint(fields[6], 16, 64)
				probed, _ := strconv.ParseUint(fields[8], 10, 64)
				if sent+probed >= 3 {
					found = append(found, line)
				}
			}
			return err
		}))
		return found
	})
}

// signal sends a signal to nearfar.
func (f *faultRun) signal(s syscall.Signal) {
	f.t.Helper()
	f.must(f.cmd.Process.Signal(s))
}

// soon is how long the remaining trials take on a busy machine. On a quiet one it is 8 s.
const soon = 30 * time.Second

// TestFaults lets things go wrong in mid-trial, one of each kind. The run goes on or ends as declared, it says why, and
// nothing is left on a host.
func TestFaults(t *testing.T) {
	t.Parallel()
	runFaults(t, map[string]fault{
		"link down for some time": {
			silence: time.Minute, within: 20*time.Second + soon,
			do: func(f *faultRun) {
				f.setControl("client", false)
				f.resending("client")
				f.setControl("client", true)
			},
		},
		"agent's worker killed": {
			silence: 10 * time.Second, within: soon, code: 1, says: "server.*the agent has ended",
			do: func(f *faultRun) { f.kill("agent-work.*home-server") },
		},
		"nearfar killed": {
			silence: 5 * time.Second, within: soon, code: -1,
			do: func(f *faultRun) { f.signal(syscall.SIGKILL) },
		},
		"disk full": {
			silence: time.Minute, within: soon, disk: "150m", failed: 1, more: 1,
			says: "could not be kept on the host|no space left",
			do: func(f *faultRun) {
				home := f.inside("client")
				full := filepath.Join(home, "stranger")
				file, err := os.Create(full)
				f.must(err)
				// What becomes free, because the agent removes the output of a trial, is taken too.
				waitUntil(f.t, "a failed trial", func() []string {
					for err = nil; err == nil; {
						_, err = file.Write(make([]byte, 4096))
					}
					return f.failedTrials()
				})
				f.t.Log("the disk was full: ", err)
				_ = file.Close()
				f.must(os.Remove(full))
			},
		},
		"server crashed": {
			silence: time.Minute, within: soon, failed: 1,
			says: "the server is gone|the server closed the data connection|connection reset",
			do: func(f *faultRun) {
				f.killWhen("engine serve", connected) // before that, the client says that it is refused
			},
		},
	})
}

// TestFurtherFaults: the same for other processes and other durations.
func TestFurtherFaults(t *testing.T) {
	t.Parallel()
	runFaults(t, map[string]fault{
		"link down for ever": {
			silence: 6 * time.Second, within: 20*time.Second + soon, code: 1,
			says: "server.*no connection to the agent for 6s",
			do:   func(f *faultRun) { f.setControl("server", false) },
		},
		"agent's keeper killed": {
			silence: 10 * time.Second, within: soon, code: 1, says: "server.*the agent has ended",
			do: func(f *faultRun) { f.kill("exe serve.*home-server") },
		},
		"agent killed": {
			silence: 10 * time.Second, within: soon, code: 1, says: "server.*the agent has ended",
			do: func(f *faultRun) {
				// Nobody is left who would end a server that waits for its client. A server that is connected ends with
				// its client.
				f.killWhen("home-server", connected)
			},
		},
		"sshd killed and started again": {
			silence: time.Minute, within: 20*time.Second + soon,
			do: func(f *faultRun) {
				f.killSSHD(f.hosts["server"])
				f.serve(f.hosts["server"])
			},
		},
		"sshd killed": {
			silence: 6 * time.Second, within: 20*time.Second + soon, code: 1,
			says: "server.*no connection to the agent for 6s",
			do:   func(f *faultRun) { f.killSSHD(f.hosts["server"]) },
		},
		"nearfar stopped until the agents give it up": {
			silence: time.Minute, within: 15*time.Second + soon,
			do: func(f *faultRun) {
				f.signal(syscall.SIGSTOP)
				// The agents give a connection up that is silent for 7 s (yamuxConfig), and its relay ends.
				waitUntil(f.t, "the end of the connections to the agents", func() []bool {
					if f.has(remoteKinds[victimRelay]) {
						return nil
					}
					return []bool{true}
				})
				if !f.has(remoteKinds[victimKeeper]) {
					f.t.Error("the agents have ended, and not only their connections")
				}
				f.signal(syscall.SIGCONT)
			},
		},
		"nearfar stopped for longer than the hosts wait": {
			silence: 5 * time.Second, within: 15*time.Second + soon, code: 1, says: "has ended",
			do: func(f *faultRun) {
				f.signal(syscall.SIGSTOP)
				waitUntil(f.t, "the end of the agents", func() []bool {
					if len(f.onHosts("")) > 0 {
						return nil
					}
					return []bool{true}
				})
				f.signal(syscall.SIGCONT)
			},
		},
		"client crashed": {
			silence: time.Minute, within: soon, failed: 1, says: "ended by signal SIGKILL",
			do: func(f *faultRun) { f.kill("engine load") },
		},
		"port taken": {
			// The trial that is repeated can begin before the port is free again, and fail after that.
			silence: time.Minute, within: soon, failed: 1, more: 1,
			says: "port 7778 .*e2e.test|7778: bind: address already in use",
			do: func(f *faultRun) {
				// As soon as the trial's server has ended.
				var stranger net.Listener
				waitUntil(f.t, "the port", func() []bool {
					err := inSpace(f.hosts["server"].space, func() (err error) {
						stranger, err = net.Listen("tcp4", f.hosts["server"].data+":7778")
						return err
					})
					if err != nil {
						return nil
					}
					return []bool{true}
				})
				waitUntil(f.t, "a failed trial", f.failedTrials)
				f.must(stranger.Close())
			},
		},
	})
}

// runFaults runs faults at the same time.
func runFaults(t *testing.T, faults map[string]fault) {
	for name, f := range faults {
		t.Run(strings.NewReplacer(" ", "-", "'", "").Replace(name), func(t *testing.T) {
			t.Parallel()
			f.run(t)
		})
	}
}

// run makes the hosts and the run, and judges the result.
func (f fault) run(t *testing.T) {
	r := newSSHRigWith(t, map[string]string{"client": f.disk}, twoHosts())
	text := strings.ReplaceAll(r.addressed(faulty), "SILENCE", f.silence.String())
	cmd, mark := r.run(write(t, r.dir, text))
	var struck time.Time
	said, stdout := r.follow(cmd, func(line string) {
		if struck.IsZero() && strings.Contains(line, "trial 2/8") {
			run := &faultRun{sshRig: r, cmd: cmd}
			run.inMidTrial()
			struck = time.Now()
			f.do(run)
		}
	})
	if struck.IsZero() {
		t.Fatalf("it ended before the second trial\n%s", said)
	}
	took := time.Since(struck)
	t.Logf("the run ended %.1f s after the fault, with %v", took.Seconds(), cmd.ProcessState)
	if took > f.within {
		t.Errorf("the run went on for %v, want at most %v", took, f.within)
	}
	if got := cmd.ProcessState.ExitCode(); got != f.code {
		t.Errorf("exit code %d, want %d\n%s", got, f.code, said)
	}
	r.wantNothingLeft(leftLimit)
	if left := marked(t, mark); len(left) > 0 {
		t.Errorf("left on nearfar's side: %v", left)
	}
	if f.code != 0 {
		if !regexp.MustCompile(f.says).MatchString(said) {
			t.Errorf("does not say %q:\n%s", f.says, said)
		}
		t.Logf("it says:\n%s", said)
		if f.code == 1 {
			if a := answerOf(t, stdout, r.dir); a.State != rundir.Interrupted || a.Trials == 0 {
				t.Errorf("the answer has %d trials of a run that is %s", a.Trials, a.State)
			}
		}
		if got := order(t, onlyRun(t, r.dir)); len(got) < 1 || len(got) > 7 {
			t.Errorf("the record has trials %v", got)
		}
		failed := failures(t, onlyRun(t, r.dir))
		// The client can see the end of its server before nearfar sees the end of the agent: the next trial says it
		// then.
		if len(failed) == 2 && strings.Contains(failed[0], "the server is gone") {
			failed = failed[1:]
		}
		if f.code == 1 && (len(failed) != 1 || !regexp.MustCompile(f.says).MatchString(failed[0])) {
			t.Errorf("the failed trials say %q, want one that says %q", failed, f.says)
		}
		return
	}
	f.judge(t, answerOf(t, stdout, r.dir))
}

// judge looks at the trials of a run that went on.
func (f fault) judge(t *testing.T, a answer.Answer) {
	t.Helper()
	var failed []result.Trial
	for _, trial := range trials(t, a) {
		if trial.Error != "" {
			failed = append(failed, trial)
			t.Logf("trial %d: %s", trial.Trial, trial.Error)
			if !regexp.MustCompile(f.says).MatchString(trial.Error) {
				t.Errorf("trial %d does not say %q: %s", trial.Trial, f.says, trial.Error)
			}
		}
	}
	if len(failed) < f.failed || len(failed) > f.failed+f.more || a.Trials != 8+len(failed) ||
		a.State != rundir.Complete {
		t.Errorf("%d of %d trials failed, the run is %s: want %d of %d", len(failed), a.Trials, a.State,
			f.failed, 8+f.failed)
	}
}

// inside is the home directory of a host as the host has it.
func (r *sshRig) inside(name string) string {
	h := r.hosts[name]
	return filepath.Join("/proc", fmt.Sprint(r.holder(h)), "root", h.home)
}

// failedTrials are the errors in the record so far.
func (r *sshRig) failedTrials() (errs []string) {
	for _, name := range glob(r.t, filepath.Join(r.dir, "runs/*/trials.jsonl")) {
		data, err := os.ReadFile(name)
		r.must(err)
		for _, found := range regexp.MustCompile(`"error":"[^"]+`).FindAll(data, -1) {
			errs = append(errs, string(found))
		}
	}
	return errs
}
