// Package figures says what the arms of a run measured and what differs, with intervals: figures, differences from the
// baseline, failures, and the cost of each layer. It puts nothing into words but reasons and its own warnings.
package figures
