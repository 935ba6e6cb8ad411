//go:build linux

package kube

import (
	"flag"
	"os"
	"slices"
	"testing"

	"nearfar/internal/hosts/hosttest"
	"nearfar/internal/kits/kubetest"
	"nearfar/internal/onhost/agentcli"
)

// TestMain runs the tests. The test's own program is also what the tests copy into pods in place of nearfar-agent, so
// that the suite's program is there.
func TestMain(m *testing.M) {
	if kubetest.Inside() {
		return
	}
	verbs := []string{"--stdio", "serve", "agent-work", "install", "pod", "resolve", "version"}
	switch {
	case len(os.Args) > 1 && os.Args[1] == hosttest.Verb:
		os.Exit(hosttest.Main(os.Args[1:]))
	case len(os.Args) > 1 && slices.Contains(verbs, os.Args[1]):
		os.Exit(agentcli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		if err := flag.Set("test.parallel", "4"); err != nil { // they wait for the cluster most of their time
			panic(err)
		}
	}
	os.Exit(m.Run())
}
