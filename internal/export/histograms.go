package export

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"math/bits"
	"os"
	"path/filepath"

	hdrhistogram "github.com/HdrHistogram/hdrhistogram-go"

	"nearfar/internal/result"
	"nearfar/internal/rundir"
)

// maxHistogram bounds the file of a histogram, in bytes. The engine's are some kilobytes.
const maxHistogram = 4 << 20

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
		for b := range buckets(h) {
			row.LowerSeconds, row.UpperSeconds, row.Count = float64(b.From)/1e9, float64(b.To)/1e9, b.Count
			if err := out.add(row); err != nil {
				return err
			}
		}
		return nil
	})
}

// readHistogram reads a file in HdrHistogram's compressed V2 encoding, in nanoseconds.
func readHistogram(root *os.Root, name string) (h *hdrhistogram.Histogram, err error) {
	name = filepath.FromSlash(name)
	// What is no file, such as a pipe, might never end.
	info, err := root.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no file", name)
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	data, err := io.ReadAll(io.LimitReader(f, maxHistogram+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxHistogram {
		return nil, fmt.Errorf("%s: longer than the %d MiB that are read", name, maxHistogram>>20)
	}
	if h, err = hdrhistogram.Decode(bytes.TrimSpace(data)); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return h, nil
}

// buckets gives the buckets that hold something, from the shortest time on. It is hdrhistogram-go's Distribution, which makes a list
// of all buckets and takes longer than all the rest of the export. The layout is HdrHistogram's: the first 2^(half+1) buckets are 2^unit wide, and of
// those that follow each 2^half are twice as wide as the 2^half before.
func buckets(h *hdrhistogram.Histogram) iter.Seq[hdrhistogram.Bar] {
	unit := bits.Len64(uint64(h.LowestTrackableValue())) - 1
	half := bits.Len64(uint64(2*math.Pow10(int(h.SignificantFigures())))-1) - 1
	return func(yield func(hdrhistogram.Bar) bool) {
		for i, count := range h.Export().Counts {
			if count == 0 {
				continue
			}
			double, place := i>>half-1, i&(1<<half-1)|1<<half
			if double < 0 {
				double, place = 0, i
			}
			width := unit + double
			low := int64(place) << width
			if !yield(hdrhistogram.Bar{From: low, To: low + 1<<width - 1, Count: count}) {
				return
			}
		}
	}
}
