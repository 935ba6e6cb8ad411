package cli

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	experimentfile "nearfar/internal/declare/experiment/file"
	"nearfar/internal/declare/rundir"
	"nearfar/internal/measure/tool"
)

const joinFile = `nearfar: v1
name: joined
hosts:
  a: {ssh: vm-a}
  v: {agent: nearfar-agent.1.CANARY-in-the-file}
  w: {agent: "${TEST_JOIN}"}
arms: {one: {client: a, server: v}, two: {client: a, server: w}}
workloads: [{name: rr, tool: native, duration: 100ms}]
schedule: {blocks: 6, seed: 1}
`

// A join string is in no file of a run, and in no output of a verb, whether the verb works or fails.
func TestJoinStringsStaySecret(t *testing.T) {
	const secret = "CANARY"
	t.Setenv("TEST_JOIN", "nearfar-agent.1."+secret+"-of-the-environment")
	base := t.TempDir()
	file, wrong := filepath.Join(base, "joined.yaml"), filepath.Join(base, "wrong.yaml")
	further := filepath.Join(base, "hosts.yaml")
	for name, text := range map[string]string{
		file: joinFile, wrong: strings.ReplaceAll(joinFile, "agent: ", "prot: 1, address: "),
		further: "hosts: {v: {agent: nearfar-agent.1.CANARY-of-a-file, sudo: true}}",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	in := experimentfile.Inputs{Variable: os.LookupEnv}
	e, err := experimentfile.ParseWith(file, []byte(joinFile), tool.Declared(), in)
	if err != nil {
		t.Fatal(err)
	}
	if w, _ := e.Host("w"); !strings.Contains(w.Agent, secret) {
		t.Fatalf("host w has not its join string")
	}
	dir, err := rundir.Create(filepath.Join(base, "runs"), rundir.Manifest{Nearfar: "v1", Experiment: e, Seed: 1,
		State: rundir.Interrupted, Started: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	if err := dir.Close(); err != nil {
		t.Fatal(err)
	}
	run := func(code int, says string, args ...string) {
		t.Helper()
		var out bytes.Buffer
		if got := Main(args, strings.NewReader(""), &out, &out); got != code || !strings.Contains(out.String(), says) {
			t.Errorf("nearfar %q: exit code %d, want %d; it must say %q:\n%s", args, got, code, says, out.String())
		}
		if strings.Contains(out.String(), secret) {
			t.Errorf("nearfar %q prints a join string:\n%s", args, out.String())
		}
	}
	run(exitDone, "one", "validate", "-f", "json", file)
	run(exitUsage, "prot", "validate", wrong)
	run(exitUsage, "prot", "validate", "-f", "json", wrong)
	run(exitUsage, "sudo has no meaning with agent", "validate", "--hosts", further, file)
	run(exitDone, "w: agent", "run", "--dry-run", file)
	run(exitDone, "w: agent", "run", "--dry-run", "--resume", dir.Path)
	run(exitUsage, "the join string of host v is not recorded: give it with --hosts FILE", "run", "--resume", dir.Path)
	run(exitUsage, "sudo has no meaning with agent", "run", "--resume", dir.Path, "--hosts", further)
	run(exitDone, "joined", "report", dir.Path)
	run(exitDone, "<html", "report", "-f", "html", dir.Path)
	run(exitDone, "{", "report", "-f", "json", dir.Path)
	if err := filepath.WalkDir(filepath.Join(base, "runs"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(secret)) {
			t.Errorf("%s has a join string", path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	record, err := os.ReadFile(filepath.Join(dir.Path, "run.json"))
	if err != nil || !bytes.Contains(record, []byte("${TEST_JOIN}")) || !bytes.Contains(record, []byte("(secret)")) {
		t.Errorf("run.json does not say where join strings came from (%v)", err)
	}
}
