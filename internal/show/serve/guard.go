package serve

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"slices"
	"strings"
)

// guard refuses requests that do not come from this server's pages. It removes the token from the path of the others.
type guard struct {
	// hosts are the accepted values of the Host header. Another name that resolves to this address is a foreign site
	// that tries to read these pages (DNS rebinding).
	hosts []string
	// token is the token's hash, so that the time of a comparison says nothing about the token, not even its length.
	token [sha256.Size]byte
	site  http.Handler
}

// hostsOf returns the values of the Host header that stand for the address.
func hostsOf(address string) []string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return []string{address}
	}
	hosts := []string{address, net.JoinHostPort("localhost", port)}
	if port == "80" { // browsers omit this port
		if strings.Contains(host, ":") {
			host = "[" + host + "]"
		}
		hosts = append(hosts, host, "localhost")
	}
	return hosts
}

func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	secure(w.Header())
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		refuse(w, http.StatusMethodNotAllowed, "only GET and HEAD are answered")
		return
	}
	if r.ContentLength != 0 || len(r.TransferEncoding) > 0 {
		w.Header().Set("Connection", "close")
		refuse(w, http.StatusBadRequest, "a request must have no body")
		return
	}
	if !slices.Contains(g.hosts, strings.ToLower(r.Host)) {
		refuse(w, http.StatusForbidden, "this address has another name")
		return
	}
	token, rest, whole := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if got := sha256.Sum256([]byte(token)); subtle.ConstantTimeCompare(got[:], g.token[:]) != 1 {
		refuse(w, http.StatusForbidden, "the address lacks its token: open the whole address that nearfar printed")
		return
	}
	if !g.ours(r) {
		refuse(w, http.StatusForbidden, "only a page of this address may ask")
		return
	}
	if !whole { // the links in the pages are relative to "/TOKEN/"
		http.Redirect(w, r, "/"+token+"/", http.StatusPermanentRedirect)
		return
	}
	inner := *r
	address := *r.URL
	address.Path, address.RawPath = "/"+rest, ""
	inner.URL = &address
	g.site.ServeHTTP(w, &inner)
}

// ours reports whether the request comes from a page of this server or from the address bar, as far as the browser
// says where it comes from.
func (g *guard) ours(r *http.Request) bool {
	if origin := strings.ToLower(r.Header.Get("Origin")); origin != "" &&
		!slices.Contains(g.hosts, strings.TrimPrefix(origin, "http://")) {
		return false
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
		return true
	}
	// Other sites may link to a page, but not load anything.
	return r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
}

// secure sets the headers of every response, refusals included.
func secure(h http.Header) {
	h.Set("Content-Security-Policy", denyAll)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
}

func refuse(w http.ResponseWriter, code int, reason string) {
	http.Error(w, "nearfar: "+reason, code)
}
