package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"nearfar/internal/base/files"
	"nearfar/internal/conclude/gate"
	"nearfar/internal/declare/experiment"
	experimentfile "nearfar/internal/declare/experiment/file"
	"nearfar/internal/declare/result"
	"nearfar/internal/declare/rundir"
	"nearfar/internal/measure/tool"
	"nearfar/internal/onhost/engine/wire"
	"nearfar/internal/show/export"
	"nearfar/internal/show/report"
)

// Completion at the Tab key. Completions never fail: if nothing can be read, nothing is offered.

// maxCompleted bounds how many entries of a directory are looked at, and maxManifests how many runs are read for their
// names.
const (
	maxCompleted = 1000
	maxManifests = 50
	// maxCompletedFile bounds the experiment files that are read for their names, in bytes.
	maxCompletedFile = 1 << 20
)

// complete says for all verbs what their flags and arguments can be.
func (a *app) complete(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		if cmd.Name() == "engine" {
			for _, mode := range cmd.Commands() {
				completeFlags(mode, engineWords(mode.Name()))
				mode.ValidArgsFunction = cobra.NoFileCompletions
			}
		}
		completeFlags(cmd, verbWords(cmd.Name()))
		if arguments, ok := verbArguments()[cmd.Name()]; ok {
			cmd.ValidArgsFunction = arguments
		}
	}
}

// completeFlags registers the words of those flags that the command has.
func completeFlags(cmd *cobra.Command, words map[string]cobra.CompletionFunc) {
	for name, complete := range words {
		if cmd.Flags().Lookup(name) != nil {
			// It fails where the flag is not there, or has its words already.
			_ = cmd.RegisterFlagCompletionFunc(name, complete)
		}
	}
}

// fixed offers words, and no files.
func fixed(words ...string) cobra.CompletionFunc {
	return from(func() []string { return words })
}

// from offers words, and no files. It asks for the words only when they are completed, because every start of the
// program would take milliseconds longer otherwise.
func from(words func() []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, begins string) ([]string, cobra.ShellCompDirective) {
		var fit []string
		for _, word := range words() {
			if strings.HasPrefix(word, begins) {
				fit = append(fit, word)
			}
		}
		return fit, cobra.ShellCompDirectiveNoFileComp
	}
}

// directories offers directories.
func directories() cobra.CompletionFunc {
	return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
}

// yamlFiles offers files that can be experiments.
func yamlFiles() cobra.CompletionFunc {
	return cobra.FixedCompletions([]string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt)
}

// first completes the first argument, and offers nothing for further ones.
func first(complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begins string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return complete(cmd, args, begins)
	}
}

// formatWords are the forms that each verb can print.
func formatWords() map[string][]string {
	page := append(report.Formats(), formatHTML)
	return map[string][]string{
		"run": page, "baseline": page, "kube": page, "import": page,
		"inside":  page,
		"report":  append(slices.Clone(page), export.Formats()...),
		"compare": page, "gate": append(gate.Formats(), formatHTML),
		"history": report.HistoryFormats(), "validate": resultFormats(), "check": resultFormats(),
		"ls": resultFormats(), "up": resultFormats(), "bisect": resultFormats(),
		"schema": {"json", "markdown"},
	}
}

// verbWords are the words of a verb's flags.
func verbWords(verb string) map[string]cobra.CompletionFunc {
	words := map[string]cobra.CompletionFunc{
		"format":   from(func() []string { return formatWords()[verb] }),
		"progress": fixed(progressModes()...), "resume": runDirectories,
		"out": directories(), "path": directories(), "tool": from(tool.Formats),
		"inconclusive": fixed("pass", "fail"), "on-failure": fixed(failureWords()...),
		"platform": fixed(imagePlatforms()...), "push": cobra.NoFileCompletions, "name": cobra.NoFileCompletions,
		"hosts": yamlFiles(), "set": cobra.NoFileCompletions,
		"ssh-config": cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault),
	}
	if verb == "kube" {
		words["tool"] = from(func() []string { return tool.Declared().Names() })
		words["through"] = fixed(kubeThroughs()...)
		words["from"] = yamlFiles()
		for _, flag := range []string{"nearfar-image", "schedule", "results-claim", "metrics-push"} {
			words[flag] = cobra.NoFileCompletions
		}
	}
	if verb == "report" {
		words["push"] = cobra.NoFileCompletions // in image, push has another meaning, and no files either
	}
	if verb == "import" {
		words["server"] = cobra.NoFileCompletions
	}
	if verb == "baseline" {
		words["arm"] = armsOfFile
	}
	if verb == "bisect" {
		words["arm"], words["metric"] = armsOfFile, fixed(metricWords()...)
		words["git"], words["resume"] = directories(), directories()
		words["good"], words["bad"] = cobra.NoFileCompletions, cobra.NoFileCompletions
	}
	if verb == "migrate-pool" {
		for _, flag := range []string{"resource-group", "cluster", "subscription", "context", "from", "to", "new",
			"vm-size", "from-selector", "to-selector"} {
			words[flag] = cobra.NoFileCompletions
		}
	}
	if verb == "history" {
		words["arm"] = declaredNames((*experiment.Experiment).ArmNames)
		words["workload"] = declaredNames(func(e *experiment.Experiment) (names []string) {
			for _, w := range e.Workloads {
				names = append(names, w.Name)
			}
			return names
		})
		words["experiment"] = declaredNames(func(e *experiment.Experiment) []string { return []string{e.Name} })
		words["metric"] = fixed(metricWords()...)
	}
	return words
}

// metricWords are the metrics with the statistics that are asked for most.
func metricWords() []string {
	var words []string
	for _, metric := range []string{"rtt", "response_time", "service_time", "connect_time"} {
		for _, stat := range []string{"mean", "p50", "p90", "p99", "p99.9"} {
			words = append(words, metric+"."+stat)
		}
	}
	for _, metric := range []string{"goodput", "transaction_rate", "message_rate", "loss", "error_share", "retransmits"} {
		if _, known := result.UnitOf(metric); known {
			words = append(words, metric)
		}
	}
	return words
}

// engineWords are the words of the flags of a mode of the engine, as native declares them.
func engineWords(mode string) map[string]cobra.CompletionFunc {
	native := tool.NewNative("").Name()
	return map[string]cobra.CompletionFunc{
		"format": fixed("text", "json"), "direction": fixed(experiment.Upload, experiment.Download, experiment.Both),
		"protocol": from(func() []string { return tool.Declared().Protocols(native, mode) }),
		"wait":     from(func() []string { return tool.Declared().Waits(native, mode) }),
		"http":     fixed(experiment.HTTP1, experiment.HTTP2),
		"loop":     fixed(wire.LoopGo, wire.LoopAssembly),
		"arrivals": fixed(experiment.ConstantArrivals, experiment.PoissonArrivals),
	}
}

// verbArguments are what the arguments of a verb can be.
func verbArguments() map[string]cobra.CompletionFunc {
	file, directory := first(yamlFiles()), first(directories())
	return map[string]cobra.CompletionFunc{
		"run": file, "up": file, "down": file, "ls": cobra.NoFileCompletions,
		"baseline": file, "bisect": file, "validate": yamlFiles(), "check": file,
		"init":    templateArguments,
		"kube":    manifestArguments,
		"report":  otherRuns,
		"inside":  insideArguments,
		"compare": sideArguments, "gate": sideArguments,
		"serve": directory, "history": directory, "agent": cobra.NoFileCompletions,
		"image": cobra.NoFileCompletions, "migrate-pool": cobra.NoFileCompletions,
		"schema": cobra.NoFileCompletions, "doctor": file, "version": cobra.NoFileCompletions,
	}
}

// manifestArguments offers experiment files for --manifests, and nothing without it.
func manifestArguments(cmd *cobra.Command, args []string, begins string) ([]string, cobra.ShellCompDirective) {
	if !cmd.Flags().Changed("manifests") {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return first(yamlFiles())(cmd, args, begins)
}

func templateArguments(cmd *cobra.Command, args []string, begins string) ([]string, cobra.ShellCompDirective) {
	switch len(args) {
	case 0:
		var words []string
		for _, t := range templateList() {
			words = append(words, cobra.CompletionWithDesc(t.name, t.about))
		}
		return fixed(words...)(cmd, args, begins)
	case 1:
		return yamlFiles()(cmd, args, begins)
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// runDirectories offers the runs whose path begins with the given text. If there are none, it offers directories that
// may contain runs.
func runDirectories(_ *cobra.Command, _ []string, begins string) ([]string, cobra.ShellCompDirective) {
	runs := runsThatBegin(begins)
	if len(runs) == 0 {
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	return runs, cobra.ShellCompDirectiveNoFileComp
}

// otherRuns offers the runs that are not among the arguments yet.
func otherRuns(cmd *cobra.Command, args []string, begins string) ([]string, cobra.ShellCompDirective) {
	runs, directive := runDirectories(cmd, args, begins)
	return slices.DeleteFunc(runs, func(run string) bool { return slices.Contains(args, run) }), directive
}

// sideArguments offers runs. If only one run matches, it also offers the arms of that run as RUN:ARM. Sides can also be
// files, so the shell offers files if no run matches.
func sideArguments(_ *cobra.Command, args []string, begins string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 1 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	run, arm, named := begins, "", false
	if at := strings.LastIndex(begins, ":"); at >= 0 && isRun(begins[:at]) {
		run, arm, named = begins[:at], begins[at+1:], true
	}
	runs := []string{run}
	if !named {
		runs = runsThatBegin(begins)
	}
	if len(runs) == 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	var words []string
	if !named {
		words = runs
	}
	if len(runs) == 1 {
		if e := experimentOf(runs[0]); e != nil {
			for _, known := range e.Arms {
				if strings.HasPrefix(known.Name, arm) && plainWord(known.Name) {
					words = append(words, runs[0]+":"+known.Name)
				}
			}
		}
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

// insideArguments offers runs and their arms, and else experiment files.
func insideArguments(cmd *cobra.Command, args []string, begins string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	if words, directive := sideArguments(cmd, args, begins); len(words) > 0 {
		return words, directive
	}
	return yamlFiles()(cmd, args, begins)
}

// runsThatBegin lists the run directories whose path begins as given. Where no directory is given, those in runs are
// meant too.
func runsThatBegin(begins string) []string {
	directory, name := filepath.Split(begins)
	found := runsIn(directory, name)
	if directory == "" {
		inRuns := "runs" + string(filepath.Separator)
		if strings.HasPrefix(inRuns, name) {
			name = ""
		}
		found = append(found, runsIn(inRuns, name)...)
	}
	return found
}

// runsIn lists the run directories in a directory whose names begin as given, as they are written on a command line.
func runsIn(directory, begins string) []string {
	entries, _ := files.List(filepath.Clean(directory), maxCompleted) // what there is suffices
	var runs []string
	for _, entry := range entries {
		if path := directory + entry.Name(); strings.HasPrefix(entry.Name(), begins) && plainWord(path) && isRun(path) {
			runs = append(runs, path)
		}
	}
	return runs
}

func isRun(path string) bool {
	info, err := os.Stat(filepath.Join(path, "run.json"))
	return err == nil && info.Mode().IsRegular()
}

// declaredNames offers what the runs of the directory that history is asked about declare.
func declaredNames(names func(*experiment.Experiment) []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begins string) ([]string, cobra.ShellCompDirective) {
		directory := strings.TrimRight(argumentOr(args, runsFolder), `/\`)
		runs := runsIn(directory+string(filepath.Separator), "")
		var words []string
		for _, run := range runs[max(0, len(runs)-maxManifests):] { // their names begin with the time: the latest
			e := experimentOf(run)
			if e == nil {
				continue
			}
			for _, name := range names(e) {
				if plainWord(name) && !slices.Contains(words, name) {
					words = append(words, name)
				}
			}
		}
		return fixed(words...)(cmd, args, begins)
	}
}

// armsOfFile offers the arms of the experiment file that the verb is called with.
func armsOfFile(cmd *cobra.Command, args []string, begins string) ([]string, cobra.ShellCompDirective) {
	file := argumentOr(args, defaultExperiment)
	data, err := files.ReadRegular(file, maxCompletedFile)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	e, err := parseExperiment(file, data, experimentfile.Inputs{Variable: os.LookupEnv})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return fixed(e.ArmNames()...)(cmd, args, begins)
}

// experimentOf reads what a run declares; nil where it cannot be read.
func experimentOf(run string) *experiment.Experiment {
	dir, err := rundir.Open(run)
	if err != nil {
		return nil
	}
	return dir.Manifest().Experiment
}

// plainWord says that a shell shows the word as it is: a tab would begin its description.
func plainWord(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}
