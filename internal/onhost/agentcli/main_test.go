package agentcli

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"nearfar/internal/hosts/hosttest"
)

// TestMain lets the test binary be nearfar-agent, with the verb of the conformance suite in addition.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 1 && os.Args[1] == hosttest.Verb:
		os.Exit(hosttest.Main(os.Args[1:]))
	case len(os.Args) > 1 && os.Args[1] == lookVerb:
		if err := look(os.Args[2], os.Args[3:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	case len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-test."):
		os.Exit(Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}
