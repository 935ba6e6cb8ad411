package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"

	"github.com/spf13/cobra"

	"nearfar/internal/host"
	"nearfar/internal/host/lab"
	"nearfar/internal/tool"
)

func (a *app) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Check what this machine can do: labs, measuring programs",
		Long: `Doctor says whether labs can be made on this machine, as root or as an ordinary user, and which of the
programs that nearfar can run are installed.

Exit codes: 0 labs can be made; 1 they cannot.`,
		Example: `  nearfar doctor
  nearfar doctor && nearfar run experiment.yaml`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			facts, err := lab.Doctor(cmd.Context())
			switch {
			case err != nil:
				fmt.Fprintf(a.stdout, "lab        no: %v\n", err)
			case facts.UserNamespace:
				fmt.Fprintf(a.stdout, "lab        yes, in a user namespace; wires: %s; %s\n",
					facts.Wire, ipVersions(facts))
			default:
				fmt.Fprintf(a.stdout, "lab        yes, as root; wires: %s; %s\n", facts.Wire, ipVersions(facts))
			}
			tools := newTools("")
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
		},
	}
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
