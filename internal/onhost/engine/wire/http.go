package wire

import "fmt"

// The versions of HTTP.
const (
	HTTP1 = 1 // HTTP/1.1
	HTTP2 = 2
)

// HTTP says how requests of http travel. A request of 0 bytes is a GET without a body, others are POSTs.
type HTTP struct {
	// Version is HTTP1 or HTTP2.
	Version int `json:"version"`
	// TLS is TLS 1.3.
	TLS bool `json:"tls,omitempty"`
	// PerRequest opens a connection for each request.
	PerRequest bool `json:"per_request,omitempty"`
}

// TokenHeader is the header in which a request of http proves that it belongs to the session: the session's cookie in
// hexadecimal digits.
const TokenHeader = "Nearfar-Session"

// Begun is the payload of KindBegin of a session of http.
type Begun struct {
	// Key is the SHA-256 of the public key with which the server identifies itself, if it speaks TLS.
	Key []byte `json:"key,omitempty"`
}

// validateHTTP checks the parameters of http.
func (p Params) validateHTTP() error {
	switch {
	case p.Mode != ModeHTTP && p.HTTP != HTTP{}:
		return fmt.Errorf("the version of HTTP, TLS and a connection for each request are of %s, not of %s", ModeHTTP,
			p.Mode)
	case p.Mode != ModeHTTP:
		return nil
	case p.HTTP.Version != HTTP1 && p.HTTP.Version != HTTP2:
		return fmt.Errorf("version %d of HTTP: the engine has 1.1 and 2", p.HTTP.Version)
	case p.Options != Options{}:
		return fmt.Errorf("%s takes no socket options and no way of waiting: it is Go's net/http", ModeHTTP)
	case p.Request < 0 || p.Request > MaxMessage:
		return fmt.Errorf("request of %d bytes: must be from 0 (a GET without a body) to %d", p.Request, MaxMessage)
	case p.Response < 1 || p.Response > MaxMessage:
		return fmt.Errorf("response of %d bytes: must be from 1 to %d", p.Response, MaxMessage)
	}
	return nil
}
