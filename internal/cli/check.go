package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"nearfar/internal/declare/check"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/hosts/ssh"
	"nearfar/internal/measure/deploy"
	"nearfar/internal/measure/execution"
)

func (a *app) checkCommand() *cobra.Command {
	var format string
	var o deploy.Options
	var inputs inputFlags
	cmd := &cobra.Command{
		Use:   "check [FILE|HOST]",
		Short: "Show the facts of hosts, where they are, and whether an experiment could run",
		Long: `Check prints the facts of hosts that influence figures: system, CPUs, power management, virtualisation,
network devices with drivers and queues, the path to the other side, settings of TCP, limits, and load. If the firmware
names Azure, AWS or GCP, it asks the metadata service of that cloud where the machine is, for at most one second.

Without an argument it checks this machine. With the name of a HOST, as ssh takes it, it checks that host. With an
experiment FILE it checks all hosts of the file, then the measuring programs and the ports, and judges the expectations
of the arms that the facts alone can prove or refute. An argument is a file if it exists, ends in .yaml or .yml, or is
"-" for standard input. Nothing is measured, and no run directory is made.

Exit codes: 0 the facts were read, and an experiment could run; 1 facts could not be read, or an experiment could not
run; 2 wrong usage, or a mistake in the file; 4 as 0, but the facts refute an expectation of an arm; 130 interrupted.`,
		Example: `  nearfar check
  nearfar check vm-a
  nearfar check experiment.yaml
  nearfar check --set CLIENT=vm-a --set SERVER=vm-b labs/byo-ssh/experiment.yaml
  nearfar check -f json | jq '.hosts[0].facts.devices'`,
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(resultFormats(), format) {
				return usagef("--format %s: use one of %s", format, strings.Join(resultFormats(), ", "))
			}
			isFile := len(args) > 0 && namesFile(args[0])
			flag := given(cmd.Flags().Changed, "set", "hosts", "kubeconfig")
			switch {
			case !isFile && flag != "":
				return usagef("--%s is about an experiment file: name the FILE", flag)
			case len(args) == 0 && cmd.Flags().Changed("ssh-config"):
				return usagef("--ssh-config is about hosts that ssh reaches: name a FILE or a HOST")
			case len(args) == 0:
				return a.checkMachine(cmd.Context(), format)
			case isFile:
				return a.checkFile(cmd.Context(), args[0], &inputs, o, format)
			}
			return a.checkHost(cmd.Context(), args[0], o, format)
		},
	}
	inputs.flags(cmd.Flags())
	sshConfigFlag(cmd.Flags(), &o.SSHConfig)
	kubeconfigFlag(cmd.Flags(), &o.Kubeconfig)
	cmd.Flags().StringVarP(&format, "format", "f", "terminal",
		"form of the result: "+strings.Join(resultFormats(), ", "))
	return cmd
}

// namesFile says whether an argument is an experiment file rather than a host.
func namesFile(name string) bool {
	if name == "-" || slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(name)) {
		return true
	}
	_, err := os.Stat(name)
	return err == nil
}

// checked is what check prints as JSON; its keys are stable.
type checked struct {
	Nearfar string             `json:"nearfar"`
	Hosts   []deploy.HostFacts `json:"hosts"`
	// Ready says that the programs and ports of all hosts were checked and are as an experiment needs them. It is nil
	// if no experiment was named.
	Ready *bool `json:"ready,omitempty"`
	// Expectations are what the arms of the experiment expect, judged by the facts alone.
	Expectations []expected `json:"expectations,omitempty"`
}

func (a *app) checkMachine(ctx context.Context, format string) error {
	f := check.Read(ctx, check.Options{Metadata: true})
	name := cmp.Or(f.Hostname, "this machine")
	return a.printChecked(checked{Nearfar: "v1", Hosts: []deploy.HostFacts{{Host: name, Facts: &f}}}, format)
}

// checkHost checks a host that ssh reaches, as the only host of an experiment.
func (a *app) checkHost(ctx context.Context, name string, o deploy.Options, format string) error {
	if err := experiment.CheckDestination(name); err != nil {
		return &usageError{err}
	}
	e := &experiment.Experiment{
		Hosts: []experiment.HostSpec{{Name: name, SSH: name}},
		Arms:  []experiment.Arm{{Name: "check", Client: name, Server: name}},
	}
	o.Terminal = ssh.NewTerminal(a.stderr)
	hosts, err := deploy.Up(ctx, e, o)
	if err != nil {
		return err
	}
	found, err := hosts.HostFacts(ctx)
	for i := range found {
		found[i].Sides = nil
		if f := found[i].Facts; f != nil {
			f.Path = nil // it leads to the host itself
		}
	}
	return errors.Join(a.printChecked(checked{Nearfar: "v1", Hosts: found}, format), err, hosts.Close())
}

// checkFile checks the hosts of an experiment, and whether it could run on them.
func (a *app) checkFile(
	ctx context.Context, file string, inputs *inputFlags, o deploy.Options, format string,
) error {
	e, err := a.readMade(ctx, file, inputs)
	if err != nil {
		return err
	}
	if err := inputs.unused(file); err != nil {
		return err
	}
	o.Step = func(format string, args ...any) { fmt.Fprintf(a.stderr, format+"\n", args...) }
	o.Terminal = ssh.NewTerminal(a.stderr)
	hosts, err := deploy.Up(ctx, e, o)
	if err != nil {
		return err
	}
	found, problem := hosts.HostFacts(ctx)
	problem = errors.Join(problem, execution.Check(ctx, e, hosts))
	ready := problem == nil
	c := checked{Nearfar: "v1", Hosts: found, Ready: &ready, Expectations: judgeFacts(e, found)}
	err = errors.Join(a.printChecked(c, format), problem, hosts.Close())
	if err == nil {
		err = refutedExpectations(c.Expectations)
	}
	return err
}

func (a *app) printChecked(c checked, format string) error {
	if format == "json" {
		return a.writeJSON(c)
	}
	var text strings.Builder
	for i, h := range c.Hosts {
		if i > 0 {
			text.WriteString("\n")
		}
		writeHostFacts(&text, h)
	}
	writeExpected(&text, c.Expectations)
	_, err := fmt.Fprint(a.stdout, text.String())
	return err
}
