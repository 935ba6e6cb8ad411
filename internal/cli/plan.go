package cli

import (
	"fmt"
	"strings"
	"time"

	"nearfar/internal/answer"
	"nearfar/internal/clean"
	"nearfar/internal/deploy"
	"nearfar/internal/runner"
)

// printPlan prints what a run would do: each command line, the order of trials, the forecast and the duration.
func (a *app) printPlan(s *setup, aim *answer.Aim, expected forecast) error {
	plans, err := s.runner.Plans()
	if err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "Experiment %s: %d arms, %d workloads, %d blocks, seed %d\n", s.experiment.Name,
		len(s.experiment.Arms), len(s.experiment.Workloads), s.experiment.Schedule.Blocks, s.experiment.Schedule.Seed)
	for _, arm := range s.experiment.Arms {
		if text := s.experiment.SettingsText(arm.Name); text != "" {
			fmt.Fprintf(a.stdout, "  %s sets %s\n", arm.Name, text)
		}
	}
	a.printHosts(s)
	named := deploy.Placeholders(s.experiment)
	var total time.Duration
	fmt.Fprintln(a.stdout, "\nCommands")
	for _, p := range plans {
		fmt.Fprintf(a.stdout, "  %s %s, %v, %s\n", p.Arm, p.Workload, p.Takes.Round(time.Millisecond), placed(s, p))
		for _, line := range p.Commands {
			if s.hosts == nil {
				line = named(line)
			}
			fmt.Fprintf(a.stdout, "    %s\n", clean.Line(line))
		}
		total += p.Takes * time.Duration(p.Trials)
	}
	fmt.Fprintln(a.stdout, "\nOrder")
	block := 0
	var line strings.Builder
	for _, slot := range s.experiment.Slots() {
		if slot.Block != block {
			if block > 0 {
				fmt.Fprintln(a.stdout, line.String())
			}
			block = slot.Block
			line.Reset()
			fmt.Fprintf(&line, "  block %d:", block)
		}
		if _, skipped := s.runner.Skipped()[slot.Workload]; !skipped {
			fmt.Fprintf(&line, " %s/%s", slot.Arm, slot.Workload)
		}
	}
	fmt.Fprintln(a.stdout, line.String())
	printForecast(a.stdout, s.experiment, aim, expected)
	fmt.Fprintf(a.stdout, "\nIt will take about %v.\n", total.Round(time.Second))
	return nil
}

// printHosts prints the hosts of a plan that connects to none of them, and the arms in which they are used.
func (a *app) printHosts(s *setup) {
	if s.hosts != nil {
		return
	}
	fmt.Fprintln(a.stdout, "\nHosts (a dry run connects to none of them)")
	for _, h := range s.experiment.Hosts {
		fmt.Fprintf(a.stdout, "  %s: %s\n", h.Name, clean.Line(h.String()))
	}
	fmt.Fprintln(a.stdout, "\nArms")
	for _, arm := range s.experiment.Arms {
		if arm.Lab == nil {
			fmt.Fprintf(a.stdout, "  %s: %s to %s\n", arm.Name, arm.Client, arm.Server)
		} else {
			fmt.Fprintf(a.stdout, "  %s: a lab on this machine\n", arm.Name)
		}
	}
}

// placed says where client and server of a trial run. Without hosts, only the placement is known.
func placed(s *setup, p runner.Planned) string {
	if s.hosts != nil {
		return fmt.Sprintf("client on CPU %s, server on CPU %s", p.ClientCPUs, p.ServerCPUs)
	}
	w, _ := s.experiment.WorkloadIn(p.Arm, p.Workload)
	return "placement " + w.Placement.String()
}
