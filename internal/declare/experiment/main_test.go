package experiment_test

import (
	"os"
	"testing"

	"nearfar/internal/experiment" //nolint:depguard // this package is outside of it
	"nearfar/internal/tool"       //nolint:depguard // the tests read files with what the tools really declare
)

func TestMain(m *testing.M) {
	experiment.SetTestTools(tool.Declared())
	os.Exit(m.Run())
}
