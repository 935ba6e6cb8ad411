//go:build linux

package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Further victims, where the hosts are reached by ssh or have a TLS agent: an ssh process of nearfar, the process of
// sshd for its session, sshd with all sessions, the link to a host, the agent's relay, keeper and worker, and the
// process that makes the sockets of a confined tool.
const (
	victimSSH     = "ssh"
	victimSession = "session"
	victimSSHD    = "sshd"
	victimLink    = "link"
	victimRelay   = "relay"
	victimKeeper  = "keeper"
	victimWorker  = "worker"
	victimMaker   = "maker"
)

// chaosSilence is how long agents bear silence in these rounds: the least that `nearfar agent` accepts.
const chaosSilence = 10 * time.Second

// remoteWorkloads are for hosts that are not a lab's, besides chaosWorkloads.
var remoteWorkloads = []string{
	"{name: ping, tool: ping, duration: 200ms, interval: 20ms}",
	"{name: netperf, tool: netperf, duration: 1s}",
}

// A remote is the hosts of a round that are not a lab's: those of a rig, each reached by ssh or by the join string of a
// TLS agent.
type remote struct {
	rig *sshRig
	// agents are the TLS agents by host. The other hosts are reached by ssh.
	agents map[string]*tlsAgent
	// host is the one that is hit.
	host *sshHost
}

// A tlsAgent is `nearfar agent` on a host of a rig.
type tlsAgent struct {
	cmd   *exec.Cmd
	join  string
	said  *os.File
	ended chan struct{}
	// asked says that the test has asked it to end.
	asked bool
}

// drawRemote draws how the hosts are reached, and which one is hit. place is by ssh, by TLS, or one of each.
func drawRemote(rig *sshRig, random *rand.Rand, place string) *remote {
	m := &remote{rig: rig, agents: map[string]*tlsAgent{}}
	names := []string{"client", "server"}
	random.Shuffle(2, func(i, j int) { names[i], names[j] = names[j], names[i] })
	switch place {
	case placeTLS:
		m.agents[names[0]], m.agents[names[1]] = nil, nil
	case placeMixed:
		m.agents[names[0]] = nil
	}
	m.host = rig.hosts[names[random.IntN(2)]]
	return m
}

// victims are those that the host has which is hit.
func (m *remote) victims() []string {
	all := []string{victimMain, victimLink, victimKeeper, victimWorker, victimServer, victimClient, victimMaker}
	if !m.byTLS(m.host) {
		all = append(all, victimSSH, victimSession, victimSSHD, victimRelay)
	}
	return all
}

func (m *remote) byTLS(h *sshHost) bool {
	_, is := m.agents[h.name]
	return is
}

// hosts is the part of an experiment that declares them.
func (m *remote) hosts() string {
	text := "hosts:\n"
	for _, name := range []string{"client", "server"} {
		h := m.rig.hosts[name]
		reached := fmt.Sprintf("ssh: %s, silence: %v", name, chaosSilence)
		if m.byTLS(h) {
			reached = fmt.Sprintf("agent: '${%s_JOIN}'", strings.ToUpper(name))
		}
		text += fmt.Sprintf("  %s: {%s, address: %s}\n", name, reached, h.data)
	}
	return text
}

// remoteArms measure between the two hosts, in both directions.
var remoteArms = []string{"there: {client: client, server: server}", "back: {client: server, server: client}"}

// on is the remote for a part of the test.
func (m *remote) on(t *testing.T) *remote {
	rig := *m.rig
	rig.t = t
	other := *m
	other.rig = &rig
	return &other
}

// folder is where the files of a TLS agent are.
func (m *remote) folder(name string) string { return filepath.Join(m.rig.dir, "tls-"+name) }

// startAgents starts the TLS agents. A join string is good for one run, so each start of nearfar needs new ones.
func (m *remote) startAgents() {
	r := m.rig
	r.t.Helper()
	for name := range m.agents {
		m.agents[name] = m.startAgent(r.hosts[name])
	}
}

func (m *remote) startAgent(h *sshHost) *tlsAgent {
	r, folder := m.rig, m.folder(h.name)
	r.t.Helper()
	r.must(os.MkdirAll(folder, 0o700))
	a := &tlsAgent{ended: make(chan struct{})}
	var err error
	a.said, err = os.OpenFile(folder+".log", os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
	r.must(err)
	a.cmd = exec.Command(program, "agent", "--listen", h.control+":7770", "--idle", chaosSilence.String())
	a.cmd.Env = append(os.Environ(), "HOME="+folder, "TMPDIR="+folder, r.sessions)
	a.cmd.Dir, a.cmd.Stderr = folder, a.said
	stdout, err := a.cmd.StdoutPipe()
	r.must(err)
	r.must(inSpace(h.space, a.cmd.Start))
	line := make([]byte, 4096)
	n, err := io.ReadAtLeast(stdout, line, 1)
	r.must(err)
	a.join = strings.TrimSpace(string(line[:n]))
	go func() {
		_, _ = io.Copy(io.Discard, stdout)
		_ = a.cmd.Wait()
		close(a.ended)
	}()
	return a
}

// endUnused ends the agents that wait for a run: none came, or the one that came ended before it measured.
func (m *remote) endUnused() {
	for _, a := range m.agents {
		if a == nil || a.asked {
			continue
		}
		if said := a.text(); !strings.Contains(said, "a run is connected") ||
			strings.Contains(said, "the run ended before it measured") {
			a.asked = true
			_ = a.cmd.Process.Signal(syscall.SIGINT) // it fails only if the agent has ended
		}
	}
}

// text is what the agent said on standard error.
func (a *tlsAgent) text() string {
	text, _ := os.ReadFile(a.said.Name())
	return string(text)
}

// command is nearfar with new join strings.
func (m *remote) command(args ...string) (cmd *exec.Cmd, mark string) {
	m.startAgents()
	cmd, mark = m.rig.command(append(args, "--ssh-config", m.rig.config)...)
	for name, a := range m.agents {
		cmd.Env = append(cmd.Env, strings.ToUpper(name)+"_JOIN="+a.join)
	}
	return cmd, mark
}

// nothingLeft waits until nothing of the run is left on its hosts and on nearfar's side.
func (m *remote) nothingLeft(mark string) {
	r := m.rig
	r.t.Helper()
	left := func() []string {
		m.endUnused()
		all := r.left()
		for _, p := range marked(r.t, mark) {
			all = append(all, fmt.Sprintf("nearfar's process %d %s", p.pid, p.line))
		}
		for name := range m.agents {
			for _, file := range glob(r.t, m.folder(name)+"/*") {
				all = append(all, "file "+file)
			}
		}
		return all
	}
	end := time.Now().Add(chaosSilence + leftLimit)
	for {
		looked := time.Now()
		all := left()
		if len(all) == 0 {
			return
		}
		if time.Now().After(end) {
			for name, a := range m.agents {
				r.t.Logf("agent of %s: %s", name, a.text())
			}
			for _, what := range all {
				r.t.Errorf("left: %s", what)
			}
			m.clean(all)
			return
		}
		rest(looked)
	}
}

// clean removes what was left, so that later rounds do not find it.
func (m *remote) clean(left []string) {
	for _, p := range marked(m.rig.t, m.rig.sessions) {
		_ = syscall.Kill(p.pid, syscall.SIGKILL)
	}
	for _, what := range left {
		if file, is := strings.CutPrefix(what, "file "); is {
			_ = os.RemoveAll(file)
		}
	}
}

// kinds of processes on hosts, by their command lines.
var remoteKinds = map[string]*regexp.Regexp{
	victimRelay:  regexp.MustCompile(`agent\S* --stdio`),
	victimKeeper: regexp.MustCompile(`^(/proc/self/exe serve|\S+/nearfar agent --listen)`),
	victimWorker: regexp.MustCompile(`^(\S+ agent-work|/proc/self/exe agent --worker)`),
	victimMaker:  regexp.MustCompile(`^\S+ confine-sockets`),
	victimServer: regexp.MustCompile(`^(iperf3 -s|netserver|\S+ engine serve)`),
	victimClient: measuringClient,
}

// measuringClient is the command line of a client that measures.
var measuringClient = regexp.MustCompile(
	`^(sockperf (pp|ul|tp) |ping |netperf |iperf3 (-\S+ )*(-c|--client) |\S+ engine (rr|crr|stream|load|messages) )`)

// find lists the processes that are the victim.
func (m *remote) find(victim, mark string) (found []int) {
	r := m.rig
	r.t.Helper()
	switch victim {
	case victimSSH:
		for _, p := range marked(r.t, mark) {
			if strings.HasPrefix(p.line, "ssh ") && strings.Contains(p.line, " "+m.host.name+" ") {
				found = append(found, p.pid)
			}
		}
	case victimSession:
		for _, pid := range r.of(m.host, "sshd") {
			if pid != m.host.sshd.Process.Pid {
				found = append(found, pid)
			}
		}
	default:
		for _, p := range r.onHosts("") {
			if !remoteKinds[victim].MatchString(p.line) {
				continue
			}
			if onEither := victim == victimServer || victim == victimClient || victim == victimMaker; onEither ||
				m.isOn(p.pid, m.host) {
				found = append(found, p.pid)
			}
		}
	}
	return found
}

// isOn says whether a process runs on a host.
func (m *remote) isOn(pid int, h *sshHost) bool {
	its, err := os.Stat(fmt.Sprintf("/proc/%d/ns/net", pid))
	if err != nil {
		return false
	}
	space, err := h.space.Stat()
	return err == nil && os.SameFile(its, space)
}

// cut interrupts what is no process: it takes the link of a host down, or ends its sshd, for a while.
func (m *remote) cut(victim string, pause time.Duration) {
	r := m.rig
	r.t.Helper()
	if victim == victimLink {
		r.setControl(m.host.name, false)
		time.Sleep(pause)
		r.setControl(m.host.name, true)
		return
	}
	r.killSSHD(m.host)
	time.Sleep(pause)
	r.serve(m.host)
}

// harmless are the victims whose end costs no trial once the agents are there.
func harmless(victim string) bool {
	return slices.Contains([]string{victimSSH, victimSession, victimSSHD, victimLink, victimRelay}, victim)
}

// tried counts whole lines of the record so far.
func triedIn(t *testing.T, dir string) int {
	t.Helper()
	n := 0
	for _, name := range glob(t, dir+"/runs/*/trials.jsonl") {
		data, err := os.ReadFile(name)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		n += bytes.Count(data, []byte("\n"))
	}
	return n
}
