package execution_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	experimentfile "nearfar/internal/declare/experiment/file"
	"nearfar/internal/measure/execution"
	"nearfar/internal/measure/runner"
	"nearfar/internal/measure/tool"
)

// A program of this module runs an experiment from its file to a run directory.
func Example() {
	if err := measure(context.Background(), filepath.Join("testdata", "experiment.yaml")); err != nil {
		log.Fatal(err)
	}
	// Output:
	// trial 1 of 2: spinning
	// trial 2 of 2: plain
	// the run is complete
}

func measure(ctx context.Context, file string) (err error) {
	folder, err := os.MkdirTemp("", "runs-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	e, err := experimentfile.Parse(file, text, tool.Declared())
	if err != nil {
		return err
	}
	r := execution.New(e)
	defer func() { err = errors.Join(err, r.Close()) }()
	if err := r.Prepare(ctx, execution.Options{Event: sayEnd}); err != nil {
		return err
	}
	if err := r.Create(ctx, folder, nil); err != nil {
		return err
	}
	if err := errors.Join(r.Measure(ctx), r.Finish(ctx)); err != nil {
		return err
	}
	fmt.Println("the run is", r.Manifest().State)
	return nil
}

func sayEnd(e runner.Event) {
	if e.Trial != nil {
		fmt.Printf("trial %d of %d: %s%s\n", e.Done, e.Total, e.Trial.Arm, e.Trial.Error)
	}
}
