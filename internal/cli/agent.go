package cli

import (
	"github.com/spf13/cobra"

	"nearfar/internal/hosts/local"
	"nearfar/internal/onhost/hostverbs"
)

// agentCommands returns the hidden verbs with which this program is the agent of this machine itself.
func agentCommands(v *hostverbs.Verbs) []*cobra.Command {
	return []*cobra.Command{v.AgentServe(local.Verb), v.AgentWork()}
}
