package report

import (
	"nearfar/internal/base/prose"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/result"
)

// Headline describes a trial in a few words: its first figure, or why it failed.
func Headline(t result.Trial) string {
	if t.Error != "" {
		return "failed: " + printable(prose.Shorten(t.Error, 300))
	}
	for _, q := range figures.Quantities([]result.Trial{t}) {
		if v, ok := q.Of(t); ok {
			return q.Name() + " " + result.Amount(v, q.Unit)
		}
	}
	return "no figure"
}
