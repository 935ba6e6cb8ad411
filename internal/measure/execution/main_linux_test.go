package execution_test

import (
	"os"
	"strings"
	"testing"

	"nearfar/internal/hosts/local"
	"nearfar/internal/onhost/agentcli"
)

// TestMain makes this program the agent of local hosts, and what that agent starts, too: a host runs the program that
// runs the experiment.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 || strings.HasPrefix(os.Args[1], "-test.") {
		os.Exit(m.Run())
	}
	verbs := os.Args[1:]
	if verbs[0] == local.Verb {
		verbs[0] = "serve" // as nearfar-agent calls it
	}
	os.Exit(agentcli.Main(verbs, os.Stdin, os.Stdout, os.Stderr))
}
