package cli

import (
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestCI runs the script with which a CI job gates.
func TestCI(t *testing.T) {
	scripts, err := filepath.Abs(filepath.Join("..", "..", "ci"))
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:  "testdata/ci",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "makerun": madeRunCommand},
		Setup: func(env *testscript.Env) error {
			env.Setenv("CI", scripts)
			return nil
		},
	})
}
