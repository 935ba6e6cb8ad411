package history

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// NothingError says that no figure matches a query.
type NothingError struct{ message string }

func (e *NothingError) Error() string { return e.message }

// nothing says which name in a query does not exist, and which names do.
func (x *Index) nothing(ctx context.Context, q Query) error {
	figure := ""
	if q.Metric != "" {
		figure = strings.TrimSuffix(q.Metric+"."+q.Stat, ".")
	}
	for _, part := range []struct{ flag, asked, column string }{
		{"--machine", q.Machine, "r.machine"},
		{"--experiment", q.Experiment, "r.experiment"},
		{"--workload", q.Workload, "f.workload"},
		{"--arm", q.Arm, "f.arm"},
		{"--metric", figure, "case when f.stat = '' then f.metric else f.metric || '.' || f.stat end"},
	} {
		if part.asked == "" {
			continue
		}
		known, err := x.store.known(ctx, part.column)
		if err != nil {
			return err
		}
		if len(known) == 0 {
			break
		}
		if !slices.Contains(known, part.asked) {
			return &NothingError{fmt.Sprintf("%s %q: there is none in %s; there are %s",
				part.flag, part.asked, x.source, quoted(known))}
		}
	}
	if len(x.warnings) > 0 {
		return &NothingError{fmt.Sprintf("no run in %s has such a figure (%s)", x.source, x.warnings[0])}
	}
	return &NothingError{fmt.Sprintf("no run in %s has such a figure", x.source)}
}

// quoted lists names in quotes.
func quoted(names []string) string {
	var out []string
	for _, name := range names {
		out = append(out, strconv.Quote(name))
	}
	return strings.Join(out, ", ")
}
