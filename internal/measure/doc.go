// Package measure is the wing of a run: from a declaration and machines to recorded trials. It has no code of its own;
// its packages are the folders below it.
//
// It makes the hosts of all arms and frees them (deploy), plans the command lines of measuring programs and parses what
// they print (tool), runs the schedule trial by trial and replaces what failed (runner), and is the life of a run from
// its hosts to its closed directory (execution). It makes machines again between deployments (redeploy), and makes runs
// of outputs that were recorded elsewhere (recordings). docs/library.md shows a program of 30 lines that uses it.
//
// It must not know what follows from trials: no answer, no verdict, no page. What a caller wants to know of a running
// experiment is passed in: events, and a function that says when the trials are enough. It prints nothing, and handles
// no signals.
//
// tool never runs anything, and runner and tool know hosts by their interface alone. A trial is on disk before the next
// one starts.
//
// A new tool is one file in tool, with its recorded outputs in testdata and a row in the table of the experiment's
// keys.
//
// It imports hosts, cloud, onhost, declare and base.
package measure
