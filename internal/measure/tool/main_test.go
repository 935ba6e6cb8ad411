package tool

import (
	"fmt"
	"os"
	"testing"

	"nearfar/internal/onhost/confine"
	"nearfar/internal/onhost/hostverbs"
)

// TestMain lets the test binary be nearfar where it confines a program, and where it is the engine.
func TestMain(m *testing.M) {
	v := &hostverbs.Verbs{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Data: os.Stdout}
	verb := v.Confine()
	switch {
	case len(os.Args) > 1 && os.Args[1] == confine.SocketsVerb:
		verb = v.ConfineSockets()
	case len(os.Args) > 1 && os.Args[1] == "engine":
		verb = v.Engine()
	case len(os.Args) <= 1 || os.Args[1] != confine.Verb:
		os.Exit(m.Run())
	}
	verb.SetArgs(os.Args[2:])
	if err := verb.Execute(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
