// Package export writes runs for other programs: parquet files for DuckDB, pandas and ClickHouse, and text for
// Prometheus.
//
// docs/export.md explains the columns, names and units. They are stable: their meaning never changes, and new ones may
// be added.
package export

import (
	"fmt"
	"path/filepath"
	"strings"

	"nearfar/internal/declare/rundir"
)

// The formats, as `nearfar report -f` knows them.
const (
	ParquetTrials     = "parquet"
	ParquetHistograms = "parquet-histograms"
	OpenMetricsText   = "openmetrics"
	PrometheusText    = "prometheus"
)

// Formats lists the formats.
func Formats() []string {
	return []string{ParquetTrials, ParquetHistograms, OpenMetricsText, PrometheusText}
}

// IsBinary says whether a format must not be printed on a terminal.
func IsBinary(format string) bool { return format == ParquetTrials || format == ParquetHistograms }

// RunName gives the name of a run in exports: the name of its directory. It fails if the absolute path cannot be found.
func RunName(path string) (string, error) {
	whole, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return strings.ToValidUTF8(filepath.Base(whole), "\uFFFD"), nil
}

// runNames gives the names of runs. Two runs with the same name are an error, because a reader could not distinguish
// their rows.
func runNames(runs []*rundir.Dir) ([]string, error) {
	var names []string
	first := map[string]string{}
	for _, run := range runs {
		name, err := RunName(run.Path)
		if err != nil {
			return nil, err
		}
		if other, twice := first[name]; twice {
			return nil, fmt.Errorf("%s and %s are both called %s, and their rows could not be distinguished: "+
				"rename one of them, or export them separately", other, run.Path, name)
		}
		first[name] = run.Path
		names = append(names, name)
	}
	return names, nil
}
