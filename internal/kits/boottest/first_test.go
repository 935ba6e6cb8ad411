//go:build linux

package boottest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// firstCommands reads the commands under "Build it from source" in README.md: the lines of its blocks, without their
// comments.
func firstCommands(t *testing.T) (commands []string, readme string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, part, found := strings.Cut(string(text), "\n## Build it from source\n")
	part, _, ends := strings.Cut(part, "\n## ")
	if !found || !ends {
		t.Fatal("README.md has no part \"Build it from source\"")
	}
	inside := false
	for line := range strings.Lines(part) {
		command, _, _ := strings.Cut(strings.TrimSpace(line), "   #")
		switch {
		case strings.HasPrefix(line, "```"):
			inside = strings.TrimSpace(line) == "```sh"
		case inside && command != "":
			commands = append(commands, strings.TrimSpace(command))
		}
	}
	return commands, string(text)
}

// On a bare Debian, the commands of README.md lead to an answer between two machines, typed as they stand. The machines
// are in a network of the test; vm-a and vm-b are names in the ssh configuration, as they would be for a person. Left
// out is `make test`.
func TestFirstContact(t *testing.T) {
	commands, readme := firstCommands(t)
	if len(commands) < 6 {
		t.Fatalf("README.md has %d commands: %q", len(commands), commands)
	}
	if os.Getenv("NEARFAR_FIRST") == "" {
		t.Skip("it installs packages, and compiles everything anew: NEARFAR_FIRST=1 runs it")
	}
	const folder = "/root/nearfar"
	network, system := NewNetwork(t), NewBare(t)
	machines := sshMachines(t, network, Image{System: "debian"})
	for _, m := range machines {
		m.Wait("sshd listens", within, func() bool { return m.Listens(22) })
	}
	system.Clone(folder)
	system.Write("/root/.ssh/config", sshConfig(machines, "debian", "/root/.ssh/id"), 0o600)
	system.Write("/root/.ssh/id", machines[0].private, 0o600)

	begun, answer := time.Now(), ""
	for _, command := range commands {
		if command == "make test" {
			continue
		}
		on := network
		if !strings.HasPrefix(command, "nearfar ") {
			on = nil
		}
		if strings.HasPrefix(command, "make build") {
			checkAgentless(t, system, folder)
		}
		started := time.Now()
		out, err := system.Type(folder, command, on, time.Hour)
		t.Logf("%4.0f s  %s", time.Since(started).Seconds(), command)
		if err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
		answer = out
		if command == "make demo" {
			t.Log(out)
			checkSample(t, readme, out)
		}
	}
	t.Logf("%4.0f s in all\n%s", time.Since(begun).Seconds(), answer)
	for _, want := range []string{"How long is a round trip between the two", "rr, rtt p50 in us", "bulk, goodput"} {
		if !strings.Contains(answer, want) {
			t.Errorf("the answer has no %q", want)
		}
	}
}

// checkAgentless checks that the demo's program says that it reaches no machine, and what to do.
func checkAgentless(t *testing.T, system *Bare, folder string) {
	t.Helper()
	const run = "bin/nearfar run --set CLIENT=nowhere-a --set SERVER=nowhere-b labs/byo-ssh/experiment.yaml"
	out, err := system.Type(folder, run, nil, time.Minute)
	if err == nil || !strings.Contains(out, "first, second: ") || !strings.Contains(out, "make build") {
		t.Errorf("the demo's program says: %v\n%s", err, out)
	}
}

// checkSample checks that README.md's sample shows the tables that a reader's demo shows.
func checkSample(t *testing.T, readme, demo string) {
	t.Helper()
	tables := regexp.MustCompile(`(?m)^  \S+, rtt \S+ in us$`).FindAllString(readme, -1)
	if len(tables) == 0 {
		t.Error("README.md shows no table of round trips")
	}
	for _, table := range tables {
		if !strings.Contains(demo, table) {
			t.Errorf("README.md shows the table %q, which the demo does not print", strings.TrimSpace(table))
		}
	}
}

// sshMachine is a machine that a key lets in.
type sshMachine struct {
	*Machine
	private string
}

// sshMachines starts two machines of an image, with a key.
func sshMachines(t *testing.T, network *Network, image Image) []sshMachine {
	t.Helper()
	file := filepath.Join(t.TempDir(), "id")
	cmd := exec.CommandContext(t.Context(), "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", file)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("ssh-keygen: %v\n%s", err, out)
	}
	private, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	public, err := os.ReadFile(file + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	image.Key = strings.TrimSpace(string(public))
	var machines []sshMachine
	for range 2 {
		machines = append(machines, sshMachine{network.Start(image), string(private)})
	}
	return machines
}

// sshConfig names machines vm-a and vm-b for ssh.
func sshConfig(machines []sshMachine, user, key string) string {
	var text strings.Builder
	for i, m := range machines {
		text.WriteString("Host vm-" + string(rune('a'+i)) + "\n  HostName " + m.Address + "\n  User " + user + "\n")
	}
	text.WriteString("Host *\n  IdentityFile " + key + "\n  StrictHostKeyChecking accept-new\n")
	return text.String()
}
