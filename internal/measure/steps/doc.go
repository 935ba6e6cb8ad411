// Package steps puts the steps of a bisection in place, and measures them: one run for each visit. It decides nothing.
package steps
