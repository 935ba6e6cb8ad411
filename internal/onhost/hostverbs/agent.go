package hostverbs

import (
	"github.com/spf13/cobra"

	"nearfar/internal/onhost/agent/daemon"
)

// WorkVerb is the verb of the daemon's worker.
const WorkVerb = "agent-work"

// AgentServe is the verb with the given name that runs an agent.
func (v *Verbs) AgentServe(name string) *cobra.Command {
	o := daemon.Options{Work: []string{WorkVerb}}
	cmd := &cobra.Command{
		Use:   name + " --folder DIR",
		Short: "Run an agent that listens on a socket in its folder",
		Long: `Reads the secret of the session and its limits from the first line of standard input.
It ends by itself, with all that it started, when its owner is silent for too long.`,
		Hidden: true,
		Args:   usageArgs(cobra.NoArgs),
		RunE:   func(cmd *cobra.Command, _ []string) error { return daemon.Serve(cmd.Context(), o, v.Stdin, v.Data) },
	}
	agentFlags(cmd, &o)
	cmd.Flags().BoolVar(&o.Attached, "attached", false, "end with standard input")
	return cmd
}

// AgentWork is the verb of the daemon's worker.
func (v *Verbs) AgentWork() *cobra.Command {
	o := daemon.Options{}
	cmd := &cobra.Command{
		Use: WorkVerb, Short: "Run as the worker of an agent", Hidden: true, Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return daemon.Work(cmd.Context(), o, v.Stdin) },
	}
	agentFlags(cmd, &o)
	return cmd
}

func agentFlags(cmd *cobra.Command, o *daemon.Options) {
	cmd.Flags().StringVar(&o.Folder, "folder", "", "the agent's own `folder`: made, and removed at the end")
	cmd.Flags().StringArrayVar(&o.Remove, "remove", nil, "`file` to remove at the end, such as this program")
	_ = cmd.MarkFlagRequired("folder") // it fails only for a flag that does not exist
}
