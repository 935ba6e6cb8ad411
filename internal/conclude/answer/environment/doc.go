// Package environment says what the machines of a run are, in what they differ beside what the arms declare, where they
// were seen, and what disturbed them. It knows the record of a run, and no figures.
package environment
