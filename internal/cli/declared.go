package cli

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"nearfar/internal/base/clean"
	"nearfar/internal/base/prose"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/conclude/forecast"
	"nearfar/internal/declare/check"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/measure/runner"
)

// declared is a summary of what an experiment file declares.
type declared struct {
	Name      string             `json:"name"`
	Question  string             `json:"question"`
	Baseline  string             `json:"baseline"`
	Arms      []declaredArm      `json:"arms"`
	Workloads []declaredWorkload `json:"workloads"`
	Blocks    int                `json:"blocks"`
	// MinBlocks is how many blocks the comparisons need to show any difference; 0 without comparisons.
	MinBlocks int `json:"min_blocks"`
	// Repeats is how many times each block runs the baseline.
	Repeats int `json:"baseline_repeats"`
	// Seed is 0 if each run draws its own.
	Seed uint64 `json:"seed"`
	// Deployments is how often the hosts are made; 0 for once. Each has Blocks blocks.
	Deployments int `json:"deployments,omitempty"`
	// Comparisons is how many pairs of an arm and a workload are compared with the baseline.
	Comparisons int `json:"comparisons"`
	Trials      int `json:"trials"`
	// Seconds is about how long all trials take.
	Seconds float64 `json:"estimated_seconds"`
	// Unproved says what happens to trials in which an expectation is not proved; empty without expectations.
	Unproved string `json:"unproved,omitempty"`

	// needed has the lines of forecast.BlocksNeeded.
	needed []string
}

type declaredArm struct {
	Name   string         `json:"name"`
	Path   []string       `json:"path"`
	Layers map[string]int `json:"layers"`
	// Client and Server are names of hosts; empty for an arm with a lab.
	Client string `json:"client,omitempty"`
	Server string `json:"server,omitempty"`
	// Kubernetes says how pods are made; nil for an arm without pods.
	Kubernetes *experiment.Kubernetes `json:"kubernetes,omitempty"`
	// Set lists what the arm sets differently from the workloads.
	Set []experiment.Setting `json:"set,omitempty"`
	// Expect lists what must be true of the arm.
	Expect []check.Expectation `json:"expect,omitempty"`

	// expects is Expect in a line, sets is Set.
	expects, sets string
	// privileges says what the arm asks for beyond what all pods have; empty for nothing.
	privileges string
	// hosts describes the two hosts: "a (ssh vm-a) to b (local)".
	hosts string
}

type declaredWorkload struct {
	Name string `json:"name"`
	// Question is what the workload answers; empty if it has none of its own.
	Question string `json:"question,omitempty"`
	Tool     string `json:"tool"`
	Mode     string `json:"mode"`
	Protocol string `json:"protocol"`
	Optional bool   `json:"optional"`
	// Commands are the command lines of a program of the experiment's own, as the file has them.
	Commands *declaredCommands `json:"commands,omitempty"`
	// Seconds is about how long one trial takes.
	Seconds float64 `json:"estimated_seconds"`
}

// declaredCommands are what runs on both hosts; empty for nothing.
type declaredCommands struct {
	Server string `json:"server,omitempty"`
	Ready  string `json:"ready,omitempty"`
	Client string `json:"client"`
}

// commandsOf gives the command lines of a workload; nil if they are a tool's.
func commandsOf(w experiment.Workload) *declaredCommands {
	c := w.Command
	if c == nil {
		return nil
	}
	return &declaredCommands{Server: runner.CommandLine(c.Server), Ready: runner.CommandLine(c.Ready.Command),
		Client: runner.CommandLine(c.Client)}
}

// text has a line for each.
func (c *declaredCommands) text(indent int) string {
	var b strings.Builder
	if c == nil {
		return ""
	}
	for _, line := range []struct{ where, what string }{
		{"server's", c.Server}, {"server's", c.Ready}, {"client's", c.Client},
	} {
		if line.what != "" {
			fmt.Fprintf(&b, "  %-*s  runs on the %s host: %s\n", indent, "", line.where, clean.Line(line.what))
		}
	}
	return b.String()
}

// declare makes the summary of an experiment. It fails if a tool cannot run its workload.
func declare(e *experiment.Experiment, tools runner.Tools) (*declared, error) {
	d := &declared{
		Name: e.Name, Question: e.Question, Baseline: e.Baseline,
		Deployments: e.Schedule.Deployments,
		Blocks:      e.Schedule.Blocks, MinBlocks: figures.MinBlocks(e), Repeats: e.Schedule.Repeats(),
		Seed:        e.Schedule.Seed,
		Unproved:    e.Unproved,
		Comparisons: (len(e.Arms) - 1) * len(e.Unwatched().Workloads), Trials: e.Planned(nil),
		needed: forecast.BlocksNeeded(e),
	}
	for _, a := range e.Arms {
		arm := declaredArm{Name: a.Name, Path: []string{}, Layers: a.Layers, Expect: a.Expect, expects: a.ExpectText(),
			Set: a.Set, sets: e.SettingsText(a.Name)}
		if a.Lab != nil {
			for _, element := range a.Lab.Path {
				arm.Path = append(arm.Path, element.Text())
			}
		}
		switch {
		case a.Kubernetes != nil:
			arm.Client, arm.Server, arm.Kubernetes = a.Client, a.Server, a.Kubernetes
			arm.hosts, arm.privileges = a.HostsText(), a.Kubernetes.PrivilegesText()
		case a.Lab == nil:
			arm.Client, arm.Server = a.Client, a.Server
			arm.hosts = hostText(e, a.Client) + " to " + hostText(e, a.Server)
		}
		d.Arms = append(d.Arms, arm)
	}
	var mistakes []error
	for _, w := range e.Workloads {
		takes, err := runner.TrialTime(w, tools)
		if err != nil {
			mistakes = append(mistakes, fmt.Errorf("workload %s: %w", w.Name, err))
			continue
		}
		d.Workloads = append(d.Workloads,
			declaredWorkload{w.Name, w.Question, w.Tool, w.Mode, w.Protocol, w.Optional, commandsOf(w),
				takes.Seconds()})
		d.Seconds += takes.Seconds() * float64(e.Planned(nil)) / float64(len(e.Workloads))
	}
	return d, errors.Join(mistakes...)
}

// hostText describes a host for people: "a (ssh vm-a, measured at 10.0.0.5)".
func hostText(e *experiment.Experiment, name string) string {
	h, _ := e.Host(name)
	return name + " (" + h.String() + ")"
}

// text returns the summary for people.
func (d *declared) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s is valid", d.Name)
	if d.Question != "" {
		fmt.Fprintf(&b, ": %s", strings.ReplaceAll(d.Question, "\n", " "))
	}
	b.WriteString("\n\nArms\n")
	width := 0
	for _, a := range d.Arms {
		width = max(width, len(a.Name))
	}
	for _, w := range d.Workloads {
		width = max(width, len(w.Name))
	}
	for _, a := range d.Arms {
		line := strings.Join(a.Path, ", ")
		switch {
		case a.hosts != "":
			line = a.hosts
			if layers := layersText(a.Layers); layers != "" {
				line += ": " + layers
			}
		case line == "":
			line = layersText(a.Layers)
		}
		if a.Name == d.Baseline && len(d.Arms) > 1 {
			line += " (baseline)"
		}
		fmt.Fprintf(&b, "  %-*s  %s\n", width, a.Name, line)
		if a.sets != "" {
			fmt.Fprintf(&b, "  %-*s  sets %s\n", width, "", a.sets)
		}
		if a.privileges != "" {
			fmt.Fprintf(&b, "  %-*s  asks for %s\n", width, "", a.privileges)
		}
		if a.expects != "" {
			fmt.Fprintf(&b, "  %-*s  expects %s\n", width, "", a.expects)
		}
	}
	b.WriteString("\nWorkloads\n")
	for _, w := range d.Workloads {
		optional := textIf(w.Optional, ", left out if the tool is not installed")
		what := w.Tool + " " + w.Mode + " " + w.Protocol
		if w.Commands != nil {
			what = w.Tool
		}
		fmt.Fprintf(&b, "  %-*s  %s, %v a trial%s\n", width, w.Name, what,
			seconds(w.Seconds, time.Millisecond), optional)
		b.WriteString(w.Commands.text(width))
		if w.Question != "" {
			fmt.Fprintf(&b, "  %-*s  answers %s\n", width, "", strings.ReplaceAll(w.Question, "\n", " "))
		}
	}
	arms := prose.Plural(len(d.Arms), "arm")
	if d.Repeats > 1 {
		arms += fmt.Sprintf(" (the baseline %d times)", d.Repeats)
	}
	deployments := textIf(d.Deployments > 1, prose.Plural(d.Deployments, "deployment")+" x ")
	fmt.Fprintf(&b, "\n%s%s x %s x %s = %s, about %v\n", deployments, prose.Plural(d.Blocks, "block"), arms,
		prose.Plural(len(d.Workloads), "workload"), prose.Plural(d.Trials, "trial"), seconds(d.Seconds, time.Second))
	if d.Comparisons == 0 {
		b.WriteString("One arm: it is measured, and there is nothing to compare it with.\n")
	} else {
		fmt.Fprintf(&b, "%s with %s\n", prose.Plural(d.Comparisons, "comparison"), d.Baseline)
	}
	if d.Unproved == experiment.UnprovedDrop {
		b.WriteString("Trials in which an expectation is not proved are not compared.\n")
	}
	if d.Blocks < d.MinBlocks {
		fmt.Fprintln(&b, strings.Join(d.needed, "\n"))
	}
	return b.String()
}

// layersText lists the layers of an arm: 1 router, 2 vtep.
func layersText(layers map[string]int) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(layers)) {
		all = append(all, fmt.Sprintf("%d %s", layers[name], name))
	}
	return strings.Join(all, ", ")
}

func seconds(s float64, to time.Duration) time.Duration {
	return time.Duration(s * float64(time.Second)).Round(to)
}
