// Package show is the wing of what people and other programs get to see. It has no code of its own; its packages are
// the folders below it.
//
// It writes answers for terminals, Markdown, CSV and JSON (report), as pages of HTML in one file (page, whose sources
// are in web/), as pages of a run in progress or a folder of runs over HTTP on loopback (serve), and as tables for
// other programs: Parquet and OpenMetrics (export).
//
// It must not compute what an answer says: a figure, an interval or a word of the verdict comes from conclude, so that
// all forms say the same. It decides order, width, units, columns and what is left out, and says what it left out.
//
// What it shows may come from anybody's run directory: text is made safe for terminals and pages, and a page asks
// nobody on the network.
//
// It imports conclude, declare and base.
package show
