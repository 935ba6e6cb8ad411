package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"nearfar/internal/base/clean"
	"nearfar/internal/conclude/gate"
	"nearfar/internal/declare/experiment"
	experimentfile "nearfar/internal/declare/experiment/file"
	"nearfar/internal/measure/tool"
)

// content reads the experiment file of a run into o.data, unless it was read before: a pipe can be read only once, and
// all of a run must be about one content.
func (a *app) content(ctx context.Context, file string, o *runOptions) error {
	if o.data != nil {
		return nil
	}
	var data []byte
	// Opening a pipe blocks until its other end is opened.
	err := abandon(ctx, 0, func() (err error) {
		data, err = a.readData(file)
		return err
	})
	if err == nil {
		o.data = append([]byte{}, data...) // never nil
	}
	return err
}

// readExperiment reads and checks an experiment file; "-" is standard input.
func (a *app) readExperiment(file string, inputs *inputFlags) (*experiment.Experiment, error) {
	data, err := a.readData(file)
	if err != nil {
		return nil, err
	}
	return a.parseFile(file, data, inputs)
}

// readData reads the content of an experiment file; "-" is standard input.
func (a *app) readData(file string) ([]byte, error) {
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		name := clean.Line(file)
		if _, err := os.Stat(filepath.Join(file, "run.json")); err == nil {
			return nil, usagef("%s is a run directory: print its answer with: nearfar report %s; "+
				"continue it with: nearfar run --resume %s", name, name, name)
		}
		return nil, usagef("%s is a directory: name an experiment file in it", name)
	}
	data, err := a.readFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, usagef("%w: name an experiment file, or write one with `nearfar init`", err)
	}
	if err != nil {
		return nil, &usageError{err}
	}
	return data, nil
}

// parseFile checks the content of an experiment file.
func (a *app) parseFile(file string, data []byte, inputs *inputFlags) (*experiment.Experiment, error) {
	in, err := inputs.read(a, file == "-")
	if err != nil {
		return nil, err
	}
	return parseExperiment(file, data, in)
}

// parseExperiment reads and checks the text of an experiment file.
func parseExperiment(file string, data []byte, in experimentfile.Inputs) (*experiment.Experiment, error) {
	e, err := experimentfile.ParseWith(file, data, tool.Declared(), in)
	if err == nil {
		_, err = gate.Objectives(e)
	}
	if err != nil {
		return nil, &usageError{err}
	}
	return e, nil
}
