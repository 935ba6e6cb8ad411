package answer

import (
	"strings"
	"testing"

	"nearfar/internal/declare/result"
)

// TestWaitingDiffers: trials that waited in different ways give a warning. Trials that waited alike, failed ones, and
// tools that do not say give none.
func TestWaitingDiffers(t *testing.T) {
	e := overlay(12)
	find := func(change func(trial int, arm string) (client, server, failure string)) *Warning {
		trials := model(e, perLayer, 5e-8)
		for i := range trials {
			client, server, failure := change(i, trials[i].Arm)
			trials[i].Error = failure
			if client != "" {
				trials[i].Facts = map[string]string{"wait": client, "server.wait": server}
			}
		}
		for _, w := range Make(Input{Experiment: e, Trials: trials, State: "complete"}).Warnings {
			if w.Code == "waiting-differs" {
				return &w
			}
		}
		return nil
	}
	for name, change := range map[string]func(int, string) (string, string, string){
		"alike":   func(int, string) (string, string, string) { return "spin", "spin", "" },
		"nothing": func(int, string) (string, string, string) { return "", "", "" },
		"failed": func(i int, _ string) (string, string, string) {
			if i == 0 {
				return "spin", "block", "broken"
			}
			return "block", "block", ""
		},
	} {
		if w := find(change); w != nil {
			t.Errorf("%s: %+v", name, w)
		}
	}
	w := find(func(_ int, arm string) (string, string, string) {
		if arm == "vxlan" {
			return "block", "spin", ""
		}
		return "block", "block", ""
	})
	if w == nil || w.Workload != "rr" || !strings.Contains(w.Message, "vxlan: client block, server spin") ||
		!strings.Contains(w.Message, "client block, server block") {
		t.Errorf("%+v", w)
	}
}

// TestNotes: notes are repeated, but not those about limiters, which are a warning of their own.
func TestNotes(t *testing.T) {
	trials := []result.Trial{{Notes: []string{result.NoteLimiter + " on the client.", "Another note."}}, {}}
	if all := notes(Input{Trials: trials}); len(all) != 1 || all[0].Message != "Another note." {
		t.Errorf("%+v", all)
	}
}
