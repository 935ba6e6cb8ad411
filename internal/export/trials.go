package export

import (
	"io"
	"maps"
	"slices"
	"time"

	"nearfar/internal/result"
	"nearfar/internal/rundir"
)

// trialRow is a number that a trial yielded. A trial that yielded none is one row without a metric.
//
// Text is never null: what trials.jsonl leaves empty is empty here, because groupings of pandas drop rows whose key is null.
// Numbers and times are null where they are not known.
type trialRow struct {
	Run         string `parquet:"run,dict"`
	Experiment  string `parquet:"experiment,dict"`
	Trial       int64  `parquet:"trial"`
	Block       int64  `parquet:"block"`
	Arm         string `parquet:"arm,dict"`
	Workload    string `parquet:"workload,dict"`
	Tool        string `parquet:"tool,dict"`
	ToolVersion string `parquet:"tool_version,dict"`
	Mode        string `parquet:"mode,dict"`
	Protocol    string `parquet:"protocol,dict"`
	// MessageBytes is null where it is not known, and so is Started (microseconds since 1970, UTC).
	MessageBytes    *int64   `parquet:"message_bytes"`
	Started         int64    `parquet:"started,optional,timestamp(microsecond)"`
	DurationSeconds float64  `parquet:"duration_seconds"`
	ReportedAs      string   `parquet:"reported_as,dict"`
	Definition      string   `parquet:"definition,dict"`
	Metric          string   `parquet:"metric,dict"`
	Stat            string   `parquet:"stat,dict"`
	Unit            string   `parquet:"unit,dict"`
	Scope           string   `parquet:"scope,dict"`
	Value           *float64 `parquet:"value"`
	Error           string   `parquet:"error,dict"`
	// Set is what the arm had otherwise than the workload says: "congestion=bbr; wait=spin".
	Set string `parquet:"set,dict"`
	// Repeat counts the trials of the baseline in one block where there are several, Replaces is the failed trial that
	// this one stands for; 0 for none.
	Repeat   int64 `parquet:"repeat"`
	Replaces int64 `parquet:"replaces"`
}

// Trials writes every number of every trial of the runs as a parquet file, in long form: a row for each trial, metric, stat
// and scope. Version is that of this program. The runs are read trial by trial.
func Trials(w io.Writer, version string, runs []*rundir.Dir) error {
	names, err := runNames(runs)
	if err != nil {
		return err
	}
	out := newParquetWriter[trialRow](w, "trials", version)
	for i, run := range runs {
		name, experiment := names[i], run.Manifest().Experiment.Name
		err := run.Each(func(t result.Trial) error {
			row := rowOf(t)
			row.Run, row.Experiment = name, experiment
			if len(t.Metrics) == 0 {
				return out.add(row)
			}
			for _, m := range t.Metrics {
				row.Metric, row.Stat, row.Unit, row.Scope = m.Name, m.Stat, m.Unit, m.Scope
				value := m.Value
				row.Value = &value
				if err := out.add(row); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return out.close()
}

// rowOf gives what the rows of a trial share.
func rowOf(t result.Trial) trialRow {
	row := trialRow{
		Trial: int64(t.Trial), Block: int64(t.Block), Arm: t.Arm, Workload: t.Workload,
		Tool: t.Tool.Name, ToolVersion: t.Tool.Version, Mode: t.Mode, Protocol: t.Protocol,
		Started: microseconds(t.Started), DurationSeconds: t.DurationSeconds,
		ReportedAs: t.ReportedAs, Definition: t.Definition, Error: t.Error,
		Repeat: int64(t.Repeat), Replaces: int64(t.Replaces),
	}
	for i, key := range slices.Sorted(maps.Keys(t.Set)) {
		row.Set += []string{"", "; "}[min(i, 1)] + key + "=" + t.Set[key]
	}
	if t.MessageBytes != nil {
		bytes := int64(*t.MessageBytes)
		row.MessageBytes = &bytes
	}
	return row
}

// microseconds since 1970; 0, which is written as null, for the zero time. They are the finest that all readers of parquet
// know.
func microseconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}
