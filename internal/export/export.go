// Package export writes runs for other programs: parquet files for DuckDB, pandas and ClickHouse, and OpenMetrics text.
//
// The columns, the names and their units are in docs/export.md. They are stable: what they mean never changes, and new ones
// may come.
package export

import (
	"fmt"
	"path/filepath"
	"strings"

	"nearfar/internal/rundir"
)

// The formats, as `nearfar report -f` knows them.
const (
	ParquetTrials     = "parquet"
	ParquetHistograms = "parquet-histograms"
	OpenMetricsText   = "openmetrics"
)

// Formats lists them.
func Formats() []string { return []string{ParquetTrials, ParquetHistograms, OpenMetricsText} }

// IsBinary says that the format is nothing for a terminal.
func IsBinary(format string) bool { return format == ParquetTrials || format == ParquetHistograms }

// RunName is how a run is called in what is exported: the name of its directory.
func RunName(path string) (string, error) {
	whole, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return strings.ToValidUTF8(filepath.Base(whole), "\uFFFD"), nil
}

// runNames names the runs. Two of one name are refused: their rows could not be told apart.
func runNames(runs []*rundir.Dir) ([]string, error) {
	var names []string
	first := map[string]string{}
	for _, run := range runs {
		name, err := RunName(run.Path)
		if err != nil {
			return nil, err
		}
		if other, twice := first[name]; twice {
			return nil, fmt.Errorf("%s and %s are both called %s, and their rows could not be told apart: give each a name of its own, or export them apart",
				other, run.Path, name)
		}
		first[name] = run.Path
		names = append(names, name)
	}
	return names, nil
}
