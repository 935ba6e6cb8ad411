package bisection

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func plan() Plan {
	return Plan{
		Name: "service", File: "service.yaml", Steps: []Step{{Name: "a", About: "first"}, {Name: "b"}, {Name: "c"}},
		Place: []string{"./place", StepPlace}, PlaceLimit: time.Hour, Arm: "here", Workload: "get", Trials: 1, Alpha: 0.05,
		Seed: 7, Checks: 2, Started: time.Date(2026, 11, 21, 19, 22, 0, 0, time.UTC),
	}
}

// What was recorded is read again, without the line that a crash cut, and nobody else writes at the same time.
func TestDirectoryIsReadAgain(t *testing.T) {
	folder := t.TempDir()
	d, err := Create(folder, plan(), []byte("nearfar: v1\n"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = os.Stat(filepath.Join(d.Path, planName))
	if err != nil || filepath.Base(d.Path) != "20261121T192200Z-service" {
		t.Errorf("the directory is %s", d.Path)
	}
	visits := []Visit{{Step: 2, Value: 1.5e-3, Unit: "s", Trials: 1, Run: "runs/x"}, {Step: 1, Skip: "it does not build"}}
	for _, v := range visits {
		if err := d.Append(v); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Open(d.Path); err == nil || !strings.Contains(err.Error(), "another nearfar") {
		t.Errorf("two write it: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	torn, err := os.OpenFile(filepath.Join(d.Path, "visits.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := torn.WriteString(`{"step": 1, "val`); err != nil {
		t.Fatal(err)
	}
	if err := torn.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Open(d.Path)
	if err != nil {
		t.Fatal(err)
	}
	want := plan()
	want.Nearfar = "v1"
	if !reflect.DeepEqual(again.Plan(), want) || string(again.Text()) != "nearfar: v1\n" ||
		!reflect.DeepEqual(again.Visits(), visits) {
		t.Errorf("read again: %+v, %q, %+v", again.Plan(), again.Text(), again.Visits())
	}
	if err := again.Append(Visit{Step: 0, Value: 1}); err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	last, err := Open(d.Path)
	if err != nil {
		t.Fatal(err)
	}
	if len(last.Visits()) != 3 {
		t.Errorf("%d visits after a torn line", len(last.Visits()))
	}
	if err := last.Close(); err != nil {
		t.Error(err)
	}
	second, err := Create(folder, plan(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if second.Path == d.Path || len(second.Visits()) > 0 {
		t.Errorf("a second bisection is %s with %d visits", second.Path, len(second.Visits()))
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
}

// What cannot be a bisection is refused with the place of the mistake.
func TestDirectoryIsChecked(t *testing.T) {
	for says, change := range map[string]func(folder string) error{
		"it has no bisection.json": func(f string) error { return os.Remove(filepath.Join(f, planName)) },
		"bisection.json: version \"v2\"": func(f string) error {
			return os.WriteFile(filepath.Join(f, planName), []byte(`{"nearfar": "v2"}`), 0o600)
		},
		"visits.jsonl: line 2": func(f string) error {
			return os.WriteFile(filepath.Join(f, visitsName), []byte("{\"step\": 1}\n{\"step\": 3}\n"), 0o600)
		},
		"visits.jsonl: line 1": func(f string) error {
			return os.WriteFile(filepath.Join(f, visitsName), []byte("[]\n"), 0o600)
		},
	} {
		d, err := Create(t.TempDir(), plan(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		if err := change(d.Path); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(d.Path); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}

func TestCheckSteps(t *testing.T) {
	many := make([]Step, MaxSteps+1)
	for i := range many {
		many[i].Name = fmt.Sprint(i)
	}
	for says, steps := range map[string][]Step{
		"":                       {{Name: "v1"}, {Name: "v2"}},
		"there are 1":            {{Name: "v1"}},
		"there are 100001 steps": many,
		"step 2 has no name":     {{Name: "v1"}, {}},
		"option of the command":  {{Name: "v1"}, {Name: "--force"}},
		"cannot be printed":      {{Name: "v1"}, {Name: "v\x1b[2J"}},
		"a name of 1001 bytes":   {{Name: "v1"}, {Name: strings.Repeat("x", 1001)}},
		"v1 is step 1 and 3":     {{Name: "v1"}, {Name: "v2"}, {Name: "v1"}},
	} {
		err := CheckSteps(steps)
		says = strings.Replace(says, "and 3", "and step 3", 1)
		if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}

func TestWords(t *testing.T) {
	for line, want := range map[string][]string{
		`make install`:                         {"make", "install"},
		` sh -c 'git checkout {step} && make'`: {"sh", "-c", "git checkout {step} && make"},
		`a "b \"c\" \\ $d" e\ f ''`:            {"a", `b "c" \ $d`, "e f", ""},
		`x'y'"z"`:                              {"xyz"},
		`sh -c 'a`:                             nil,
		`a "b\"`:                               nil,
		`a \`:                                  nil,
		`  `:                                   nil,
	} {
		words, err := Words(line)
		if !slices.Equal(words, want) || (err == nil) != (want != nil) {
			t.Errorf("%s: %q, %v", line, words, err)
		}
	}
	w := PlaceWords([]string{"a", "{step}:{step}", "{other}"}, "$x y")
	if !slices.Equal(w, []string{"a", "$x y:$x y", "{other}"}) {
		t.Errorf("%q", w)
	}
	if w := PlaceWords([]string{"./place"}, "v1"); !slices.Equal(w, []string{"./place", "v1"}) {
		t.Errorf("%q", w)
	}
}

func TestStepText(t *testing.T) {
	hash := strings.Repeat("0123456789abcdef", 3)[:40]
	word := strings.Repeat("g", 40)
	for name, want := range map[string]string{hash: hash[:12], "v1.2.3": "v1.2.3", word: word} {
		if got := (Step{Name: name}).String(); got != want {
			t.Errorf("%s is shown as %s", name, got)
		}
	}
}
