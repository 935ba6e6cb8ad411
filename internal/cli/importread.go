package cli

import (
	"context"
	"errors"
	"fmt"

	"nearfar/internal/result"
	"nearfar/internal/tool"
)

// recorded is a file that was read, and the trials that it holds.
type recorded struct {
	recording
	data   []byte
	trials []result.Trial
	// histograms has one entry for each trial, empty where the output holds none.
	histograms [][]byte
}

// readRecording reads one file. The trials are not counted yet.
func (a *app) readRecording(r recording, toolName string) (recorded, error) {
	data, err := a.readFile(r.file)
	if err != nil {
		return recorded{}, errors.New(cell(err.Error())) // names of files in a directory are anybody's
	}
	found, err := tool.Import(data, toolName)
	if err != nil {
		return recorded{}, fmt.Errorf("%s: %w", cell(r.file), err)
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

// importFiles reads the files into trials, counted over all of them, and says which files it could not read.
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
