//go:build linux

package lab

import (
	"fmt"
	"os"
	"testing"

	"nearfar/internal/hosts/hosttest"
)

// TestMain runs a subcommand of nearfar, or a helper of the tests, if the first argument names one (testVerbs). The lab
// starts this binary in place of nearfar.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		if verb, ok := testVerbs()[os.Args[1]]; ok {
			if err := verb(os.Args[2:]); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		}
	}
	if os.Getenv("GORACE") == "" {
		// Otherwise every program under the race detector waits a second before it ends; the tests start hundreds.
		if err := os.Setenv("GORACE", "atexit_sleep_ms=0"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// testVerbs are the program's own hidden verbs, and helpers that tests run in hosts (helpers_test.go).
func testVerbs() map[string]func(args []string) error {
	return map[string]func([]string) error{
		InitVerb: func([]string) error { return RunInit() },
		WireVerb: func([]string) error { return RunWire(os.Stdin, os.Stdout) },
		hosttest.Verb: func(args []string) error {
			os.Exit(hosttest.Main(append([]string{hosttest.Verb}, args...)))
			return nil
		},
		"reflect":  reflectPackets,
		"bounce":   bounce,
		"echo":     echoServer,
		"transfer": transfer,
		"pingpong": pingPong,
		"reject":   reject,
		"hold":     hold,
		"awake":    switchAwake,
	}
}
