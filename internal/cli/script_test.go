package cli

import (
	"errors"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"nearfar/internal/hosts/local"
	"nearfar/internal/onhost/hostverbs"
)

// The scripts run the command line as users do. The program nearfar is this test binary. Local hosts start it by the
// path of the running program, which is not that name.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == local.Verb || os.Args[1] == hostverbs.WorkVerb) {
		os.Exit(Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	nearfar := func() {
		code := Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
		notePeak()
		os.Exit(code)
	}
	testscript.Main(tests{m}, map[string]func(){
		"nearfar": nearfar, pluginName: nearfar, completionName: nearfar,
	})
}

// tests runs the tests with fewer garbage collections: the live heap is small, and many tests run the command line in
// this process. It does not hold for the program nearfar.
type tests struct{ *testing.M }

func (t tests) Run() int {
	debug.SetGCPercent(800)
	return t.M.Run()
}

// peakVariable names a file to which the program writes its status at its end, for tests of its memory.
const peakVariable = "NEARFAR_TEST_PEAK"

// notePeak copies the process's status (proc_pid_status(5)). Its peak of memory is the program's own. The peak in
// a child's resource usage is not: it starts with the memory of the parent.
func notePeak() {
	file := os.Getenv(peakVariable)
	if file == "" {
		return
	}
	if status, err := os.ReadFile("/proc/self/status"); err == nil {
		_ = os.WriteFile(file, status, 0o600) // after an error, the test fails to read the file
	}
}

// skipMeasuring skips a test that makes labs or measures, with -short.
func skipMeasuring(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("makes labs")
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
