//go:build linux

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"debug/elf"
	"debug/pe"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"nearfar/internal/declare/result"
	"nearfar/internal/kits/winetest"
	"nearfar/internal/onhost/agent/binaries"
	engineprocess "nearfar/internal/onhost/engine/process"
	"nearfar/internal/onhost/engine/record"
)

// The builds for other systems run, arm64 under qemu-user and Windows under Wine. Their figures are not judged.

// patience limits each step that waits for a program, of which some run in an emulator. On a quiet machine each step
// takes seconds; beside other tests, a step of OpenTofu has taken more than two minutes.
const patience = 5 * time.Minute

// need finds a program on PATH or elsewhere. It fails the test if the program is missing.
func need(t *testing.T, debianPackage, program string, elsewhere ...string) string {
	t.Helper()
	for _, place := range append([]string{program}, elsewhere...) {
		if path, err := exec.LookPath(place); err == nil {
			return path
		}
	}
	t.Fatalf("%s is needed: install the package %s, or run scripts/install-tools.sh test", program, debianPackage)
	return ""
}

// dist runs scripts/dist.sh into a directory.
func dist(t *testing.T, dir string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join("scripts", "dist.sh"), dir)
	cmd.Dir = filepath.Join("..", "..")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("dist.sh: %v\n%s", err, out)
	}
}

// builds is the directory that dist.sh wrote.
type builds string

func (b builds) get(name string) string { return filepath.Join(string(b), name) }

// TestDist runs dist.sh once, and all tests of what it builds.
func TestDist(t *testing.T) {
	t.Parallel()
	b := builds(filepath.Join(workspace(t), "dist"))
	dist(t, string(b))
	together(t, 3, map[string]func(*testing.T){
		"builds":  func(t *testing.T) { checkBuilds(t, b) },
		"arm64":   func(t *testing.T) { checkArm64(t, b) },
		"windows": func(t *testing.T) { checkWindows(t, b) },
	})
}

// checkStatedSize: docs/dist.md states the size of a build to within 1 MB. It is of a build with all agents.
func checkStatedSize(t *testing.T, system string, bytes int) {
	t.Helper()
	for _, s := range binaries.Systems() {
		if _, err := binaries.For(s); errors.Is(err, binaries.ErrMissing) {
			return
		}
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "dist.md"))
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`\| ` + strings.Replace(system, "-", "/", 1) + ` \| ([0-9.]+) MB \|`).FindSubmatch(page)
	if row == nil {
		t.Fatalf("docs/dist.md states no size of %s", system)
	}
	stated, err := strconv.ParseFloat(string(row[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	if is := float64(bytes) / 1e6; math.Abs(is-stated) > 1 {
		t.Errorf("docs/dist.md says that %s has %.1f MB; it has %.1f MB", system, stated, is)
	}
}

// checkBuilds: the builds have the checksums of SHA256SUMS, are static, and contain no directory of this machine. A
// second dist.sh, which links again what the first has compiled, makes the same bytes.
func checkBuilds(t *testing.T, b builds) {
	sums, err := os.ReadFile(b.get("SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	systems := []string{"linux-amd64", "linux-arm64", "windows-amd64.exe", "darwin-arm64", "darwin-amd64"}
	for _, system := range systems {
		name := "nearfar-" + system
		program, err := os.ReadFile(b.get(name))
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(program)
		if !strings.Contains(string(sums), hex.EncodeToString(sum[:])+"  "+name+"\n") {
			t.Errorf("SHA256SUMS has another sum of %s, or none:\n%s", name, sums)
		}
		if bytes.Contains(program, []byte(root+"/")) {
			t.Errorf("%s names %s", name, root)
		}
		t.Logf("%s: %d bytes", name, len(program))
		checkStatedSize(t, strings.TrimSuffix(system, ".exe"), len(program))
	}
	for _, s := range binaries.Systems() {
		a, err := binaries.For(s)
		if errors.Is(err, binaries.ErrMissing) {
			continue // dist.sh has nothing to unpack
		}
		name := "nearfar-agent-" + s.OS + "-" + s.Arch
		if s.OS == "windows" {
			name += ".exe"
		}
		program, readErr := os.ReadFile(b.get(name))
		if err != nil || readErr != nil || !bytes.Equal(program, a.Content) {
			t.Errorf("%s is not the agent that nearfar contains: %v, %v", name, err, readErr)
		}
		if !strings.Contains(string(sums), a.Hash+"  "+name+"\n") {
			t.Errorf("SHA256SUMS has another sum of %s, or none", name)
		}
	}
	machines := map[string]elf.Machine{"nearfar-linux-amd64": elf.EM_X86_64, "nearfar-linux-arm64": elf.EM_AARCH64}
	for name, machine := range machines {
		f, err := elf.Open(b.get(name))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range f.Progs {
			if p.Type == elf.PT_INTERP {
				t.Errorf("%s is not static", name)
			}
		}
		if f.Machine != machine {
			t.Errorf("%s is for %v", name, f.Machine)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	f, err := pe.Open(b.get("nearfar-windows-amd64.exe"))
	if err != nil {
		t.Fatal(err)
	}
	if f.Machine != pe.IMAGE_FILE_MACHINE_AMD64 {
		t.Errorf("the Windows build is for machine %#x", f.Machine)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	again := filepath.Join(workspace(t), "again")
	dist(t, again)
	other, err := os.ReadFile(filepath.Join(again, "SHA256SUMS"))
	if err != nil || !bytes.Equal(sums, other) {
		t.Errorf("built again: %v\n%s\nbefore:\n%s", err, other, sums)
	}
}

// A platform is a way to run a build.
type platform struct {
	// system is what the program reports as its system.
	system string
	// prefix begins the command line: the program, and an emulator before it.
	prefix []string
	env    []string
	// udp is the prefix for commands that open UDP sockets, if it is different.
	udp []string
}

// overUDP returns the platform for commands that open UDP sockets.
func (p platform) overUDP() platform {
	if p.udp != nil {
		p.prefix = p.udp
	}
	return p
}

// command makes a command of the platform, which ends with the test.
func (p platform) command(t *testing.T, args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	argv := append(append([]string(nil), p.prefix...), args...)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.WaitDelay = 10 * time.Second // if another process keeps its output open
	// With asynchronous preemption off from the start the engine does not start itself again. An emulator could not do
	// that.
	cmd.Env = append(os.Environ(), engineprocess.Environment(), "NEARFAR_ENGINE_SECRET=between platforms")
	cmd.Env = append(cmd.Env, p.env...)
	return cmd
}

// output runs the program and returns its standard output.
func (p platform) output(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := p.command(t, args...)
	cmd.Dir = dir
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %v\n%s%s", cmd.Args, err, stdout.String(), stderr.String())
	}
	return stdout.String()
}

// native is the program that TestMain built.
func native() platform { return platform{system: "linux/amd64", prefix: []string{program}} }

var servesOn = regexp.MustCompile(`serves on (127\.0\.0\.1:\d+)`)

// serve starts a server for one session, and returns its address and a function that waits for its end.
func (p platform) serve(t *testing.T) (string, func()) {
	t.Helper()
	cmd := p.command(t, "engine", "serve", "--listen", "127.0.0.1:0", "--once")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines, said := bufio.NewScanner(stderr), ""
	for lines.Scan() {
		said += lines.Text() + "\n"
		if m := servesOn.FindStringSubmatch(lines.Text()); m != nil {
			return m[1], func() {
				t.Helper()
				rest, err := io.ReadAll(stderr)
				if err := errors.Join(err, cmd.Wait()); err != nil {
					t.Errorf("%v: %v\n%s%s", cmd.Args, err, said, rest)
				}
			}
		}
	}
	t.Fatalf("%v does not say where it serves: %v\n%s", cmd.Args, cmd.Wait(), said)
	return "", nil
}

// between measures in every mode, with a client and a server on different platforms.
func between(t *testing.T, client, server platform) {
	for _, c := range []struct {
		metric string
		args   []string
	}{
		{result.TransactionRate, []string{"rr"}},
		{result.TransactionRate, []string{"rr", "--protocol", "udp"}},
		{result.TransactionRate, []string{"crr"}},
		{result.Goodput, []string{"stream", "--connections", "2"}},
		{result.MessageRate, []string{"messages", "--protocol", "tcp", "--rate", "1000/s"}},
		// Segmentation needs the path MTU, which qemu cannot ask for.
		{result.MessageRate, []string{"messages", "--protocol", "udp", "--rate", "1000/s", "--segment=false"}},
	} {
		client, server := client, server
		if slices.Contains(c.args, "udp") {
			client, server = client.overUDP(), server.overUDP()
		}
		t.Run(fmt.Sprintf("%s to %s: %s", client.system, server.system, strings.Join(c.args, " ")), func(t *testing.T) {
			address, ended := server.serve(t)
			args := []string{"engine", c.args[0], address, "-f", "json", "--warmup", "50ms", "--duration", "200ms"}
			args = append(args, c.args[1:]...)
			run, err := record.Read([]byte(client.output(t, "", args...)))
			if err != nil {
				t.Fatal(err)
			}
			ended()
			r := run.Result
			if r.Facts["os"] != client.system || r.Facts["server.os"] != server.system {
				t.Errorf("measured between %s and %s", r.Facts["os"], r.Facts["server.os"])
			}
			for side, system := range map[string]string{"": client.system, "server.": server.system} {
				if viaGo := r.Facts[side+"io"] == "Go net package"; viaGo == strings.HasPrefix(system, "linux/") {
					t.Errorf("%s sends and receives by %q", system, r.Facts[side+"io"])
				}
			}
			for _, m := range r.Metrics {
				if m.Name == c.metric && m.Scope == "" && m.Value > 0 {
					t.Logf("%s %.4g %s", m.Name, m.Value, m.Unit)
					return
				}
			}
			t.Errorf("no %s: %v", c.metric, r.Metrics)
		})
	}
}

// loadBetween offers requests at a rate, with a client and a server on different platforms. Each request must be sent
// once and get its reply, and the counts of both sides must agree.
func loadBetween(t *testing.T, client, server platform) {
	const rate, offered = "500/s", 250
	for _, protocol := range []string{"tcp", "udp"} {
		client, server := client, server
		if protocol == "udp" {
			client, server = client.overUDP(), server.overUDP()
		}
		t.Run(fmt.Sprintf("%s to %s: load over %s", client.system, server.system, protocol), func(t *testing.T) {
			address, ended := server.serve(t)
			run, err := record.Read([]byte(client.output(t, "", "engine", "load", address, "-f", "json", "--rate", rate,
				"--protocol", protocol, "--connections", "3", "--warmup", "100ms", "--duration", "500ms")))
			if err != nil {
				t.Fatal(err)
			}
			ended()
			r := run.Result
			if r.Facts["os"] != client.system || r.Facts["server.os"] != server.system {
				t.Errorf("measured between %s and %s", r.Facts["os"], r.Facts["server.os"])
			}
			for _, name := range []string{"offered", "sent", "answered"} {
				if r.Facts[name] != strconv.Itoa(offered) {
					t.Errorf("%s is %s, want %d: %v", name, r.Facts[name], offered, r.Metrics)
				}
			}
			value := func(name, stat string) float64 {
				at := slices.IndexFunc(r.Metrics, func(m result.Metric) bool {
					return m.Name == name && m.Stat == stat && m.Scope == ""
				})
				if at < 0 {
					t.Fatalf("no %s %s: %v", name, stat, r.Metrics)
				}
				return r.Metrics[at].Value
			}
			arrived := protocol != "udp" || value(result.Received, "") == offered && value(result.Lost, "") == 0
			if !arrived || value(result.Unanswered, "") != 0 {
				t.Errorf("not every request has its reply: %v", r.Metrics)
			}
			for _, name := range []string{result.ResponseTime, result.ServiceTime} {
				before := 0.0
				for _, stat := range []string{result.Min, result.P50, result.P90, result.Max} {
					v := value(name, stat)
					if v < before || v <= 0 {
						t.Errorf("%s %s is %v, after %v", name, stat, v, before)
					}
					before = v
				}
			}
			// Each request waits in the sender, and then for its reply.
			waited, served := value(result.ResponseTime, result.Mean), value(result.ServiceTime, result.Mean)
			late := value(result.SendLateness, result.Mean)
			if math.Abs(waited-late-served) > 1e-6 {
				t.Errorf("response time %v s is not lateness %v s and service time %v s together", waited, late, served)
			}
			t.Logf("%s: response time %v s", r.Facts["pacing"], waited)
		})
	}
}

func checkArm64(t *testing.T, b builds) {
	qemu := need(t, "qemu-user", "qemu-aarch64")
	arm := platform{system: "linux/arm64", prefix: []string{qemu, b.get("nearfar-linux-arm64")}}
	if said := arm.output(t, "", "version"); !strings.Contains(said, " linux/arm64 ") {
		t.Errorf("version: %s", said)
	}
	between(t, arm, native())
	between(t, native(), arm)
	loadBetween(t, arm, native())
	loadBetween(t, native(), arm)
}

// onWindows is a build for Windows under Wine.
func onWindows(t *testing.T, program string) platform {
	t.Helper()
	w := winetest.New(t)
	return platform{
		system: "windows/amd64", prefix: []string{w.Loader, program}, env: w.Env,
		udp: []string{w.Loader, w.WithUDP(t, program, "udp.exe")},
	}
}

func checkWindows(t *testing.T, b builds) {
	windows := onWindows(t, b.get("nearfar-windows-amd64.exe"))
	if said := windows.output(t, "", "version"); !strings.Contains(said, " windows/amd64 ") {
		t.Errorf("version: %s", said)
	}
	between(t, windows, native())
	between(t, native(), windows)
	loadBetween(t, windows, native())
	loadBetween(t, native(), windows)
	recorded := filepath.Join("..", "measure", "tool", "testdata", "sockperf", "3.7")
	files, err := filepath.Glob(filepath.Join(recorded, "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded outputs in %s: %v", recorded, err)
	}
	args := []string{"import", "--json"}
	for _, f := range files {
		args = append(args, filepath.Base(f))
	}
	if got, want := windows.output(t, recorded, args...), native().output(t, recorded, args...); got != want {
		t.Errorf("imported on Windows:\n%s\nand here:\n%s", got, want)
	}
}
