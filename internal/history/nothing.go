package history

import (
	"context"
	"fmt"
	"strings"
)

// NothingError says that no figure matches.
type NothingError struct{ message string }

func (e *NothingError) Error() string { return e.message }

// nothing says which part of a question names what is not there, and what is.
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
		found := false
		for _, k := range known {
			found = found || k == part.asked
		}
		if !found {
			return &NothingError{fmt.Sprintf("%s %q: there is none in %s; there are %s", part.flag, part.asked, x.source, strings.Join(quoted(known), ", "))}
		}
	}
	if len(x.warnings) > 0 {
		return &NothingError{fmt.Sprintf("no run in %s has such a figure (%s)", x.source, x.warnings[0])}
	}
	return &NothingError{fmt.Sprintf("no run in %s has such a figure", x.source)}
}

func quoted(all []string) []string {
	var out []string
	for _, s := range all {
		out = append(out, fmt.Sprintf("%q", s))
	}
	return out
}
