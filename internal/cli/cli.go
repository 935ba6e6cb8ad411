// Package cli is the command line: one file for each verb, and the mapping from errors to exit codes.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"nearfar/internal/base/clean"
	"nearfar/internal/hosts/local"
	"nearfar/internal/onhost/hostverbs"
)

// The exit codes.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitGate        = 3
	exitUnproved    = 4 // an arm is not proved to be what it claims
	exitInterrupted = 130
)

// app holds the standard streams and other state that the verbs share. stdout and stderr are for text that people read.
// Main wraps both in a clean.Writer, because names, messages and outputs of tools come from files and hosts that may be
// hostile. Output for programs goes to data.
type app struct {
	// Reading stdin fails after an interrupt. Reading plain does not: it is for processes that end with their parent.
	stdin, plain   io.Reader
	stdout, stderr io.Writer
	done           <-chan struct{} // closed by an interrupt
	// plugin says that the program was called as a plugin of kubectl.
	plugin bool
	// last is what a run says after a second Ctrl-C.
	last *lastWords
}

// besides is the app with streams of its own, for a goroutine that must not wait for another one's output. flush
// writes what is left.
func (a *app) besides() (b *app, flush func()) {
	own := *a
	var flushes []func() error
	for _, w := range []*io.Writer{&own.stdout, &own.stderr} {
		if c, ok := (*w).(*clean.Writer); ok {
			again := cleaned(c.Unwrap())
			*w = again
			flushes = append(flushes, again.Flush)
		}
	}
	return &own, func() {
		for _, f := range flushes {
			_ = f() // the process ends
		}
	}
}

// usageError is wrong usage or a mistake in an experiment file.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// usagef returns a usageError with the message of fmt.Errorf.
func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// unprovedError says that arms are not proved to be what they claim. It has the lowest rank: if there is also a failure
// or a failed gate, that error decides the exit code.
type unprovedError struct{ unproved, hint string }

func (e *unprovedError) Error() string { return e.unproved + "\n" + e.hint }

// allowHint is the hint of an unprovedError for verbs with --allow-unverified.
const allowHint = "The warnings have the evidence. --allow-unverified accepts such an answer."

// errInterrupted says that the user ended the command.
var errInterrupted = errors.New("interrupted")

// Main runs the command line and returns the exit code.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	out, problems := cleaned(stdout), cleaned(stderr)
	code := mainClean(args, stdin, out, problems)
	if out.Flush() != nil && code == exitDone {
		code = exitFailed
	}
	_ = problems.Flush() // an error of standard error cannot be reported
	return code
}

// cleaned wraps a standard stream. Only a terminal that shows colours gets the escape sequences of colours.
func cleaned(w io.Writer) *clean.Writer { return clean.NewWriter(w, wantsColor(w)) }

// data returns standard output for data that programs read. The data are passed on byte for byte, except to a terminal,
// because the texts in JSON, CSV and HTML can be hostile too.
func (a *app) data() io.Writer {
	if w, ok := a.stdout.(*clean.Writer); ok && !isTerminal(w) {
		return w.Unwrap()
	}
	return a.stdout
}

func mainClean(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	last, restore := &lastWords{}, keepTerminal(stderr)
	ctx, stop := untilInterrupted(func() {
		restore()
		last.speak()
	})
	defer stop()
	a := &app{
		stdin: &interruptible{ctx: ctx, r: stdin}, plain: stdin, stdout: stdout, stderr: stderr, done: ctx.Done(),
		last: last,
	}
	a.plugin, args = asPlugin(os.Args[0], args)
	root := a.rootCommand()
	if len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd) {
		a.complete(root) // only then: cobra keeps the flags that it can complete until the process ends
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return flagError(cmd, args, err) })
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	if errors.Is(err, errInterrupted) || errors.Is(err, context.Canceled) && ctx.Err() != nil {
		fmt.Fprintln(a.stderr, "nearfar: interrupted")
		return exitInterrupted
	}
	fmt.Fprintln(a.stderr, "nearfar:", a.typed(err.Error()))
	switch {
	case errors.As(err, new(*usageError)), errors.As(err, new(*hostverbs.UsageError)):
		return exitUsage
	case errors.As(err, new(*gateError)):
		return exitGate
	case errors.As(err, new(*unprovedError)):
		return exitUnproved
	}
	return exitFailed
}

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "nearfar",
		Short: "How much does this placement, this network feature, this hop cost between two machines?",
		Long: `nearfar sets up competing network configurations side by side and measures them in turn. It says what
differs, by how much, with which certainty, and which layer causes the difference.`,
		Example: `  nearfar init
  nearfar run experiment.yaml
  nearfar report`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          suggestVerb,
	}
	// Not cobra's own flag: its text is a template, and a program that contains text/template keeps all exported methods.
	version := root.Flags().Bool("version", false, "print the version")
	root.RunE = func(cmd *cobra.Command, _ []string) error {
		if *version {
			_, err := io.WriteString(a.stdout, hostverbs.VersionLine())
			return err
		}
		return cmd.Help()
	}
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	onHosts := &hostverbs.Verbs{
		Stdin: a.stdin, Stdout: a.stdout, Stderr: a.stderr, Data: a.data(), Suggest: suggestVerb,
	}
	root.AddCommand(
		a.initCommand(),
		readsOnly(a.validateCommand()),
		a.checkCommand(),
		a.runCommand(),
		a.baselineCommand(),
		a.bisectCommand(),
		a.upCommand(),
		a.kubeCommand(),
		readsOnly(a.reportCommand()),
		a.insideCommand(),
		readsOnly(a.compareCommand()),
		readsOnly(a.gateCommand()),
		a.serveCommand(),
		readsOnly(a.importCommand()),
		readsOnly(a.historyCommand()),
		onHosts.Agent(),
		onHosts.Engine(),
		a.imageCommand(),
		a.schemaCommand(),
		a.doctorCommand(),
		a.downCommand(),
		a.migratePoolCommand(),
		a.lsCommand(),
		onHosts.Version(),
		onHosts.Absent(), onHosts.InsideWatch(), onHosts.InsideSpace(), onHosts.CapturePackets(),
		onHosts.Reach(), onHosts.Confine(), onHosts.ConfineSockets(),
		onHosts.Resolve(),
		onHosts.Facts(),
	)
	root.AddCommand(a.labCommands()...)
	// With these, this program is the agent of this machine itself.
	root.AddCommand(onHosts.AgentServe(local.Verb), onHosts.AgentWork())
	if a.plugin {
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: asTyped}
	}
	helpFor(root, a.stdout, a.typed)
	return root
}
