package contrast

import (
	"strings"
	"testing"

	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/experiment"
)

// setting makes the arm "other" of a model set keys of its workload; its trials show it if shown is true.
func setting(m model, shown bool, set map[string]string, change func(*experiment.Workload)) *Side {
	s := m.make()
	w := s.Experiment.Workloads[0]
	change(&w)
	for i := range s.Experiment.Arms {
		if a := &s.Experiment.Arms[i]; a.Name == "other" {
			a.Workloads = []experiment.Workload{w}
			for key, value := range set {
				a.Set = append(a.Set, experiment.Setting{Key: key, Value: value, Workloads: []string{w.Name}})
			}
		}
	}
	for i := range s.Trials {
		if t := &s.Trials[i]; shown && t.Arm == "other" {
			t.Protocol = w.Protocol
			bytes := w.Request
			t.MessageBytes = &bytes
			t.Facts = map[string]string{"wait": w.Wait, "server.wait": w.Wait, "placement": w.Placement.Kind}
		} else {
			t.Facts = map[string]string{"wait": "block", "server.wait": "block", "placement": "shared"}
		}
	}
	return s
}

// Arms of one run, and of two runs, that set different values are compared without a warning about the setting.
func TestArmsThatSetDifferently(t *testing.T) {
	set := map[string]string{"protocol": "udp", "request": "128B", "wait": "spin", "placement": "split"}
	change := func(w *experiment.Workload) {
		w.Protocol, w.Request, w.Response, w.Wait, w.Placement.Kind = "udp", 128, 128, "spin", "split"
	}
	for _, id := range []string{"/same", ""} {
		base := setting(model{side: "A", id: id, arms: []string{"plain", "other"}, blocks: 12, seed: 1, noise: 1e-8},
			true, set, change)
		other := setting(model{side: "B", id: id, arms: []string{"plain", "other"}, blocks: 12, seed: 1, noise: 1e-8},
			true, set, change)
		base.Arm, other.Arm = "plain", "other"
		c, err := Match(base, other)
		if err != nil {
			t.Fatal(err)
		}
		a := c.Answer()
		for _, k := range a.Comparisons {
			if k.Difference == nil || k.Verdict == figures.NotComparable {
				t.Errorf("%q: %+v", id, k)
			}
		}
		for _, code := range []string{"waiting-differs", "placement-differs", "workload-differs", "arm-differs"} {
			if w := warned(a, code); w != nil {
				t.Errorf("%q: %+v", id, w)
			}
		}
	}
}

// Differences that were not set are refused or give warnings.
func TestArmsThatDifferInWhatNobodySet(t *testing.T) {
	base := setting(model{side: "A", id: "/same", arms: []string{"plain", "other"}, blocks: 12, seed: 1, noise: 1e-8},
		true,
		map[string]string{"wait": "spin"}, func(w *experiment.Workload) {
			w.Protocol, w.Wait,
				w.Connections = "udp", "spin", 3
		})
	other := *base
	other.Name = "B"
	base.Arm, other.Arm = "plain", "other"
	c, err := Match(base, &other)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Pairs[0].Refused; got != "protocol: udp against tcp; connections: 3 against 0" {
		t.Error(got)
	}
}

// An arm that sets something else in the other run is another arm: it is compared, with a warning.
func TestArmOfTwoRunsThatSetsSomethingElse(t *testing.T) {
	side := func(name, congestion string, seed uint64) *Side {
		return setting(model{side: name, arms: []string{"other"}, blocks: 12, seed: seed, noise: 1e-8}, false,
			map[string]string{"congestion": congestion}, func(w *experiment.Workload) { w.Congestion = congestion })
	}
	c, err := Match(side("A", "cubic", 1), side("B", "bbr", 2))
	if err != nil {
		t.Fatal(err)
	}
	a := c.Answer()
	w := warned(a, "arm-differs")
	if w == nil || !strings.Contains(w.Message, "with congestion bbr in B") ||
		!strings.Contains(w.Message, "with congestion cubic in A") {
		t.Errorf("%+v", w)
	}
	if a.Comparisons[0].Difference == nil {
		t.Errorf("%+v", a.Comparisons[0])
	}
	if c, err = Match(side("A", "bbr", 1), side("B", "bbr", 2)); err != nil {
		t.Fatal(err)
	}
	if w := warned(c.Answer(), "arm-differs"); w != nil {
		t.Errorf("%+v", w)
	}
}
