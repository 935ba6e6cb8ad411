package experiment_test

import (
	"os"
	"testing"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/measure/tool"
)

var testTools = tool.Declared()

func TestMain(m *testing.M) {
	experiment.SetTestTools(testTools)
	os.Exit(m.Run())
}
