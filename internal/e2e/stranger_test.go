//go:build linux

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"nearfar/internal/onhost/listening"
)

// lookAround is what another user tries. $1 is the folder of nearfar's user, the other arguments are nearfar's processes.
// It prints a line for everything that it can do.
const lookAround = `
find "$1" -not -type l -writable 2>/dev/null | sed 's/^/writes /'
find "$1" -not -type d -readable 2>/dev/null | sed 's/^/reads /'
grep -i nearfar /proc/net/unix | sed 's/^/socket /'
shift
for p; do
	echo "sees $(tr '\0' ' ' <"/proc/$p/cmdline")"
	for name in environ maps mem; do cat "/proc/$p/$name" >/dev/null 2>&1 && echo "opens $name of $p"; done
	for name in fd root; do ls "/proc/$p/$name/" >/dev/null 2>&1 && echo "opens $name of $p"; done
	kill -0 "$p" 2>/dev/null && echo "signals $p"
done
exit 0
`

// looking is the command line of a look around.
func looking(folder string, pids []int) []string {
	argv := []string{"sh", "-c", lookAround, "sh", folder}
	for _, pid := range pids {
		argv = append(argv, strconv.Itoa(pid))
	}
	return argv
}

// ofTest says whether a line of proc_net_unix(5) is a socket that the test's processes held before or after the look.
// Other tests, which run at the same time, have sockets with nearfar's name too.
func ofTest(line string, held ...map[string]bool) bool {
	const inode = 6
	fields := strings.Fields(line)
	return slices.ContainsFunc(held, func(h map[string]bool) bool { return len(fields) > inode && h[fields[inode]] })
}

// madeByNobody is a program that makes no machines and keeps a secret in its state.
const madeByNobody = `#!/bin/sh
case $1 in
version) echo '{"terraform_version":"1.9.0"}' ;;
plan) echo '{"type":"change_summary","changes":{"add":1}}' ;;
show) echo '{"configuration":{"root_module":{"variables":{"token":{}}}}}' ;;
apply) for a; do case $a in -state=*) echo "$TF_VAR_token" >"${a#-state=}" ;; esac; done ;;
output) echo '{"hosts":{"value":{"vm-a":{"ssh":"x"}}}}' ;;
state) echo a.b ;;
esac
exit 0
`

// TestStrangerOnTheMachine: on the machine where nearfar runs, in an account that is new, another user reads results,
// as the account's umask allows. They read neither the states of machines nor the environment, memory and open files of
// the processes, find no socket, and can write nowhere.
func TestStrangerOnTheMachine(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root is several users")
	}
	const owner, stranger = 1_999_999_991, 1_999_999_992
	dir := workspace(t)
	home := filepath.Join(dir, "home")
	put := func(name, text string, mode os.FileMode) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	put("bin/tofu", madeByNobody, 0o755)
	put("home/tofu/main.tf", "", 0o644)
	put("home/made.yaml", strings.Replace(experimentText, `{cloud: "${CLOUD}", token: "${TOKEN}"}RETRY`,
		`{token: "${TOKEN}"}`, 1), 0o600)
	put("home/run.yaml", `
nearfar: v1
name: fresh
baseline: a
arms:
  a: {lab: {path: [bridge]}}
  b: {lab: {path: [router]}}
workloads: [{name: rr, tool: native, mode: load, rate: 200/s, duration: 2s, warmup: 0}]
schedule: {blocks: 2, seed: 1}
`, 0o600)
	if err := filepath.Walk(home, func(path string, _ os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		return os.Chown(path, owner, owner)
	}); err != nil {
		t.Fatal(err)
	}
	own := marker + "=stranger-" + fmt.Sprint(os.Getpid())
	command := func(uid uint32, argv ...string) *exec.Cmd {
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Dir = home
		cmd.Env = []string{"HOME=" + home, "PATH=" + filepath.Join(dir, "bin") + ":" + os.Getenv("PATH"),
			"TOKEN=" + tokenCanary, own}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		return cmd
	}
	made, err := command(owner, program, "up", "--yes", "--on-failure", "keep", "made.yaml").CombinedOutput()
	// Of the two hosts that the file names, the module makes one.
	if !strings.Contains(string(made), "vm-b") || !strings.Contains(string(made), "is kept") {
		t.Fatalf("%v: %s", err, made)
	}
	run := startRunning(t, command(owner, program, "run", "--force", "--progress", "plain", "run.yaml"))
	run.says("trial 1/4")
	pids := waitUntil(t, "a tool beside nearfar and the lab", func() (pids []int) {
		for _, p := range marked(t, own) {
			pids = append(pids, p.pid)
		}
		if len(pids) < 3 {
			return nil
		}
		return pids
	})
	look := command(stranger, looking(dir, pids)...)
	look.Env = []string{"PATH=" + os.Getenv("PATH")}
	look.Dir = "/"
	held := listening.SocketsOf(pids...)
	saw, err := look.Output()
	if err != nil {
		t.Fatal(err)
	}
	results, commands := 0, 0
	for line := range strings.Lines(string(saw)) {
		line = strings.TrimSpace(line)
		kind, what, _ := strings.Cut(line, " ")
		switch {
		case kind == "socket" && !ofTest(what, held, listening.SocketsOf(pids...)):
		case kind == "reads" && strings.HasPrefix(what, home+"/runs/"):
			results++
		case kind == "reads" && slices.Contains([]string{dir + "/bin/tofu", home + "/tofu/main.tf"}, what):
		case kind == "sees" && !strings.Contains(what, tokenCanary):
			commands++
		case kind == "writes" && what == dir: // the test's own folder
		default:
			t.Errorf("another user %s", line)
		}
	}
	if results == 0 || commands == 0 {
		t.Errorf("the test looks at the wrong place: %s", saw)
	}
	if code := run.wait(); code != 0 {
		t.Errorf("the run ended with %d: %s", code, run.said())
	}
}
