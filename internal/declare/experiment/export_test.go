package experiment

// MaxExpectText is for tests of expectations.
const MaxExpectText = maxExpectText

// testTools are the tools' own declarations. This package cannot import them, so TestMain brings them.
var testTools Tools

// SetTestTools is for TestMain.
func SetTestTools(t Tools) { testTools = t }

// Shortened is the workload with a quarter of its duration.
func (w Workload) Shortened(tools Tools) (Workload, bool) { return w.shortened(tools) }
