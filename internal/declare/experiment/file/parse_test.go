package file

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/measure/tool"
)

var testTools = tool.Declared()

var update = flag.Bool("update", false, "write the golden files anew")

// examples are the experiment files of a folder of testdata, by name without the extension.
func examples(t testing.TB, folder string, least int) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", folder, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) < least {
		t.Fatalf("%d files in testdata/%s, want at least %d", len(paths), folder, least)
	}
	files := make(map[string][]byte)
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files[strings.TrimSuffix(filepath.Base(path), ".yaml")] = data
	}
	return files
}

// golden compares with a file of testdata, or writes it.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("differs from %s (-want +got):\n%s", path, diff)
	}
}

// canaryJoin begins every join string of testdata.
const canaryJoin = "CANARY"

// testInputs are the variables of the files of testdata. If there is a file NAME.hosts for NAME.yaml, it is the hosts
// file.
func testInputs(t testing.TB, folder, name string) Inputs {
	t.Helper()
	values := map[string]string{
		"VM_A": "vm-a", "WIN_JOIN": experiment.JoinPrefix + "1." + canaryJoin + "-d2lu", "SECONDS": "3s", "BLOCKS": "12",
		"EMPTY": "", "CONTROL": "a\x1b[2J", "STRUCTURE": "{ssh: vm-a, sudo: true}", "LIST": "[native]",
	}
	in := Inputs{Given: []string{"VM_A", "NAME"}, Variable: func(name string) (string, bool) {
		value, ok := values[name]
		return value, ok
	}}
	data, err := os.ReadFile(filepath.Join("testdata", folder, name+".hosts"))
	if err == nil {
		in.HostsName, in.Hosts = name+".hosts", data
	}
	return in
}

func TestValidFiles(t *testing.T) {
	for name, data := range examples(t, "valid", 6) {
		t.Run(name, func(t *testing.T) {
			e, err := ParseWith(name+".yaml", data, testTools, testInputs(t, "valid", name))
			if err != nil {
				t.Fatal(err)
			}
			resolved, err := json.MarshalIndent(e, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			golden(t, filepath.Join("testdata", "valid", name+".json"), string(resolved)+"\n")
			if text := string(resolved) + fmt.Sprintf("%v %+v %#v", e, e.Hosts, e.Hosts); strings.Contains(text, canaryJoin) {
				t.Error("the record or a printed experiment has a join string")
			}
		})
	}
}

func TestWrongFiles(t *testing.T) {
	for name, data := range examples(t, "wrong", 30) {
		t.Run(name, func(t *testing.T) {
			in := testInputs(t, "wrong", name)
			e, err := ParseWith(name+".yaml", data, testTools, in)
			if err == nil {
				t.Fatal("no mistake found")
			}
			if e != nil {
				t.Error("an experiment beside the error")
			}
			if in.Hosts == nil {
				checkMistakes(t, data, err)
			}
			if strings.Contains(err.Error(), canaryJoin) {
				t.Error("the messages have a join string")
			}
			golden(t, filepath.Join("testdata", "wrong", name+".golden"), err.Error()+"\n")
		})
	}
}

// TestParsedPassesChecks: what Parse makes passes both checks, also after it was written to a run directory and read
// again.
func TestParsedPassesChecks(t *testing.T) {
	all := examples(t, "valid", 6)
	labs, err := filepath.Glob(filepath.Join("..", "..", "..", "..", "labs", "*", "*.yaml"))
	if err != nil || len(labs) < 5 {
		t.Fatalf("%d labs, %v", len(labs), err)
	}
	for _, lab := range labs {
		if all[lab], err = os.ReadFile(lab); err != nil {
			t.Fatal(err)
		}
	}
	for name, data := range all {
		in := testInputs(t, "valid", name)
		known := in.Variable
		in.Variable = func(name string) (string, bool) {
			if value, ok := known(name); ok {
				return value, true
			}
			return "vm-" + strings.ToLower(name), true // a host, a node or an image of a lab
		}
		e, err := ParseWith(name, data, testTools, in)
		if err != nil {
			t.Fatal(err)
		}
		written, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		var again experiment.Experiment
		if err := json.Unmarshal(written, &again); err != nil {
			t.Fatal(err)
		}
		if err := again.CheckRunnable(testTools); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// checkMistakes checks what holds of every error of Parse: mistakes in order, within the file, that say something.
func checkMistakes(t *testing.T, data []byte, err error) {
	t.Helper()
	var mistakes *Mistakes
	if !errors.As(err, &mistakes) || len(*mistakes) == 0 {
		t.Fatalf("error %T %v, want *Mistakes", err, err)
	}
	lines := newSource("", data).lines
	var last Mistake
	for _, m := range *mistakes {
		if m.Line < 1 || m.Line > len(lines) || m.Column < 1 || m.Column > utf8.RuneCountInString(lines[m.Line-1])+1 {
			t.Errorf("position %d:%d lies outside of the file", m.Line, m.Column)
		}
		if m.Line < last.Line || m.Line == last.Line && m.Column < last.Column {
			t.Errorf("position %d:%d follows %d:%d", m.Line, m.Column, last.Line, last.Column)
		}
		if m.Message == "" {
			t.Errorf("%d:%d: no message", m.Line, m.Column)
		}
		last = m
	}
	for _, c := range err.Error() {
		if c < ' ' && c != '\n' || 0x7f <= c && c < 0xa0 {
			t.Errorf("the rendered error holds the control character %U", c)
		}
	}
}

func TestFileThatIsTooLarge(t *testing.T) {
	data := []byte("nearfar: v1\n# " + strings.Repeat("x", maxFile))
	_, err := Parse("big.yaml", data, testTools)
	if err == nil ||
		!strings.HasPrefix(err.Error(),
			"big.yaml:1:1: the file has 1048590 bytes: an experiment file has at most 1MiB\n") {
		t.Errorf("error %v", err)
	}
}

// Files that are made to be slow to read, just below the greatest size.
func TestHostileFilesAreReadInTime(t *testing.T) {
	const limit = 2 * time.Minute // far more than it takes; what grows with the square takes hours
	for name, part := range map[string]string{
		"deep lists":    "[",
		"deep mappings": "{a: ",
		"block lists":   "- ",
		"keys":          "abcdefghij: 1\n",
		"quotes":        "\"",
		"anchors":       "- &a [*a]\n",
		"wide":          "名",
		"marks":         "e\u0301\u0301\u0301",
		"long line":     "{wire: x}, ",
		"join strings":  "{agent: nearfar-agent.1.abcdefgh, ssh: ${NO}},\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := []byte(strings.Repeat(part, (maxFile-100)/len(part)))
			started := time.Now()
			_, err := Parse("hostile.yaml", data, testTools)
			if err == nil {
				t.Fatal("no mistake found")
			}
			checkMistakes(t, data, err)
			if took := time.Since(started); took > limit {
				t.Errorf("took %v", took)
			}
		})
	}
}

func TestManyMistakesAreCounted(t *testing.T) {
	_, err := Parse("many.yaml", []byte("nearfar: v1\nname: x\narms: {a: {lab: {path: [bridge]}}}\nworkloads:\n"+
		strings.Repeat("- {name: x y, tool: native}\n", 60)+strings.Repeat("- {name: ok, tool: natvi}\n",
		30)), testTools)
	var mistakes *Mistakes
	if !errors.As(err, &mistakes) {
		t.Fatalf("error %v", err)
	}
	// 60 names, 30 tools, and 29 that have the name of the first.
	if len(*mistakes) != 119 {
		t.Errorf("%d mistakes, want 119", len(*mistakes))
	}
	if !strings.HasSuffix(err.Error(), "\nand 19 more mistakes") {
		t.Errorf("the error ends with %q", err.Error()[len(err.Error())-40:])
	}
}

func TestMistakeIsDrawn(t *testing.T) {
	for _, c := range []struct {
		name string
		m    Mistake
		want string
	}{
		{"plain", Mistake{"f.yaml", 7, 3, "bad", "do this", "  x: y"},
			"f.yaml:7:3: bad: do this\n  7 |   x: y\n    |   ^"},
		{"no hint, no line", Mistake{"f.yaml", 1, 1, "bad", "", ""}, "f.yaml:1:1: bad"},
		{"after the end", Mistake{"f", 10, 5, "bad", "", "abcd"}, "f:10:5: bad\n  10 | abcd\n     |     ^"},
		{"tab", Mistake{"f", 1, 3, "bad", "", "\ta\tb"}, "f:1:3: bad\n  1 |     a    b\n    |      ^"},
		{"wide", Mistake{"f", 1, 3, "bad", "", "名前x"}, "f:1:3: bad\n  1 | 名前x\n    |     ^"},
		{"combining", Mistake{"f", 1, 3, "bad", "", "e\u0301x"}, "f:1:3: bad\n  1 | e\u0301x\n    |  ^"},
		{"control", Mistake{"\x1b[2Jf", 1, 2, "bad", "", "\x1bx\u202e"},
			"\\u001b[2Jf:1:2: bad\n  1 | \\u001bx\\u202e\n    |       ^"},
		{"no UTF-8", Mistake{"f", 1, 2, "bad", "", "\xffx"}, "f:1:2: bad\n  1 | \\ufffdx\n    |       ^"},
		{"long", Mistake{"f", 1, 201, "bad", "", strings.Repeat("a", 200) + "B" + strings.Repeat("c", 200)},
			"f:1:201: bad\n  1 | …" + strings.Repeat("a", 80) + "B" + strings.Repeat("c",
				39) + "…\n    |  " + strings.Repeat(" ", 80) + "^"},
	} {
		if diff := cmp.Diff(c.want, c.m.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestArmsAndWorkloadsAreFoundByName(t *testing.T) {
	e, err := Parse("overlay.yaml", examples(t, "valid", 6)["overlay"], testTools)
	if err != nil {
		t.Fatal(err)
	}
	if a, ok := e.Arm("vxlan"); !ok || len(a.Lab.Path) != 5 {
		t.Errorf("arm vxlan: %+v, %v", a, ok)
	}
	if _, ok := e.Arm("vlan"); ok {
		t.Error("an arm that does not exist was found")
	}
	if w, ok := e.Workload("bulk"); !ok || w.Tool != "iperf3" {
		t.Errorf("workload bulk: %+v, %v", w, ok)
	}
	if _, ok := e.Workload("bluk"); ok {
		t.Error("a workload that does not exist was found")
	}
}

func FuzzParse(f *testing.F) {
	for _, folder := range []string{"valid", "wrong"} {
		for _, data := range examples(f, folder, 1) {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := ParseWith("fuzz.yaml", data, testTools, testInputs(t, "", ""))
		if err != nil {
			checkMistakes(t, []byte(strings.TrimPrefix(string(data), "\ufeff")), err)
			return
		}
		if _, ok := e.Arm(e.Baseline); !ok || len(e.Workloads) == 0 || e.Schedule.Blocks < 1 {
			t.Errorf("no complete experiment: %+v", e)
		}
		if err := e.CheckRunnable(testTools); err != nil {
			t.Errorf("Parse takes what CheckRunnable refuses: %v", err)
		}
		for _, a := range e.Arms {
			_, client := e.Host(a.Client)
			_, server := e.Host(a.Server)
			if k := a.Kubernetes; k != nil {
				client, server = client != (k.Client != nil), server != (k.Server != nil)
				if client && server && e.PodsOf(a.Name) == "" || client && server && e.HostsOf(a.Name) == "" {
					t.Errorf("arm %q has no owner", a.Name)
				}
			}
			if hosts := client && server; hosts == (a.Lab != nil) || a.Lab != nil && len(a.Lab.Path) == 0 {
				t.Errorf("arm %q has no hosts, or has them in two ways", a.Name)
			}
		}
		for _, w := range e.Workloads {
			if c, ok := testTools.Find(w.Tool, w.Mode, w.Protocol); !ok || w.Duration <= 0 || w.Placement.Kind == "" ||
				c.Accepts("request") != (w.Request > 0) && w.Mode != experiment.HTTP { // whose request of 0 is a GET
				t.Errorf("workload %+v", w)
			}
		}
	})
}
