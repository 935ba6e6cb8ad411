package cli

import (
	"context"
	"errors"
	"io"
	"os"

	"nearfar/internal/declare/rundir"
	"nearfar/internal/onhost/engine/process"
	"nearfar/internal/show/export"
)

// export writes runs in a format for other programs, all into one file or to standard output.
func (a *app) export(ctx context.Context, paths []string, o reportOptions) error {
	if o.file == "" && export.IsBinary(o.format) && isTerminal(a.stdout) {
		return usagef("-f %s is not for a terminal: name a file with -o, or use a pipe", o.format)
	}
	var runs []*rundir.Dir
	for _, path := range paths {
		run, err := rundir.Open(path)
		if err != nil {
			return &usageError{err}
		}
		runs = append(runs, run)
	}
	write, err := exporter(runs, o.format)
	if err != nil {
		return err
	}
	if o.push != "" {
		return a.pushMetrics(ctx, o.push, write)
	}
	return a.writeWhole(o.file, write)
}

// exporter returns a function that writes the runs in the format.
func exporter(runs []*rundir.Dir, format string) (func(io.Writer) error, error) {
	switch format {
	case export.ParquetTrials:
		return func(w io.Writer) error { return export.Trials(w, process.Version(), runs) }, nil
	case export.ParquetHistograms:
		return func(w io.Writer) error { return export.Histograms(w, process.Version(), runs) }, nil
	}
	var answered []export.Answered
	for _, run := range runs {
		ans, err := readAnswer(run.Path)
		if err != nil {
			return nil, err
		}
		m := run.Manifest()
		name, err := export.RunName(run.Path)
		if err != nil {
			return nil, err
		}
		answered = append(answered, export.Answered{
			Run: name, Experiment: m.Experiment.Name, Started: m.Started, Answer: ans,
		})
	}
	if format == export.PrometheusText {
		return func(w io.Writer) error { return export.Prometheus(w, answered) }, nil
	}
	return func(w io.Writer) error { return export.OpenMetrics(w, answered) }, nil
}

// writeWhole writes to the named file, or to standard output if the name is "". It removes the file after an error or
// an interrupt, so that no program reads an incomplete one.
func (a *app) writeWhole(name string, write func(io.Writer) error) error {
	if name == "" {
		return write(a.data())
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	info, statErr := f.Stat()
	err = errors.Join(write(untilDone{f, a.done}), f.Close())
	if err != nil && statErr == nil && info.Mode().IsRegular() {
		err = errors.Join(err, os.Remove(name))
	}
	return err
}

// isTerminal reports whether w writes to a terminal.
func isTerminal(w io.Writer) bool {
	_, ok := terminalFile(w)
	return ok
}
