package experiment

// testTools are the tools' own declarations. This package cannot import them, so TestMain brings them.
var testTools Tools

// SetTestTools is for TestMain.
func SetTestTools(t Tools) { testTools = t }
