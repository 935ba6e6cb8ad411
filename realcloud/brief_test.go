package main

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"nearfar/internal/conclude/answer/figures"
	experimentfile "nearfar/internal/declare/experiment/file"
	"nearfar/internal/measure/tool"
)

// setVariables sets all variables that a lab needs.
func setVariables(t *testing.T, c cloud, l lab) {
	t.Helper()
	for _, name := range slices.Concat(c.needs, l.needs) {
		t.Setenv(name, "v-"+strings.ToLower(name))
	}
}

// The brief form of every lab compares the same arms with the same expectations and workloads, in little time, with one
// size of machines, under a name that no other experiment has.
func TestBrief(t *testing.T) {
	for _, c := range clouds() {
		for _, l := range c.labs {
			t.Run(l.name, func(t *testing.T) {
				setVariables(t, c, l)
				file := filepath.Join("..", "labs", l.name, l.file)
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				brief, e, err := l.brief(text, 40*time.Minute)
				if err != nil {
					t.Fatalf("%v\n%s", err, brief)
				}
				for name, value := range l.given {
					t.Setenv(name, value)
				}
				whole, err := experimentfile.ParseWith(file, text, tool.Declared(),
					experimentfile.Inputs{Variable: os.LookupEnv})
				if err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(e.Arms, whole.Arms) || e.Baseline != whole.Baseline ||
					len(e.Workloads) != len(whole.Workloads) {
					t.Errorf("the brief form compares something else:\n%s", brief)
				}
				for i, w := range e.Workloads {
					if w.Duration > longestTrial || w.Duration < min(whole.Workloads[i].Duration, longestTrial) {
						t.Errorf("%s takes %v", w.Name, w.Duration)
					}
				}
				for _, arm := range e.Arms {
					if len(arm.Expect) == 0 {
						t.Errorf("%s expects nothing", arm.Name)
					}
				}
				if e.Schedule.Blocks != figures.MinBlocks(e) || e.Schedule.DeploymentCount() != 1 {
					t.Errorf("the schedule is %+v", e.Schedule)
				}
				p := e.Provision
				if p.TTL != 40*time.Minute || p.Retry.Attempts > 1 || len(p.Retry.Variables) > 0 ||
					p.Tofu != "./tofu" {
					t.Errorf("provision is %+v", p)
				}
				if e.Name == whole.Name || e.Name != "cloudtest-"+l.name {
					t.Errorf("the name is %s", e.Name)
				}
			})
		}
	}
}

// A file that makes no machines, or compares nothing, is refused.
func TestBriefRefuses(t *testing.T) {
	for _, text := range []string{
		"", "[]", "nearfar: v1\n",
		"nearfar: v1\nname: x\nhosts: {a: {provisioned: true}}\nprovision: {tofu: ./tofu}\n" +
			"arms: {one: {client: a, server: a}}\nworkloads: [{name: rr, tool: native, duration: 5s}]\n",
	} {
		if brief, _, err := (lab{name: "x", file: "x.yaml"}).brief([]byte(text), time.Hour); err == nil {
			t.Errorf("%q becomes %q", text, brief)
		}
	}
}

// A folder is made anew only if it is a copy of an earlier test.
func TestOnlyCopiesAreRemoved(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "azure-zones")
	c := &test{folder: folder}
	for range 2 {
		if err := c.empty(); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(folder, "README.md")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(folder, marker)); err != nil {
		t.Fatal(err)
	}
	err := c.empty()
	if _, gone := os.Stat(file); err == nil || gone != nil {
		t.Errorf("somebody's folder is removed: %v, %v", err, gone)
	}
}
