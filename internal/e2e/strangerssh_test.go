//go:build linux

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"nearfar/internal/onhost/listening"
)

// strangersOnHosts is a run between a host by ssh and one with a TLS agent, in both directions. Its trials last so long
// that another user can look around.
const strangersOnHosts = `
nearfar: v1
name: strangers
hosts:
  client: {ssh: client, address: CLIENT}
  server: {agent: '${JOIN_OF_IT}', address: SERVER}
arms:
  there: {client: client, server: server}
  back: {client: server, server: client}
workloads: [{name: netperf, tool: netperf, duration: 5s}]
schedule: {blocks: 1, seed: 1}
`

// passphrase finds netperf's in a command line.
var passphrase = regexp.MustCompile(` -Z (\S+)`)

// reserved is the name that says that a run uses a port. Whoever connects to it gets the run's name.
var reserved = regexp.MustCompile(` @nearfar-port-\d+$`)

// programOf is the program of a command line. The verb confine becomes the program that it runs, with that one's
// arguments.
func programOf(line string) string {
	words := strings.Fields(line)
	if at := slices.Index(words, "--"); at >= 0 && at+1 < len(words) && slices.Contains(words[:at], confineVerb) {
		words = words[at+1:]
	}
	return filepath.Base(words[0])
}

// confineVerb is the verb that becomes a measuring program with fewer rights.
const confineVerb = "confine"

// TestStrangerOnTheHosts: while hosts that are reached by ssh and by a join string measure, another user of these hosts,
// and of nearfar's machine, reads and writes nothing of nearfar, opens none of its processes, and sees no secret but
// netperf's passphrase in the command lines of netperf and netserver. Homes are open to all, as on older systems.
func TestStrangerOnTheHosts(t *testing.T) {
	t.Parallel()
	r := newSSHRig(t, twoHosts())
	const stranger = 1_999_999_993
	m := &remote{rig: r, agents: map[string]*tlsAgent{"server": nil}, host: r.hosts["client"]}
	r.must(os.Mkdir(m.folder("server"), 0o755))
	for _, h := range r.hosts {
		r.must(os.Chmod(h.home, 0o755))
	}
	file := write(t, r.dir, strings.ReplaceAll(r.addressed(strangersOnHosts), "JOIN_OF_IT", "SERVER_JOIN"))
	cmd, mark := m.command("run", "--force", "--progress", "plain", "-f", "json", file)
	join := m.agents["server"].join
	// look is what the stranger sees on nearfar's machine, if h is nil, or on a host.
	look := func(h *sshHost, pids []int) string {
		t.Helper()
		argv := append([]string{"setpriv", fmt.Sprintf("--reuid=%d", stranger), fmt.Sprintf("--regid=%d", stranger),
			"--clear-groups"}, looking(r.dir, pids)...)
		if h != nil {
			argv = append([]string{"nsenter", "-t", fmt.Sprint(r.holder(h)), "-m", "-n"}, argv...)
		}
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Env, cmd.Dir = []string{"PATH=" + os.Getenv("PATH")}, "/"
		saw, err := cmd.Output()
		r.must(err)
		return string(saw)
	}
	open := regexp.MustCompile(
		`^(runs/.*|ssh_config|known_hosts|nsswitch|passwd-\w+|sshd-\w+(\.log)?|\w+\.pub|` +
			regexp.QuoteMeta(filepath.Base(file)) + `)$`)
	words := map[string]bool{}
	commands, sockets, looks := 0, 0, 0
	said, stdout := r.follow(cmd, func(line string) {
		// Before the first trial, and after it.
		if !strings.Contains(line, "the run directory is") && !strings.Contains(line, "trial 1/2") {
			return
		}
		looks++
		waitUntil(t, "netperf on a host", func() []markedProcess { return r.onHosts("netperf -H") })
		var pids []int
		for _, p := range append(marked(t, mark), r.onHosts("")...) {
			pids = append(pids, p.pid)
		}
		for name, h := range map[string]*sshHost{"nearfar": nil, "client": r.hosts["client"], "server": r.hosts["server"]} {
			held := listening.SocketsOf(pids...)
			for line := range strings.Lines(look(h, pids)) {
				line = strings.TrimSpace(line)
				kind, what, _ := strings.Cut(line, " ")
				path, _ := filepath.Rel(r.dir, what) // empty for what is no path
				found := passphrase.FindStringSubmatch(what)
				switch {
				case kind == "socket" && !ofTest(what, held, listening.SocketsOf(pids...)):
				case kind == "sees" && found != nil && slices.Contains([]string{"netperf", "netserver"}, programOf(what)):
					words[found[1]] = true
				case kind == "sees" && found == nil && !strings.Contains(what, join):
					commands++
				case kind == "reads" && open.MatchString(path):
				case kind == "writes" && what == r.dir: // the test's own folder
				case kind == "socket" && (strings.Contains(what, r.dir+"/home-"+name+"/") || reserved.MatchString(what)):
					sockets++ // find would list one in a folder that can be reached
				default:
					t.Errorf("another user on %s %s", name, line)
				}
			}
		}
	})
	if code := cmd.ProcessState.ExitCode(); code != 0 {
		t.Fatalf("exit code %d\n%s", code, said)
	}
	wantNoFailures(t, answerOf(t, stdout, r.dir))
	t.Logf("%d looks: %d command lines, %d passphrases, %d sockets", looks, commands, len(words), sockets)
	if looks != 2 || commands == 0 || len(words) != 2 {
		t.Errorf("the test looks at the wrong place:\n%s", said)
	}
	for word := range words {
		found, _ := exec.Command("grep", "-rlF", "-e", word, "-e", join, r.dir).Output() // it fails if there is none
		if len(found) > 0 {
			t.Errorf("a secret is in %s", found)
		}
	}
	m.nothingLeft(mark)
}
