package serve

import (
	"net/http"
	"strconv"
	"time"

	"nearfar/internal/page"
)

// nothing is the content security policy of what is no page.
const nothing = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// document is an HTML page that was built with the program, with its policy.
type document struct {
	html   []byte
	policy string
}

// newDocument takes the policy that the page carries, and adds what a page cannot say of itself: nobody may frame it.
func newDocument(html []byte) document {
	policy := nothing
	if own := page.Policy(html); own != "" {
		policy = own + "; frame-ancestors 'none'"
	}
	return document{html: html, policy: policy}
}

func (p document) write(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Security-Policy", p.policy)
	write(w, r, "text/html; charset=utf-8", p.html)
}

// writeJSON answers with a document, or says in plain text why there is none.
func writeJSON(w http.ResponseWriter, r *http.Request, document []byte, err error) {
	if err != nil {
		refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	write(w, r, "application/json", document)
}

// write answers whole, and gives a client that does not take it up after answerTime.
func write(w http.ResponseWriter, r *http.Request, kind string, body []byte) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(answerTime))
	if r.Method == http.MethodHead {
		return
	}
	_, _ = w.Write(body) // a client that has gone needs no answer
}
