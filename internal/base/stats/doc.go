// Package stats turns trials into differences, costs and warnings: paired comparison, attribution to layers, power.
//
// It is pure: it does no I/O and reads no clock, and random draws have fixed seeds, so the same trials give the same
// answer. The unit is the trial's statistic, never an observation inside a trial. Results contain no NaN; unknown
// values are marked as absent, and only an interval can have an infinite end. docs/statistics.md describes the
// methods and the simulated coverage of their intervals.
package stats
