// Package stats turns trials into differences, costs and warnings: paired comparison, attribution to layers, power.
//
// It is pure: no I/O, no clock and nothing random, so that the same trials give the same answer.
// The unit is the trial's statistic, never an observation inside it. No result holds NaN or infinity: what is unknown
// is marked as absent. The methods and the simulated coverage of their intervals are in docs/statistics.md.
package stats
