package agent

import (
	"os"
	"testing"

	"nearfar/internal/hosts/hosttest"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == hosttest.Verb {
		os.Exit(hosttest.Main(os.Args[1:]))
	}
	os.Exit(m.Run())
}
