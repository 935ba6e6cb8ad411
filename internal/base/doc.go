// Package base is the lowest wing: what nearfar needs and what knows nothing of nearfar. It has no code of its own; its
// packages are the folders below it.
//
// It knows bytes, text, numbers and files: output with a limit (bounded), text that is safe for a terminal (clean),
// sentences and columns (prose), files that a crash leaves whole (files), histograms (hdr), statistics (stats), regular
// expressions that are compiled when they are used (lazyregexp), process groups (processgroup), and how a kubeconfig
// becomes clients (kubeclient).
//
// It must not know what an experiment, a host, a trial or an answer is. A function here could stand in another program
// as it is. If a change needs a word of nearfar in this wing, the code belongs higher: to declare, if it says what is
// declared or recorded; to conclude, if it says what follows from trials.
//
// The packages of this wing import only each other, and seldom: kubeclient imports clean. stats does no input or
// output, and no statistics are anywhere else: whatever computes an interval, a rank or a power calls it.
// docs/statistics.md has its methods with their sources.
package base
