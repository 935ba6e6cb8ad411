// Package proof says whether the arms of a run were what they claim: it sums up the judgements of expectations over
// trials, and says which trials may be compared. It knows no figures.
package proof
