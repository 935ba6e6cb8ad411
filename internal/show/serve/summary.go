package serve

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"

	"nearfar/internal/conclude/answer"
)

// maxSummaries is how many runs one request may ask about.
const maxSummaries = 50

// Summary is what the list shows of a run's answer. The page requests it separately, because it takes longer to make.
type Summary struct {
	Verdict string `json:"verdict"`
	// Headline is the first line of Verdict.
	Headline string `json:"headline"`
	Warnings int    `json:"warnings"`
	// Objectives counts the objectives of the experiment file by verdict; null if the file has none.
	Objectives map[string]int `json:"objectives"`
	// Error says why there is no answer.
	Error string `json:"error,omitempty"`
}

// summaries returns the summaries of the runs that the request names (id=ID&id=ID), by id. Unknown ids are left out.
func (f *Folder) summaries(r *http.Request) (map[string]Summary, error) {
	ids := r.URL.Query()["id"]
	if len(ids) > maxSummaries {
		return nil, fmt.Errorf("%d runs are too many: at most %d at a time", len(ids), maxSummaries)
	}
	all := map[string]Summary{}
	for _, id := range ids {
		k, ok := f.find(id)
		if !ok {
			continue
		}
		of := f.figuresOf(k.place)
		if of.err != nil {
			all[id] = Summary{Error: clip(of.err.Error())}
			continue
		}
		all[id] = of.summary
	}
	return all, nil
}

// summarize makes the summary of an answer.
func summarize(a answer.Answer) Summary {
	return Summary{
		Verdict: clip(a.Verdict), Headline: clip(a.Headline), Warnings: len(a.Warnings), Objectives: objectives(a),
	}
}

// objectives counts the objectives of an answer by verdict.
func objectives(a answer.Answer) map[string]int {
	if len(a.Objectives) == 0 {
		return nil
	}
	counts := map[string]int{}
	for _, o := range a.Objectives {
		counts[o.Verdict]++
	}
	return counts
}

// serveComparison serves "/compare/ID/ID/": the page that compares two runs, and its document.
func (f *Folder) serveComparison(w http.ResponseWriter, r *http.Request, rest string) {
	parts := strings.Split(rest, "/")
	if len(parts) != 3 || f.source.Compare == nil {
		refuse(w, http.StatusNotFound, "there is no such page")
		return
	}
	base, baseKnown := f.find(parts[0])
	other, otherKnown := f.find(parts[1])
	if !baseKnown || !otherKnown {
		refuse(w, http.StatusNotFound, "there is no such run")
		return
	}
	switch parts[2] {
	case "":
		f.live.write(w, r)
	case "data.json":
		made, err := f.comparison(r.Context(), base.place, other.place)
		writeJSON(w, r, made, err)
	case "events": // a comparison does not change
		w.WriteHeader(http.StatusNoContent)
	default:
		refuse(w, http.StatusNotFound, "there is no such page")
	}
}

// comparison makes the document of the page that compares two runs.
func (f *Folder) comparison(ctx context.Context, base, other place) ([]byte, error) {
	f.work.Lock()
	defer f.work.Unlock()
	for _, p := range []place{base, other} {
		if err := cmp.Or(look(f.root, p.path).broken, safe(f.root, p.path)); err != nil {
			return nil, err
		}
	}
	return f.source.Compare(ctx, filepathOf(f.path, base.path), filepathOf(f.path, other.path))
}
