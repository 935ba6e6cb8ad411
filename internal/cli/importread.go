package cli

import (
	"context"
	"errors"
	"fmt"

	"nearfar/internal/clean"
	"nearfar/internal/result"
	"nearfar/internal/tool"
)

// recorded is the content of a file and the trials in it.
type recorded struct {
	recording
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
	read := recorded{recording: r, data: data}
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

// importFiles reads the trials of all files, and numbers them. It also returns the errors of files that it could not
// read.
func (a *app) importFiles(ctx context.Context, named []recording, toolName string) ([]result.Trial, []error) {
	files, failed := expand(named)
	trials := []result.Trial{}
	for _, r := range files {
		if ctx.Err() != nil {
			return trials, append(failed, ctx.Err())
		}
		read, err := a.readRecording(r, toolName)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		for _, trial := range read.trials {
			trial.Trial = len(trials) + 1
			trials = append(trials, trial)
		}
	}
	return trials, failed
}
