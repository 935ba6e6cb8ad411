// Package recordings reads outputs of measuring programs that were recorded elsewhere, as trials or as a run.
package recordings

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"os"

	"nearfar/internal/base/clean"
	"nearfar/internal/base/pcapfile"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/measure/tool"
)

// A Recording is a file or a folder of files, and the arm that it belongs to.
type Recording struct{ Arm, File string }

// A Reader reads recordings.
type Reader struct {
	// ReadFile reads a whole file, and refuses one that is too large.
	ReadFile func(name string) ([]byte, error)
	// Tool is the program that printed the outputs; empty if it is to be recognised.
	Tool string
}

// File is a recording and the trials in it.
type File struct {
	Recording
	// size and hash are of its content. data is the content, if it cannot be read again.
	size int
	hash [sha256.Size]byte
	data []byte
	// trials have no numbers yet.
	trials []result.Trial
	// histograms has an entry for each trial, empty if the output has no histogram.
	histograms [][]byte
}

// read reads one file.
func (r Reader) read(of Recording) (File, error) {
	data, err := r.ReadFile(of.File)
	if err != nil {
		return File{}, errors.New(clean.Line(err.Error())) // the file's name may contain newlines
	}
	if pcapfile.Is(data) {
		return File{}, fmt.Errorf("%s: this is a capture of packets: write --point NAME=FILE", clean.Line(of.File))
	}
	found, err := tool.Import(data, r.Tool)
	if err != nil {
		return File{}, fmt.Errorf("%s: %w", clean.Line(of.File), err)
	}
	f := File{Recording: of, size: len(data), hash: sha256.Sum256(data)}
	if info, err := os.Stat(of.File); of.File == "-" || err != nil || !info.Mode().IsRegular() {
		f.data = data
	}
	for _, one := range found {
		trial := result.Trial{Arm: of.Arm, Raw: []string{of.File}, Treatment: map[string]string{}}
		trial.Record(one.Measurement)
		trial.Started = one.Started
		if one.Err != nil {
			trial.Error = one.Err.Error()
		}
		f.trials = append(f.trials, trial)
		f.histograms = append(f.histograms, one.Histogram)
	}
	return f, nil
}

// readAgain reads the content of the file again.
func (r Reader) readAgain(f File) ([]byte, error) {
	if f.data != nil {
		return f.data, nil
	}
	data, err := r.ReadFile(f.File)
	if err == nil && sha256.Sum256(data) != f.hash {
		err = fmt.Errorf("%s: it was changed while it was imported", f.File)
	}
	return data, err
}

// bound shortens the long texts of the trials. It refuses trials that exceed the bounds for reading, which no tool
// prints.
func (f File) bound() (failed []error) {
	for i := range f.trials {
		t := &f.trials[i]
		t.Shorten()
		if err := t.Check(); err != nil {
			failed = append(failed, fmt.Errorf("%s: one run of %s has %w", clean.Line(f.File), t.Tool.Name, err))
		}
	}
	return failed
}

// One reads the trials of one file, within the bounds of trials of a run.
func (r Reader) One(of Recording) ([]result.Trial, error) {
	f, err := r.read(of)
	if err != nil {
		return nil, err
	}
	if failed := f.bound(); len(failed) > 0 {
		return nil, failed[0]
	}
	return numbered(nil, f.trials), nil
}

// Folder reads the trials of all files of a folder, within the bounds of a run. The error names every file that cannot
// be read.
func (r Reader) Folder(ctx context.Context, of Recording) ([]result.Trial, error) {
	files, err := r.Files(ctx, []Recording{of})
	var trials []result.Trial
	for _, f := range files {
		trials = numbered(trials, f.trials)
	}
	return trials, err
}

// Trials reads the trials of all files, and numbers them. The error names files that it could not read.
func (r Reader) Trials(ctx context.Context, named []Recording) ([]result.Trial, error) {
	trials := []result.Trial{}
	unbounded := func(File) []error { return nil }
	err := r.each(ctx, named, math.MaxInt, unbounded, func(f File) { trials = numbered(trials, f.trials) })
	return trials, err
}

// numbered appends trials, with the next numbers.
func numbered(all, trials []result.Trial) []result.Trial {
	for _, t := range trials {
		t.Trial = len(all) + 1
		all = append(all, t)
	}
	return all
}

// The bounds of an imported run.
const (
	maxBytes  = 256 << 20 // of all files together: they are copied into the run directory
	maxTrials = experiment.MaxTrials
)

// Files reads all files for a run, within bounds. The error names every file that cannot be read.
func (r Reader) Files(ctx context.Context, named []Recording) (all []File, err error) {
	if err := r.each(ctx, named, maxBytes, File.bound, func(f File) { all = append(all, f) }); err != nil {
		return nil, err
	}
	return all, nil
}

// each reads the files in turn, checks their trials, and hands the files over to use. It reads on after an error, but
// not beyond the bounds; most is that of all bytes.
func (r Reader) each(
	ctx context.Context, named []Recording, most int, check func(File) []error, use func(File),
) error {
	files, failed := expand(named)
	bytes, trials := 0, 0
	for _, of := range files {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		f, err := r.read(of)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		failed = append(failed, check(f)...)
		bytes, trials = bytes+f.size, trials+len(f.trials)
		if bytes > most {
			return errors.Join(someOf(failed), fmt.Errorf("the files have more than %d MiB together, the most that is "+
				"copied into a run directory", most>>20))
		}
		if trials > maxTrials {
			return errors.Join(someOf(failed),
				fmt.Errorf("the files have more than %d trials, the most that a run can have", maxTrials))
		}
		use(f)
	}
	return someOf(failed)
}

// maxNamed is how many files that could not be read are named: a folder can have a hundred thousand.
const maxNamed = 20

// someOf joins the errors of files, at most maxNamed of them.
func someOf(failed []error) error {
	if more := len(failed) - maxNamed; more > 1 {
		failed = append(failed[:maxNamed:maxNamed], fmt.Errorf("%d more files could not be read", more))
	}
	return errors.Join(failed...)
}
