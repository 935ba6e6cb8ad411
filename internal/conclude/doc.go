// Package conclude is the wing of what follows from trials. It has no code of its own; its packages are the folders
// below it.
//
// It makes the answer of a run: figures, differences with their intervals, layers, warnings, the verdict in words
// (answer). It makes figures of a run that goes on (interim), and says before a run what it can find (forecast). It
// compares runs and recordings with each other (contrast), judges rules over two sides (gate), and finds changes of a
// figure over many runs (history).
//
// It must not know where trials come from or how they are shown. It reads run directories and computes; the same trials
// give the same answer at any time on any machine. It measures nothing, connects to nothing, and keeps no files but
// history's index, which can be made again from the runs.
//
// The rules that everything here follows are in docs/statistics.md: the unit is the trial, no difference has no
// interval, "no difference" says which one could have been seen, failures are an outcome, and figures of different
// definitions are never compared. kits/simulate counts how often answers are right in worlds of known truth; a change
// of a rule shows there.
//
// It imports declare and base.
package conclude
