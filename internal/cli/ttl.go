package cli

import (
	"fmt"
	"io"
	"strings"

	"nearfar/internal/base/clean"
	"nearfar/internal/cloud/provision"
)

// printUnended says that a plan makes clusters, which nothing ends when their time is over.
func printUnended(w io.Writer, plan provision.Plan) {
	if clusters := plan.Clusters(); len(clusters) > 0 {
		fmt.Fprintf(w, "ttl does not end %s: a cluster and its nodes stay, and cost, until nearfar down, or until "+
			"cron runs nearfar down --expired.\n", clean.Line(strings.Join(clusters, ", ")))
	}
}
