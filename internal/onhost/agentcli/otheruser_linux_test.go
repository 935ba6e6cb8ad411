package agentcli

import (
	"context"
	"encoding/json"
	"fmt"
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

	"nearfar/internal/onhost/confine"
	"nearfar/internal/onhost/host"
	"nearfar/internal/onhost/listening"
)

// TestAnotherUserSees: another user of a machine reads command lines of an agent there, with netperf's passphrase. They read no
// other secret and nothing else, while a trial of netperf and one of the engine run.
func TestAnotherUserSees(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root is several users")
	}
	j := startJoined(t, "--listen", "127.0.0.1:0")
	// Every user may walk down to the agent's own folder.
	for _, path := range []string{j.folder, filepath.Dir(j.folder)} {
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	c := j.connect()
	h := c.Host()
	server(t, h, freePort(t))
	const passphrase = "PASSPHRASEOFATRIAL"
	control, data := freePort(t), freePort(t)
	o := confine.Options{Strict: true, Ports: []int{control, data}}
	p, err := h.Start(t.Context(), host.Cmd{Argv: append(append([]string{host.Self}, o.Args()...), "netserver", "-D", "-f",
		"-L", "127.0.0.1,4", "-p", strconv.Itoa(control), "-Z", passphrase)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := p.Serves(ctx, "tcp", control); err != nil {
		t.Fatal(err)
	}
	pids := processesWith(j.folder)
	if len(pids) < 4 { // keeper, worker, engine, netserver
		t.Fatalf("the agent's processes are %d", pids)
	}
	self := filepath.Join(filepath.Dir(j.folder), "look")
	program, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = os.WriteFile(self, program, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	argv := []string{lookVerb, j.folder}
	for _, pid := range pids {
		argv = append(argv, strconv.Itoa(pid))
	}
	other := exec.CommandContext(t.Context(), self, argv...)
	other.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 1_999_999_998, Gid: 1_999_999_998}}
	other.Stderr = t.Output()
	held := listening.SocketsOf(pids...)
	printed, err := other.Output()
	if err != nil {
		t.Fatal(err)
	}
	var saw Looked
	if err := json.Unmarshal(printed, &saw); err != nil {
		t.Fatal(err)
	}
	// Agents of other tests, which run at the same time, have sockets with nearfar's name too.
	maps.Copy(held, listening.SocketsOf(pids...))
	maps.DeleteFunc(saw.Sockets, func(inode, _ string) bool { return !held[inode] })
	if len(saw.Files)+len(saw.Sockets)+len(saw.Environments)+len(saw.Descriptors) > 0 ||
		!slices.Equal(saw.Folders, []string{j.folder}) {
		t.Errorf("another user sees %+v", saw)
	}
	netserver := 0
	for pid, line := range saw.Commands {
		if line == "" {
			t.Errorf("process %d has no command line: the test looks at the wrong ones", pid)
		}
		for _, secret := range []string{j.join.Encode(), j.join.Encode()[20:60], j.join.Session(),
			"0123456789abcdef0123456789abcdef"} {
			if strings.Contains(line, secret) {
				t.Errorf("process %d: %s", pid, line)
			}
		}
		if strings.Contains(line, passphrase) {
			netserver++
			status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
			if !strings.HasPrefix(line, "netserver ") || strings.Contains(string(status), "Uid:\t0\t") {
				t.Errorf("process %d is root's, or no netserver: %s", pid, line)
			}
		}
	}
	if netserver != 1 {
		t.Errorf("%d processes have the passphrase: %v", netserver, saw.Commands)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	j.wantEnd(0)
}
