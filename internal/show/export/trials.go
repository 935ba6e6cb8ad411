package export

import (
	"io"
	"maps"
	"slices"
	"time"

	"nearfar/internal/declare/result"
	"nearfar/internal/declare/rundir"
)

// trialRow is one metric of a trial. A trial without metrics is one row without a metric.
//
// Texts are never null but empty, because pandas drops rows with a null key when it groups. Numbers and times are null
// if they are not known.
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
	// MessageBytes and Started (microseconds since 1970, UTC) are null if they are not known.
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
	// Set is what the arm set differently from the workload: "congestion=bbr; wait=spin".
	Set string `parquet:"set,dict"`
	// Repeat counts the trials of the baseline within a block if there are several. Replaces is the number of the
	// failed trial that this trial repeats; 0 for none.
	Repeat   int64 `parquet:"repeat"`
	Replaces int64 `parquet:"replaces"`
	// Deployment is the set of hosts that the trial ran on, from 1.
	Deployment int64 `parquet:"deployment"`
}

// Trials writes the metrics of all trials of the runs as a parquet file, with a row for each trial, metric, stat and
// scope. version is the version of this program. The runs are read trial by trial. Two runs with the same name are an
// error.
func Trials(w io.Writer, version string, runs []*rundir.Dir) error {
	return writeTable(w, "trials", version, runs,
		func(run *rundir.Dir, name string, out *parquetWriter[trialRow]) error {
			experiment := run.Manifest().Experiment.Name
			return run.Each(func(t result.Trial) error {
				row := rowOf(t)
				row.Run, row.Experiment = name, experiment
				if len(t.Metrics) == 0 {
					return out.add(row)
				}
				for _, m := range t.Metrics {
					row.Metric, row.Stat, row.Unit, row.Scope = m.Name, m.Stat, m.Unit, m.Scope
					row.Value = new(m.Value)
					if err := out.add(row); err != nil {
						return err
					}
				}
				return nil
			})
		})
}

// rowOf gives the columns that all rows of a trial share.
func rowOf(t result.Trial) trialRow {
	row := trialRow{
		Trial: int64(t.Trial), Block: int64(t.Block), Arm: t.Arm, Workload: t.Workload,
		Tool: t.Tool.Name, ToolVersion: t.Tool.Version, Mode: t.Mode, Protocol: t.Protocol,
		Started: microseconds(t.Started), DurationSeconds: t.DurationSeconds,
		ReportedAs: t.ReportedAs, Definition: t.Definition, Error: t.Error,
		Repeat: int64(t.Repeat), Replaces: int64(t.Replaces), Deployment: int64(t.DeploymentNumber()),
	}
	for i, key := range slices.Sorted(maps.Keys(t.Set)) {
		row.Set += []string{"", "; "}[min(i, 1)] + key + "=" + t.Set[key]
	}
	if t.MessageBytes != nil {
		row.MessageBytes = new(int64(*t.MessageBytes))
	}
	return row
}

// microseconds gives the microseconds since 1970; 0, which is written as null, for the zero time. Not all readers of
// parquet support a finer unit.
func microseconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}
