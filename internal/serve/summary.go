package serve

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"

	"nearfar/internal/answer"
)

// maxSummaries is how many runs one request may ask about.
const maxSummaries = 50

// Summary is what the list says of a run's answer. It is made when the list asks for it, for it takes longer than the rest.
type Summary struct {
	Verdict  string `json:"verdict"`
	Warnings int    `json:"warnings"`
	// Objectives counts those of the experiment file by their verdict; null where the file has none.
	Objectives map[string]int `json:"objectives"`
	// Error is why there is no answer.
	Error string `json:"error,omitempty"`
}

// summaries answers for the runs that the request names, as id=ID&id=ID: those that there are, by their ids.
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

// summarize takes from an answer what the list shows of it.
func summarize(a answer.Answer) Summary {
	return Summary{Verdict: clip(a.Verdict), Warnings: len(a.Warnings), Objectives: objectives(a)}
}

// objectives counts those of an answer by their verdicts.
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

// serveComparison serves "/compare/ID/ID/": the page that sets two runs side by side, and what it draws.
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
	case "events": // what is compared is there: nothing more will come
		w.WriteHeader(http.StatusNoContent)
	default:
		refuse(w, http.StatusNotFound, "there is no such page")
	}
}

// comparison sets two runs side by side.
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
