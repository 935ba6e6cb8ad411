package serve

import (
	"net/http"
	"strconv"
	"time"

	"nearfar/internal/show/page"
)

// denyAll is the content security policy of responses that are not pages.
const denyAll = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// document is an HTML page that is embedded in the program, with its content security policy.
type document struct {
	html   []byte
	policy string
}

// newDocument takes the policy from the page's meta element, and adds frame-ancestors, which is ignored in a meta
// element.
func newDocument(html []byte) document {
	policy := denyAll
	if own := page.Policy(html); own != "" {
		policy = own + "; frame-ancestors 'none'"
	}
	return document{html: html, policy: policy}
}

func (p document) write(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Security-Policy", p.policy)
	write(w, r, "text/html; charset=utf-8", p.html)
}

// writeJSON responds with the document, or with the error as plain text.
func writeJSON(w http.ResponseWriter, r *http.Request, document []byte, err error) {
	if err != nil {
		refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	write(w, r, "application/json", document)
}

// write sends a whole response. The connection ends if the client does not receive it within answerTime.
func write(w http.ResponseWriter, r *http.Request, kind string, body []byte) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(answerTime))
	if r.Method == http.MethodHead {
		return
	}
	_, _ = w.Write(body) // an error means that the client has closed the connection
}
