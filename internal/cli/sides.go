package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"nearfar/internal/base/clean"
	"nearfar/internal/base/hdr"
	"nearfar/internal/conclude/contrast"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/rundir"
	"nearfar/internal/measure/recordings"
)

// sidesHelp explains the arguments of compare and gate.
const sidesHelp = `A side is a RUN directory, RUN:ARM for one of its arms, RUN:ARM/WORKLOAD for one workload of that
arm, a FILE with the recorded output of sockperf, netperf, iperf3, ping, qperf, ntttcp or latte ("-" reads standard
input), or a FOLDER of such files. Arms and workloads of two runs are matched by name. Recorded outputs are matched with
workloads of the same mode, protocol, message size and definition; each output is one run of its program.`

// readSide reads a run, an arm of a run, a file, or a folder of files.
func (a *app) readSide(ctx context.Context, source, name string) (*contrast.Side, error) {
	if source == "-" {
		return a.readFileSide(source, name)
	}
	info, err := os.Stat(source)
	switch {
	case err == nil && info.IsDir() && !rundir.Is(source):
		return a.readFolderSide(ctx, source, name)
	case err == nil && info.IsDir():
		return readRunSide(source, source, "", "", name)
	case err == nil:
		return a.readFileSide(source, name)
	}
	at := strings.LastIndex(source, ":")
	if at < 0 {
		return nil, unknownSource(source)
	}
	run := source[:at]
	arm, workload, _ := strings.Cut(source[at+1:], "/")
	switch info, err := os.Stat(run); {
	case err != nil:
		return nil, unknownSource(run)
	case !info.IsDir():
		return nil, usagef("%s is not a run directory: a recorded output is one arm, without a name",
			clean.Line(run))
	case arm == "":
		return nil, usagef("%s names no arm: write %s for all arms, or RUN:ARM",
			clean.Line(source), clean.Line(run))
	}
	return readRunSide(source, run, arm, workload, name)
}

// unknownSource is the error for a missing run or file. It lists the runs in the same directory.
func unknownSource(path string) error {
	var names []string
	runs, _ := runsOf(filepath.Dir(path)) // after an error, the entries so far are used
	for _, run := range runs {
		names = append(names, clean.Line(filepath.Base(run)))
	}
	message := fmt.Sprintf("%s: no such run or file", clean.Line(path))
	if len(names) > 0 && len(names) <= 20 {
		message += ": " + experiment.Suggest(filepath.Base(path), names)
	}
	return &usageError{errors.New(message)}
}

// readRunSide reads a run directory, and checks that it has the arm, unless that is "".
func readRunSide(source, path, arm, workload, name string) (*contrast.Side, error) {
	dir, err := rundir.Open(path)
	if err != nil {
		return nil, &usageError{err}
	}
	trials, err := dir.Trials()
	if err != nil {
		return nil, err
	}
	m := dir.Manifest()
	if arm != "" {
		if _, ok := m.Experiment.Arm(arm); !ok {
			var arms []string
			for _, known := range m.Experiment.Arms {
				arms = append(arms, clean.Line(known.Name))
			}
			return nil, usagef("%s has no arm %q: %s",
				clean.Line(path), arm, experiment.Suggest(arm, arms))
		}
	}
	id := path
	if absolute, err := filepath.Abs(path); err == nil {
		id = absolute
	}
	if real, err := filepath.EvalSymlinks(id); err == nil {
		id = real
	}
	return &contrast.Side{
		Name: name, Source: source, Kind: contrast.Run, ID: id, Experiment: m.Experiment, Arm: arm, Workload: workload,
		State: m.State, Started: m.Started, Versions: m.Versions, Machine: m.Machine, Hosts: m.Hosts,
		Trials: trials, Warnings: hostWarnings(m, trials),
		Open: func(file string) (io.ReadCloser, error) { return dir.OpenFile(file, hdr.MaxFile) },
	}, nil
}

// readFileSide reads a recorded output.
func (a *app) readFileSide(file, name string) (*contrast.Side, error) {
	arm := filepath.Base(file)
	if file == "-" {
		arm = "stdin"
	}
	trials, err := recordings.Reader{ReadFile: a.readFile}.One(recordings.Recording{Arm: arm, File: file})
	if err != nil {
		return nil, err
	}
	return &contrast.Side{Name: name, Source: file, Kind: contrast.File, Arm: arm, Trials: trials}, nil
}

// readFolderSide reads a folder of recorded outputs.
func (a *app) readFolderSide(ctx context.Context, folder, name string) (*contrast.Side, error) {
	arm := filepath.Base(filepath.Clean(folder))
	trials, err := recordings.Reader{ReadFile: a.readFile}.Folder(ctx, recordings.Recording{Arm: arm, File: folder})
	if err != nil {
		return nil, &usageError{fmt.Errorf("%s is neither a run directory (it has no run.json) nor a folder of recorded "+
			"outputs: %w", clean.Line(folder), err)}
	}
	return &contrast.Side{Name: name, Source: folder, Kind: contrast.File, Arm: arm, Trials: trials}, nil
}
