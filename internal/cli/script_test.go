package cli

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// The scripts run the command line as users do. The program is this test binary under the name nearfar.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"nearfar": func() {
			code := Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
			notePeak()
			os.Exit(code)
		},
	})
}

// peakVariable names a file into which the program puts what the kernel says of it at its end, for tests of its memory.
const peakVariable = "NEARFAR_TEST_PEAK"

// notePeak copies the process's status (proc_pid_status(5)). The peak there is the program's own; that in the resource
// usage of a child begins with what its parent had.
func notePeak() {
	file := os.Getenv(peakVariable)
	if file == "" {
		return
	}
	if status, err := os.ReadFile("/proc/self/status"); err == nil {
		_ = os.WriteFile(file, status, 0o600) // a test that reads it says that it is not there
	}
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":   exits,
			"makerun": madeRunCommand,
		},
	})
}

// exits runs a command and checks its exit code: exits 2 nearfar run wrong.yaml
func exits(ts *testscript.TestScript, negated bool, args []string) {
	if negated || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	if err != nil {
		ts.Fatalf("exits: %v", err)
	}
	err = ts.Exec(args[1], args[2:]...)
	code := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		code = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if code != want {
		ts.Fatalf("exit code %d, want %d", code, want)
	}
}
