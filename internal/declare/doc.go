// Package declare is the wing of what is written down: what a user declares before a run, and what is recorded of it.
// It has no code of its own; its packages are the folders below it.
//
// It knows the experiment file with its reader, schema and schedule (experiment), the metrics and the record of a trial
// (result), the run directory (rundir), and what can be expected of a machine and what proves it (check). check also
// reads facts and counters of the machine on which it runs, since agents and labs read the same ones.
//
// It must not know how anything is done: how hosts are made, how tools are run, what an answer is. experiment reads no
// files and asks nobody. What a tool accepts is passed to the reader as a declaration (tool.Declared), so that the
// reader needs no tool.
//
// All that a run leaves is in rundir's directory, and everything that reads a run reads it there. What is read is
// bounded and checked, since it may come from anybody. A new key of the file begins in experiment, a new metric in
// result, a new expectation in check.
//
// It imports base.
package declare
