package export

import (
	"errors"
	"fmt"
	"io"
	"os"

	"nearfar/internal/hdr"
	"nearfar/internal/result"
	"nearfar/internal/rundir"
)

// bucketRow is a bucket of a trial's histogram that holds something.
type bucketRow struct {
	Run        string `parquet:"run,dict"`
	Experiment string `parquet:"experiment,dict"`
	Trial      int64  `parquet:"trial"`
	Block      int64  `parquet:"block"`
	Arm        string `parquet:"arm,dict"`
	Workload   string `parquet:"workload,dict"`
	// Definition says what was timed: rtt, response_time.
	Definition string `parquet:"definition,dict"`
	// LowerSeconds and UpperSeconds are the smallest and the largest time that the bucket counts, both included.
	LowerSeconds float64 `parquet:"lower_seconds"`
	UpperSeconds float64 `parquet:"upper_seconds"`
	Count        int64   `parquet:"count"`
}

// Histograms writes the histograms of the runs' trials as a parquet file: a row for each bucket that holds something. Trials
// without a histogram have no rows. Version is that of this program.
func Histograms(w io.Writer, version string, runs []*rundir.Dir) error {
	names, err := runNames(runs)
	if err != nil {
		return err
	}
	out := newParquetWriter[bucketRow](w, "histograms", version)
	for i, run := range runs {
		if err := histogramsOf(run, names[i], out); err != nil {
			return err
		}
	}
	return out.close()
}

func histogramsOf(run *rundir.Dir, name string, out *parquetWriter[bucketRow]) (err error) {
	// A root keeps names such as ../../etc/passwd, which a run directory from elsewhere may hold, inside.
	root, err := os.OpenRoot(run.Path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	experiment := run.Manifest().Experiment.Name
	return run.Each(func(t result.Trial) error {
		if t.Histogram == "" {
			return nil
		}
		h, err := readHistogram(root, t.Histogram)
		if err != nil {
			return fmt.Errorf("%s: the histogram of trial %d: %w", run.Path, t.Trial, err)
		}
		row := bucketRow{Run: name, Experiment: experiment, Trial: int64(t.Trial), Block: int64(t.Block), Arm: t.Arm, Workload: t.Workload, Definition: t.Definition}
		for b := range h.Buckets() {
			row.LowerSeconds, row.UpperSeconds, row.Count = float64(b.From)/1e9, float64(b.To)/1e9, b.Count
			if err := out.add(row); err != nil {
				return err
			}
		}
		return nil
	})
}

// readHistogram reads a file in HdrHistogram's compressed V2 encoding, in nanoseconds.
func readHistogram(root *os.Root, name string) (h *hdr.Histogram, err error) {
	f, err := rundir.OpenRegular(root, name, hdr.MaxFile)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	data, err := io.ReadAll(io.LimitReader(f, hdr.MaxFile+1))
	if err != nil {
		return nil, err
	}
	if h, err = hdr.Decode(data); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return h, nil
}
