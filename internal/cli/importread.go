package cli

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"

	"nearfar/internal/base/clean"
	"nearfar/internal/declare/result"
	"nearfar/internal/measure/tool"
)

// recorded is a file and the trials in it.
type recorded struct {
	recording
	// size and hash are of its content. data is the content, if it cannot be read again.
	size   int
	hash   [sha256.Size]byte
	data   []byte
	trials []result.Trial
	// histograms has an entry for each trial, empty if the output has no histogram.
	histograms [][]byte
}

// readRecording reads one file. Its trials have no numbers yet.
func (a *app) readRecording(r recording, toolName string) (recorded, error) {
	data, err := a.readFile(r.file)
	if err != nil {
		return recorded{}, errors.New(clean.Line(err.Error())) // the file's name may contain newlines
	}
	found, err := tool.Import(data, toolName)
	if err != nil {
		return recorded{}, fmt.Errorf("%s: %w", clean.Line(r.file), err)
	}
	read := recorded{recording: r, size: len(data), hash: sha256.Sum256(data)}
	if info, err := os.Stat(r.file); r.file == "-" || err != nil || !info.Mode().IsRegular() {
		read.data = data
	}
	for _, f := range found {
		trial := result.Trial{Arm: r.arm, Raw: []string{r.file}, Treatment: map[string]string{}}
		trial.Record(f.Measurement)
		if f.Err != nil {
			trial.Error = f.Err.Error()
		}
		read.trials = append(read.trials, trial)
		read.histograms = append(read.histograms, f.Histogram)
	}
	return read, nil
}

// readAgain reads the content of the file again.
func (a *app) readAgain(r recorded) ([]byte, error) {
	if r.data != nil {
		return r.data, nil
	}
	data, err := a.readFile(r.file)
	if err == nil && sha256.Sum256(data) != r.hash {
		err = fmt.Errorf("%s: it was changed while it was imported", r.file)
	}
	return data, err
}

// importFiles reads the trials of all files, and numbers them. The error names files that it could not read.
func (a *app) importFiles(ctx context.Context, named []recording, toolName string) ([]result.Trial, error) {
	files, failed := expand(named)
	trials := []result.Trial{}
	for _, r := range files {
		if ctx.Err() != nil {
			return trials, ctx.Err()
		}
		read, err := a.readRecording(r, toolName)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		if len(trials)+len(read.trials) > maxImportedTrials {
			return trials, errors.Join(someOf(failed), errTooManyTrials())
		}
		for _, trial := range read.trials {
			trial.Trial = len(trials) + 1
			trials = append(trials, trial)
		}
	}
	return trials, someOf(failed)
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
