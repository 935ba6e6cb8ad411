package export

import (
	"errors"
	"fmt"
	"io"
	"os"

	"nearfar/internal/base/hdr"
	"nearfar/internal/declare/result"
	"nearfar/internal/declare/rundir"
)

// bucketRow is a non-empty bucket of a trial's histogram.
type bucketRow struct {
	Run        string `parquet:"run,dict"`
	Experiment string `parquet:"experiment,dict"`
	Trial      int64  `parquet:"trial"`
	Block      int64  `parquet:"block"`
	Arm        string `parquet:"arm,dict"`
	Workload   string `parquet:"workload,dict"`
	// Definition names the measured time: rtt, response_time.
	Definition string `parquet:"definition,dict"`
	// LowerSeconds and UpperSeconds are the smallest and the largest time in the bucket, both included.
	LowerSeconds float64 `parquet:"lower_seconds"`
	UpperSeconds float64 `parquet:"upper_seconds"`
	Count        int64   `parquet:"count"`
}

// Histograms writes the histograms of the runs' trials as a parquet file, with a row for each non-empty bucket. Trials
// without a histogram have no rows. version is the version of this program. A histogram that cannot be read and two
// runs with the same name are errors.
func Histograms(w io.Writer, version string, runs []*rundir.Dir) error {
	return writeTable(w, "histograms", version, runs, histogramsOf)
}

func histogramsOf(run *rundir.Dir, name string, out *parquetWriter[bucketRow]) (err error) {
	// A run directory may be untrusted. A root refuses names outside of it, such as ../../etc/passwd.
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
		row := bucketRow{
			Run: name, Experiment: experiment, Trial: int64(t.Trial), Block: int64(t.Block),
			Arm: t.Arm, Workload: t.Workload, Definition: t.Definition,
		}
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
