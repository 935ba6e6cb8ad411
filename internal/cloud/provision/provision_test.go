package provision

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nearfar/internal/declare/experiment"
)

func TestHostsFile(t *testing.T) {
	text, err := hostsFile([]byte(`{"a": {"ssh": "me@1.2.3.4", "address": null, "port": 7000}, "b": {"ssh": "${HOME}"},
		"c": {"ssh": "unused"}}`), []string{"a", "b"})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{
  "hosts": {
    "a": {
      "port": 7000,
      "ssh": "me@1.2.3.4"
    },
    "b": {
      "ssh": "$${HOME}"
    }
  }
}`
	if string(text) != want {
		t.Errorf("%s", text)
	}
	for output, says := range map[string]string{
		"":                    "there is none",
		`["a"]`:               "no mapping of hosts",
		`{"a": "vm"}`:         "no mapping of hosts",
		`{"a": {"ssh": "x"}}`: "no host b, which the file declares as provisioned",
		`{"b": null}`:         "no host a",
	} {
		if _, err := hostsFile([]byte(output), []string{"a", "b"}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", output, err, says)
		}
	}
}

func TestDataSourcesAreNoResources(t *testing.T) {
	for address, want := range map[string]bool{
		"data.a.b": true, "a.b": false, "module.m.data.a.b": true, "module.m.a.data": false, "module.data.a.b": false,
		`module.m["x.data.y"].a.b`: false, `module.m["k"].data.a.b[0]`: true, "module.m.module.n.data.a.b": true,
		"module.": false, "module.m[": false, "": false,
	} {
		if got := isData(address); got != want {
			t.Errorf("%q: %v", address, got)
		}
	}
}

func testProject(t *testing.T) *Project {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	e := &experiment.Experiment{Name: "x", Provision: &experiment.Provision{Tofu: "tofu", TTL: time.Hour}}
	p, err := Open(filepath.Join(t.TempDir(), "experiment.yaml"), e, Options{Owner: "me@here"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A folder is locked for one process, and the lock of a folder that was removed is none.
func TestLock(t *testing.T) {
	p := testProject(t)
	if err := makeFolder(p.folder); err != nil {
		t.Fatal(err)
	}
	first, err := lock(p.folder)
	if err != nil {
		t.Fatal(err)
	}
	var busy *BusyError
	if _, err := lock(p.folder); !errors.As(err, &busy) {
		t.Errorf("locked twice: %v", err)
	}
	if err := first.free(); err != nil {
		t.Fatal(err)
	}
	again, err := lock(p.folder)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.free(); err != nil {
		t.Fatal(err)
	}
}

// Records are found from everywhere. One that cannot be read is named.
func TestList(t *testing.T) {
	p := testProject(t)
	if err := makeFolder(p.folder); err != nil {
		t.Fatal(err)
	}
	p.now = time.Now().UTC()
	if err := p.making(&tool{name: "tofu", version: "1"}, 1, 0, StateMaking, true); err != nil {
		t.Fatal(err)
	}
	records, problems := List(t.TempDir())
	if len(records) != 1 || len(problems) > 0 || records[0].Name != "x" || records[0].State != StateMaking {
		t.Errorf("%+v, %v", records, problems)
	}
	if text := records[0].StateText(); text != "nearfar up is making them" {
		t.Error(text)
	}
	info, err := os.Stat(filepath.Join(p.folder, recordFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v (%v)", info, err)
	}
	if err := os.WriteFile(filepath.Join(p.folder, recordFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if records, problems := List(filepath.Dir(p.file)); len(records) > 0 || len(problems) != 1 {
		t.Errorf("%+v, %v", records, problems)
	}
	if err := p.forget(); err != nil {
		t.Fatal(err)
	}
	if records, problems := List("."); len(records)+len(problems) > 0 {
		t.Errorf("%+v, %v", records, problems)
	}
}

// Another process with the number of an ended one is not taken for it.
func TestProcess(t *testing.T) {
	me := self()
	if me.Started == "" {
		t.Skip("this system does not tell when a process started")
	}
	if me.ended() {
		t.Error("this process has ended")
	}
	other := &Process{me.PID, me.Started + "0"}
	if !other.ended() || other.stop(kindTofu) {
		t.Error("another process was taken for an ended one")
	}
	var none *Process
	if none.ended() || none.stop(kindTofu) {
		t.Error("no process has ended")
	}
}

// A missing program is named, and nothing is left of the attempt.
func TestWithoutProgram(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	p := testProject(t)
	err := p.Up(t.Context(), nil)
	if err == nil || !strings.Contains(err.Error(), "tofu or terraform is not installed") {
		t.Errorf("%v", err)
	}
	if r, err := p.Record(); r != nil || err != nil {
		t.Errorf("%+v, %v", r, err)
	}
}

// What a program prints is read piece by piece, and can be discarded while it prints, so that it does not fill the disk.
func TestPrintedIsDiscarded(t *testing.T) {
	name := filepath.Join(t.TempDir(), "out")
	program, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = program.Close() }()
	file, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	o := &printed{file: file, into: &lines{}}
	prints := func(n int) {
		t.Helper()
		if _, err := program.WriteString(strings.Repeat("x", n)); err != nil {
			t.Fatal(err)
		}
	}
	prints(maxPiece + 5)
	for _, want := range []int64{maxPiece, maxPiece + 5} {
		if more, err := o.next(); !more || err != nil || o.read != want {
			t.Errorf("read %d, %t, %v, want %d", o.read, more, err, want)
		}
	}
	if more, err := o.next(); more || err != nil {
		t.Errorf("%t, %v", more, err)
	}
	for range 3 {
		prints(1000)
		if err := o.discard(); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(name)
	if err != nil || info.Size() != 0 || o.cut != maxPiece+5+3000 {
		t.Errorf("%d bytes are there, %d were cut, %v", info.Size(), o.cut, err)
	}
}
