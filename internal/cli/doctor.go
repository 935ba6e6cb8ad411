package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nearfar/internal/base/clean"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/hosts/lab"
	"nearfar/internal/hosts/ssh"
	"nearfar/internal/measure/tool"
	"nearfar/internal/onhost/host"
)

func (a *app) doctorCommand() *cobra.Command {
	var inputs inputFlags
	var sshConfig string
	cmd := &cobra.Command{
		Use:   "doctor [FILE]",
		Short: "Check what this machine can do, or how ssh resolves a file's hosts",
		Long: `Without FILE, doctor says whether labs can be made on this machine, as root or as an ordinary user, and
which of the programs that nearfar can run are installed.

With FILE, it shows ssh's settings for each ssh host in the experiment file: user, address, port, jump hosts and keys
(ssh -G). It connects to none of them. "-" reads standard input.

Exit codes: 0 labs can be made, or ssh accepts all names; 1 labs cannot be made, or ssh refuses a name; 2 wrong usage,
or a mistake in the file.`,
		Example: `  nearfar doctor
  nearfar doctor && nearfar run experiment.yaml
  nearfar doctor zones.yaml
  nearfar doctor --set CLIENT=vm-a --set SERVER=vm-b labs/byo-ssh/experiment.yaml
  nearfar doctor --ssh-config lab.config zones.yaml`,
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return a.doctorHosts(cmd.Context(), args[0], &inputs, sshConfig)
			}
			if flag := given(cmd.Flags().Changed, "set", "hosts", "ssh-config"); flag != "" {
				return usagef("--%s is about the hosts of an experiment file: name the FILE", flag)
			}
			return a.doctorMachine(cmd.Context())
		},
	}
	inputs.flags(cmd.Flags())
	sshConfigFlag(cmd.Flags(), &sshConfig)
	return cmd
}

// doctorMachine says what this machine can do.
func (a *app) doctorMachine(ctx context.Context) error {
	facts, err := lab.Doctor(ctx)
	switch {
	case err != nil:
		fmt.Fprintf(a.stdout, "lab        no: %v\n", err)
	case facts.UserNamespace:
		fmt.Fprintf(a.stdout, "lab        yes, in a user namespace; wires: %s; %s\n", facts.Wire, ipVersions(facts))
	default:
		fmt.Fprintf(a.stdout, "lab        yes, as root; wires: %s; %s\n", facts.Wire, ipVersions(facts))
	}
	tools := tool.All("")
	for _, name := range tools.Names() {
		t, _ := tools.Lookup(name)
		state := "installed"
		for _, program := range t.Probe().Programs {
			if program == host.Self {
				continue
			}
			if _, lookErr := exec.LookPath(program); lookErr != nil {
				state = fmt.Sprintf("%s is not installed: %s", program, howToInstall(name))
			}
		}
		fmt.Fprintf(a.stdout, "%-10s %s\n", name, state)
	}
	if err != nil {
		return errors.New("no lab can be made on this machine")
	}
	return nil
}

// doctorHosts shows how ssh resolves the names of a file's hosts.
func (a *app) doctorHosts(ctx context.Context, file string, inputs *inputFlags, config string) error {
	e, err := a.readExperiment(file, inputs)
	if err != nil {
		return err
	}
	if err := inputs.unused(file); err != nil {
		return err
	}
	var hosts, names []string
	for _, h := range e.Hosts {
		if h.Kind() == experiment.HostSSH {
			hosts, names = append(hosts, h.Name), append(names, h.SSH)
		}
	}
	if len(hosts) == 0 {
		_, err := fmt.Fprintf(a.stdout, "%s has no host that is reached by ssh\n", clean.Line(file))
		return err
	}
	ok, err := ssh.WriteSettings(ctx, a.stdout, config, hosts, names)
	if err == nil && !ok {
		err = errors.New("ssh refuses some of the names")
	}
	return err
}

// sshConfigFlag is the flag that names ssh's configuration.
func sshConfigFlag(f *pflag.FlagSet, config *string) {
	f.StringVar(config, "ssh-config", "", "the configuration `FILE` for ssh (its option -F) (default: as ssh finds it)")
}

// ipVersions names the versions of IP that the hosts of a lab have.
func ipVersions(f lab.Facts) string {
	if f.HasIPv6() {
		return "IPv4 and IPv6"
	}
	return "IPv4 only"
}

// howToInstall says how a tool comes onto this machine.
func howToInstall(name string) string {
	release, _ := os.ReadFile("/etc/os-release") // only some systems have it
	return tool.HowToInstall(name, host.System{OS: runtime.GOOS, Arch: runtime.GOARCH}, string(release))
}
