package experiment

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestIsName(t *testing.T) {
	for text, want := range map[string]bool{
		"l2": true, "across-zones": true, "A.b_c-9": true, "1500": true, strings.Repeat("a", 64): true,
		"": false, "-x": false, ".x": false, "a b": false, "=cmd()": false, "a/b": false, "ä": false, "a\x1b": false, strings.Repeat("a", 65): false,
	} {
		if got := IsName(text); got != want {
			t.Errorf("IsName(%q) = %v, want %v", text, got, want)
		}
	}
}

func FuzzToName(f *testing.F) {
	for _, seed := range []string{"", "sockperf-rr-tcp-1400B", "=cmd()", "<script>", "\x00\x1b[31m", "äöü", "../../etc",
		strings.Repeat("ä-", 80)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		name := ToName(text)
		if (text == "") != (name == "") {
			t.Fatalf("%q becomes %q", text, name)
		}
		if name != "" && !IsName(name) {
			t.Fatalf("%q becomes %q, which is no name", text, name)
		}
		if IsName(text) && name != text {
			t.Fatalf("the name %q becomes %q", text, name)
		}
	})
}

func TestRecorded(t *testing.T) {
	workloads := []Workload{{Name: "ping-icmp"}}
	e, err := Recorded("zones", "How much?", "", []string{"near", "far"}, workloads)
	if err != nil {
		t.Fatal(err)
	}
	if !e.Imported || e.Baseline != "near" || len(e.Arms) != 2 || len(e.Slots()) != 0 || e.Arms[0].Layers == nil {
		t.Errorf("%+v", e)
	}
	many := make([]string, MaxArms+1)
	for i := range many {
		many[i] = fmt.Sprint("a", i)
	}
	for name, c := range map[string]struct {
		name, question, baseline string
		arms                     []string
		workloads                []Workload
		says                     string
	}{
		"name": {"=cmd()", "", "", []string{"near"}, nil, `"=cmd()" is no name of a run: letters, digits`},
		"question": {"zones", strings.Repeat("?", maxQuestion+1), "", []string{"near"}, nil,
			"1001 characters: at most 1000"},
		"baseline": {"zones", "", "middle", []string{"near", "far"}, nil,
			`the baseline "middle" is no arm: the arms are near, far`},
		"arm":      {"zones", "", "", []string{"near", "a\x1b[2J"}, nil, `"a\x1b[2J" is no name of an arm`},
		"twice":    {"zones", "", "", []string{"near", "far", "near"}, nil, `arm "near" is there twice`},
		"none":     {"zones", "", "", nil, nil, "there are no arms"},
		"many":     {"zones", "", "", many, nil, "101 arms: at most 100"},
		"workload": {"zones", "", "", []string{"near"}, []Workload{{Name: ""}}, `"" is no name of a workload`},
		"workloads": {"zones", "", "", []string{"near"}, slices.Repeat(workloads, MaxWorkloads+1),
			"101 workloads: at most 100"},
		"everything": {"", "", "x", []string{"-"}, nil, `"" is no name of a run`},
	} {
		_, err := Recorded(c.name, c.question, c.baseline, c.arms, c.workloads)
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want it to say %q", name, err, c.says)
		}
	}
}
