package experiment_test

import (
	"os"
	"testing"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/measure/tool"
)

func TestMain(m *testing.M) {
	experiment.SetTestTools(tool.Declared())
	os.Exit(m.Run())
}
