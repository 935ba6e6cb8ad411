package cli

import (
	"fmt"
	"strings"
	"time"

	"nearfar/internal/base/clean"
	"nearfar/internal/cloud/provider"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/conclude/forecast"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/measure/deploy"
	"nearfar/internal/measure/execution"
	"nearfar/internal/measure/runner"
)

// printPlan prints what a run would do: each command line, the order of trials, the forecast and the duration.
func (a *app) printPlan(r *execution.Run, aim *figures.Aim, expected forecast.Forecast) error {
	plans, err := r.Plans()
	if err != nil {
		return err
	}
	e := r.Experiment()
	schedule := e.Schedule
	count := schedule.DeploymentCount()
	deployments := textIf(count > 1, fmt.Sprintf("%d deployments of ", count))
	fmt.Fprintf(a.stdout, "Experiment %s: %d arms, %d workloads, %s%d blocks, seed %d\n", e.Name,
		len(e.Arms), len(e.Workloads), deployments, schedule.Blocks, schedule.Seed)
	for _, arm := range e.Arms {
		if text := e.SettingsText(arm.Name); text != "" {
			fmt.Fprintf(a.stdout, "  %s sets %s\n", arm.Name, text)
		}
		if text := arm.ExpectText(); text != "" {
			fmt.Fprintf(a.stdout, "  %s expects %s\n", arm.Name, clean.Line(text))
		}
	}
	if e.Unproved == experiment.UnprovedDrop {
		fmt.Fprintln(a.stdout, "  trials in which an expectation is not proved are not compared")
	}
	a.printHosts(r)
	a.printProviders(e)
	named := deploy.Placeholders(e)
	var total time.Duration
	fmt.Fprintln(a.stdout, "\nCommands")
	for _, p := range plans {
		fmt.Fprintf(a.stdout, "  %s %s, %v, %s\n", p.Arm, p.Workload, p.Takes.Round(time.Millisecond), placed(r, p))
		for _, line := range p.Commands {
			if !r.Prepared() {
				line = named(line)
			}
			fmt.Fprintf(a.stdout, "    %s\n", clean.Line(line))
		}
		total += p.Takes * time.Duration(p.Trials)
	}
	fmt.Fprintln(a.stdout, "\nOrder")
	block, deployment := 0, 0
	var line strings.Builder
	for _, slot := range e.Slots() {
		if slot.Block != block {
			if block > 0 {
				fmt.Fprintln(a.stdout, line.String())
			}
			block = slot.Block
			line.Reset()
			if deployments != "" && slot.Deployment != deployment {
				deployment = slot.Deployment
				fmt.Fprintf(&line, "  deployment %d, on hosts that are made for it\n", deployment)
			}
			fmt.Fprintf(&line, "  block %d:", block)
		}
		if _, skipped := r.Skipped()[slot.Workload]; !skipped {
			fmt.Fprintf(&line, " %s/%s", slot.Arm, slot.Workload)
		}
	}
	fmt.Fprintln(a.stdout, line.String())
	if lines := expected.Plan(e, aim); len(lines) > 0 {
		fmt.Fprintf(a.stdout, "\nWhat it can show\n  %s\n", strings.Join(lines, "\n  "))
	}
	if until := e.Schedule.Until; until != "" {
		fmt.Fprintf(a.stdout, "\nIt will take at most about %v, and end as soon as every difference is found, or known "+
			"within %s.\n", total.Round(time.Second), until)
		return nil
	}
	fmt.Fprintf(a.stdout, "\nIt will take about %v.\n", total.Round(time.Second))
	return nil
}

// printHosts prints the hosts of a plan, without connecting to them, and the arms that use them.
func (a *app) printHosts(r *execution.Run) {
	if r.Prepared() {
		return
	}
	e := r.Experiment()
	if len(e.Hosts) > 0 {
		fmt.Fprintln(a.stdout, "\nHosts (a dry run connects to none of them)")
	}
	for _, h := range e.Hosts {
		fmt.Fprintf(a.stdout, "  %s: %s\n", h.Name, clean.Line(h.String()))
	}
	if e.Redeploys() {
		fmt.Fprintf(a.stdout, "  Between deployments nearfar deletes and makes again: %s, and what depends on that\n",
			clean.Line(strings.Join(e.Provision.Replace, ", ")))
	}
	fmt.Fprintln(a.stdout, "\nArms")
	for _, arm := range e.Arms {
		if arm.Lab == nil {
			fmt.Fprintf(a.stdout, "  %s: %s\n", arm.Name, clean.Line(arm.HostsText()))
		} else {
			fmt.Fprintf(a.stdout, "  %s: a lab on this machine\n", arm.Name)
		}
	}
}

// printProviders prints how a run would ask the providers of clouds.
func (a *app) printProviders(e *experiment.Experiment) {
	if len(e.AskProviders) == 0 {
		return
	}
	fmt.Fprintln(a.stdout, "\nProviders (this machine asks them before the first trial, about hosts whose metadata "+
		"names the cloud; a dry run does not)")
	for _, cloud := range e.AskProviders {
		for _, command := range provider.Commands(cloud) {
			fmt.Fprintf(a.stdout, "  %s: %s\n", cloud, command)
		}
	}
}

// placed says where client and server of a trial run. Without hosts, only the placement is known.
func placed(r *execution.Run, p runner.Planned) string {
	if r.Prepared() {
		return fmt.Sprintf("client on CPU %s, server on CPU %s", p.ClientCPUs, p.ServerCPUs)
	}
	return "placement " + p.Placement.String()
}
