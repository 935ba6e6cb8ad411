package pool

import (
	"encoding/json"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func sample() *State {
	s := NewState(time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC))
	s.Context, s.ClusterUID = "shop", "0-1"
	s.Old = Side{Pool: "linpool", Selector: "agentpool=linpool"}
	s.New = Side{Pool: "linpool2", Selector: "agentpool=linpool2", Made: true}
	s.Provider = json.RawMessage(`{"cluster":"shop"}`)
	s.Step = Drain
	s.Nodes = []Node{{Name: "n1", Drained: true}, {Name: "n2", CordonedBefore: true}}
	s.Workloads = []Workload{{Namespace: "default", Kind: "Deployment", Name: "web", Ready: 3}}
	return s
}

func TestStateFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), Folder(), "from-linpool.json")
	if _, err := ReadState(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a file: %v", err)
	}
	f, err := OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := OpenFile(path); err == nil {
		t.Error("two processes have one file", second.Close())
	}
	want := sample()
	for _, step := range []Step{Cordon, Drain} {
		want.Step = step
		if err := f.Write(want); err != nil {
			t.Fatal(err)
		}
	}
	got, err := ReadState(path)
	if err != nil {
		t.Fatal(err)
	}
	var compact string
	if b, err := json.Marshal(got.Provider); err == nil {
		compact = string(b)
	}
	got.Provider = want.Provider
	if diff := cmp.Diff(want, got); diff != "" || compact != `{"cluster":"shop"}` {
		t.Error(compact, diff)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if f, err = OpenFile(path); err != nil {
		t.Fatal("after it was closed:", err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 2 {
		t.Errorf("left in the folder: %v %v", entries, err)
	}
}

func TestWrongStates(t *testing.T) {
	for what, change := range map[string]func(*State){
		"version": func(s *State) { s.Nearfar = "v2" }, "step": func(s *State) { s.Step = "dance" },
		"id": func(s *State) { s.ID = "" }, "selector": func(s *State) { s.Old.Selector = "" },
		"limit": func(s *State) { s.Limits.Drain = 0 },
		// A pool that is not made has none of these steps.
		"undo": func(s *State) { s.Undo, s.New.Made, s.Step = true, false, UndoDelete },
	} {
		s := sample()
		change(s)
		data, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parseState(data); err == nil {
			t.Errorf("a wrong %s is read", what)
		}
	}
	if _, err := parseState([]byte(`{"nearfar": "v1", "surprise": 1}`)); err == nil {
		t.Error("an unknown key is read")
	}
}

func TestFileOf(t *testing.T) {
	for side, want := range map[Side]string{
		{Pool: "linpool", Selector: "a=b"}:        "from-linpool.json",
		{Selector: "eks.amazonaws.com/pool=../x"}: "from-eks.amazonaws.com_pool_.._x.json",
	} {
		if got := FileOf(side); got != filepath.Join(".nearfar", "migrate-pool", want) {
			t.Errorf("%+v: %s", side, got)
		}
	}
	if got := FileOf(Side{Selector: strings.Repeat("a", 1000)}); len(filepath.Base(got)) > 255 {
		t.Error(got)
	}
}

// Each list of steps ends, and undo deletes a pool only if the migration has made it.
func TestSteps(t *testing.T) {
	s := sample()
	for _, undo := range []bool{false, true} {
		for _, made := range []bool{false, true} {
			for _, keep := range []bool{false, true} {
				s.Undo, s.New.Made, s.KeepOld = undo, made, keep
				steps := s.Steps()
				deletes := 0
				for _, step := range steps {
					if step == DeleteOld || step == UndoDelete {
						deletes++
					}
				}
				s.Step = steps[len(steps)-1]
				wanted := map[bool]bool{false: !keep, true: made}[undo]
				if !s.Over() || (deletes == 1) != wanted || deletes > 1 {
					t.Errorf("undo %v, made %v, keep %v: %v", undo, made, keep, steps)
				}
			}
		}
	}
}

// TestDamagedStates: whatever a file holds, it is refused, or is a migration that can go on. This is no fuzz target,
// because the instrumented program with the libraries of Kubernetes tries one file in several seconds; here it is
// thousands a second.
func TestDamagedStates(t *testing.T) {
	whole, err := json.Marshal(sample())
	if err != nil {
		t.Fatal(err)
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	words := []string{"null", "{}", "[]", `""`, "-1", "1e999", "true", `"undone"`, `"done"`, `"ask-to-delete-old-pool"`,
		`"undo":true`, `"made":true`, ",", ":", "{", "}", "\x00", "\xff"}
	read := 0
	for range 20_000 {
		data := slices.Clone(whole)
		for range 1 + r.IntN(4) {
			from := r.IntN(len(data) + 1)
			to := min(len(data), from+r.IntN(20))
			data = slices.Replace(data, from, to, []byte(words[r.IntN(len(words))])...)
		}
		s, err := parseState(data)
		if err != nil {
			continue
		}
		read++
		if !s.Over() {
			s.next() // it must not panic
		}
	}
	if read == 0 {
		t.Error("every file was refused, so that no migration went on")
	}
}
