package experiment

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Web says how requests of HTTP travel, and where to (http).
type Web struct {
	// To is the URL of a service of the user's; empty for nearfar's own server. ServerPlace in it stands for the address
	// of the arm's server.
	To string `json:"to,omitempty"`
	// Version is 1.1 or 2.
	Version string `json:"version,omitempty"`
	// TLS is TLS 1.3 with nearfar's own server. A URL says it itself.
	TLS bool `json:"tls,omitempty"`
	// Connect says how long connections stay: keep-alive or per-request.
	Connect string `json:"connect,omitempty"`
	// Concurrency is how many requests are under way at once.
	Concurrency int `json:"concurrency,omitempty"`
	// CA is a file with the certificates that sign the service's, on the machine where nearfar runs.
	CA string `json:"ca,omitempty"`
	// CertificateEnv names the variable that names the file with the client's certificate and its key. HeadersEnv has,
	// by headers, the variables with their values. Both are of nearfar's environment.
	CertificateEnv string            `json:"certificate_env,omitempty"`
	HeadersEnv     map[string]string `json:"headers_env,omitempty"`
}

// The words of http.
const (
	HTTP1 = "1.1"
	HTTP2 = "2"
	// KeepAlive leaves connections open, PerRequest opens one for each request.
	KeepAlive  = "keep-alive"
	PerRequest = "per-request"
	// ServerPlace stands in a URL for the address of the arm's server.
	ServerPlace = "{server}"
)

// The limits of http.
const (
	// DefaultAnswer is the size of an answer of nearfar's own server, in bytes.
	DefaultAnswer  = 1 << 10
	maxHeadersEnv  = 32
	mostURL        = 2000
	toExample      = "https://{server}:8443/"
	headersExample = "{Authorization: API_AUTHORIZATION}"
)

func versionWords() []string { return []string{HTTP1, HTTP2} }

func connectWords() []string { return []string{KeepAlive, PerRequest} }

// inAccess is for keys that say how a service of the user's is reached, and not what is measured.
func inAccess(w Workload) (string, any) {
	if w.CA == "" && w.CertificateEnv == "" && len(w.HeadersEnv) == 0 {
		return "access", ""
	}
	return "access", []any{w.CA, w.CertificateEnv, w.HeadersEnv}
}

func toKey() Key {
	return valued(func(w *Workload) *string { return &w.To }, always(""),
		func(in Values, _ ToolCapability, into *string) bool { return in.Text("to", toExample, into) }, orNotSet, Key{
			Name: "to", check: checkTo,
			Shape: shaped(fmt.Sprintf(`"type": "string", "pattern": "^https?://", "maxLength": %d`, mostURL)),
			About: "The URL of a service of your own ({{WhoTakes}}), which answers in place of nearfar's server. {server} in " +
				"it is the address of the arm's server. Redirects are not followed, and no proxy is used. See docs/http.md.",
		})
}

func versionKey() Key {
	k := words(func(w *Workload) *string { return &w.Version }, versionWords(), Key{
		Name: "version", About: "The version of HTTP ({{WhoTakes}}). 2 without TLS is spoken from the first byte. Default: " +
			"1.1.",
	})
	k.Shape = shaped(`"enum": [1.1, 2]`) // YAML reads them as numbers
	return k
}

func tlsKey() Key {
	return onOff(func(w *Workload) *bool { return &w.TLS }, Key{
		Name: "tls", About: "TLS 1.3 with nearfar's own server, of app with the PostgreSQL that nearfar starts, by a key " +
			"that is made for it ({{WhoTakes}}). With a URL, that says it.",
	})
}

func connectKey() Key {
	return words(func(w *Workload) *string { return &w.Connect }, connectWords(), Key{
		Name: "connect", About: "keep-alive: connections stay, and are open before the window. per-request: each request " +
			"has a connection of its own, whose opening is part of its time ({{WhoTakes}}). Default: keep-alive.",
	})
}

func concurrencyKey() Key {
	return number(func(w *Workload) *int { return &w.Concurrency }, 1, Key{
		Name: "concurrency", Column: true,
		About: "How many requests are under way at once ({{WhoTakes}}): each on a connection of its own with version 1.1, " +
			"and all on one with version 2. With a rate, requests that are due wait for a free one of these places, and " +
			"their times include it. Default: 1.",
	})
}

func caKey() Key {
	return valued(func(w *Workload) *string { return &w.CA }, always(""),
		func(in Values, _ ToolCapability, into *string) bool { return in.Text("ca", "ca.pem", into) }, orNotSet, Key{
			Name: "ca", apart: inAccess, Shape: shaped(`"type": "string", "minLength": 1`),
			check: checkAccess("ca"),
			About: "A PEM file with the certificates that sign the one of the service in to, on the machine where nearfar " +
				"runs ({{WhoTakes}}). Default: those that the client's host trusts.",
		})
}

func certificateKey() Key {
	return valued(func(w *Workload) *string { return &w.CertificateEnv }, always(""),
		func(in Values, _ ToolCapability, into *string) bool {
			return in.Text("certificate_env", "CLIENT_PEM", into)
		}, orNotSet, Key{
			Name: "certificate_env", apart: inAccess, Shape: shaped(`"type": "string", "pattern": "` + variablePattern + `"`),
			check: checkAccess("certificate_env"),
			About: "The environment variable that names a PEM file with the client's certificate and key, for the service in " +
				"to ({{WhoTakes}}). The file is read where nearfar runs.",
		})
}

func headersKey() Key {
	return Key{
		Name: "headers_env", apart: inAccess, taken: inKeys("headers_env"), check: checkAccess("headers_env"),
		Shape: shaped(fmt.Sprintf(`"type": "object", "maxProperties": %d, "additionalProperties": {"type": "string", `+
			`"pattern": "%s"}`, maxHeadersEnv, variablePattern)),
		read: func(w *Workload, in Values, _ ToolCapability) {
			in.Texts("headers_env", "headers_env: "+headersExample, &w.HeadersEnv)
		},
		given: func(w Workload) bool { return len(w.HeadersEnv) > 0 },
		value: func(w Workload) string {
			var all []string
			for _, name := range slices.Sorted(maps.Keys(w.HeadersEnv)) {
				all = append(all, name+": "+w.HeadersEnv[name])
			}
			return orNotSet(strings.Join(all, ", "))
		},
		reset: func(w *Workload) { w.HeadersEnv = nil },
		About: "More headers of each request to the service in to, by name, with the environment variable that has the " +
			"value ({{WhoTakes}}). The values are read where nearfar runs, and are in no record.",
	}
}

const variablePattern = "^[A-Za-z_][A-Za-z0-9_]*$"

// isVariable says that a text is the name of an environment variable.
func isVariable(name string) bool {
	return regexp.MustCompile(variablePattern).MatchString(name) && len(name) <= 200
}

// ParseTo reads a URL of a workload, with an address in place of ServerPlace. Its errors do not have the URL.
func ParseTo(to, server string) (*url.URL, error) {
	wrong := func(hint, format string, args ...any) (*url.URL, error) {
		return nil, &QuantityError{Message: fmt.Sprintf(format, args...), Hint: hint}
	}
	if strings.Contains(server, ":") {
		server = "[" + server + "]"
	}
	u, err := url.Parse(strings.ReplaceAll(to, ServerPlace, server))
	example := "write, for example, " + toExample
	switch {
	case err != nil || len(to) > mostURL:
		return wrong(example, "this is no URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return wrong(example, "a URL begins with http:// or https://")
	case u.Hostname() == "":
		return wrong(example, "the URL names no host")
	case u.User != nil:
		return wrong("write headers_env: "+headersExample, "a URL with a user or a password would be in records")
	case u.Fragment != "":
		return wrong("leave it out", "the part of a URL behind # is not sent to a server")
	}
	return u, nil
}

// checkTo checks the URL, and what it says beside other keys.
func checkTo(c *Checker, _ ToolCapability, w Workload) {
	checkArrivals(c, w)
	if w.To == "" && !c.given("to") {
		return
	}
	_, err := ParseTo(w.To, "192.0.2.1")
	c.refuse(AtValue("to"), err)
	if w.TLS || c.given("tls") {
		c.wrong(AtKey("tls"), "leave it out", "the URL in to says whether there is TLS")
	}
	if w.Response != 0 || c.given("response") {
		c.wrong(AtKey("response"), "leave it out", "the service in to decides how large its answers are")
	}
}

// checkArrivals refuses arrivals without a rate.
func checkArrivals(c *Checker, w Workload) {
	if w.Arrivals == PoissonArrivals && w.OfferedRate == 0 && !c.given("rate") {
		c.wrong(AtKey("arrivals"), "add, for example, rate: 500/s", "without a rate, each request follows the last answer")
	}
}

// checkAccess checks a key that is for a service of the user's.
func checkAccess(key string) func(c *Checker, _ ToolCapability, w Workload) {
	return func(c *Checker, _ ToolCapability, w Workload) {
		is := map[string]bool{"ca": w.CA != "", "certificate_env": w.CertificateEnv != "",
			"headers_env": len(w.HeadersEnv) > 0}[key]
		switch {
		case !is && !c.given(key):
			return
		case w.To == "":
			c.wrong(AtKey(key), "add, for example, to: "+toExample, "%s is for a service of your own", key)
		case key != "headers_env" && strings.HasPrefix(w.To, "http://"):
			c.wrong(AtKey(key), "write https:// in to, or leave it out", "%s is for TLS, and the URL has none", key)
		}
		switch key {
		case "ca":
			if strings.ContainsFunc(w.CA, func(r rune) bool { return r < ' ' }) {
				c.wrong(AtValue(key), "write, for example, ca.pem", "this is no name of a file")
			}
		case "certificate_env":
			checkVariable(c, AtValue(key), w.CertificateEnv)
		case "headers_env":
			if !c.Most(AtKey(key), "headers", len(w.HeadersEnv), maxHeadersEnv) {
				return
			}
			for _, name := range slices.Sorted(maps.Keys(w.HeadersEnv)) {
				if !regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$").MatchString(name) {
					c.wrong(AtKey(key, name), "write, for example, Authorization", "%s is no name of a header", quote(name))
				}
				checkVariable(c, AtValue(key, name), w.HeadersEnv[name])
			}
		}
	}
}

func checkVariable(c *Checker, at Spot, name string) {
	if !isVariable(name) {
		c.wrong(at, "write the name alone, for example API_TOKEN: the value stays in the environment",
			"this is no name of an environment variable")
	}
}
